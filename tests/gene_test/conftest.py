"""Genes that are sloppy in one way each, and the command that finds out."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import GeneTest, Project
from rotifer_host.cli import main
from rotifer_host.gene.phenotype_check import check_phenotype
from rotifer_host.suite import Check
from rotifer_host.suite.cases import read_suite
from rotifer_host.suite.private import private_agent
from rotifer_host.suite.runs import GeneRuns

COMMAND = (sys.executable, "-m", "rotifer_host")
NUMBER: dict[str, Any] = {
    "domain": "test.number",
    "version": "1.0.0",
    "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "outputSchema": {"type": "object", "properties": {"m": {"type": "number"}}, "required": ["m"]},
}


def constant(output: str, *, otherwise: str | None = None) -> str:
    """Return a gene that answers every input alike, or what begins with `{"n"` so and the rest otherwise."""

    def text(answer: str) -> str:
        return json.dumps(answer, ensure_ascii=False)[1:-1].replace('\\"', "\\22")

    return f"""(module
      (memory (export "memory") 2)
      (data (i32.const 1024) "{text(output)}\\00")
      (data (i32.const 4096) "{text(output if otherwise is None else otherwise)}\\00")
      (func (export "alloc") (param $length i32) (result i32)
        (drop (memory.grow (i32.shr_u (local.get $length) (i32.const 16))))
        (i32.const 65536))
      (func (export "express") (param $at i32) (param $length i32) (result i32)
        (if (i32.lt_u (local.get $length) (i32.const 4)) (then (return (i32.const 4096))))
        (select (i32.const 1024) (i32.const 4096)
          (i32.eq (i32.load (local.get $at)) (i32.const 0x226e227b)))))"""  # {"n"


# writes an entry, then sleeps for 25 seconds
SLEEPER = r"""(module
  (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 0) "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\00\ba\1d\d2\05")
  (data (i32.const 256) "{\22key\22:\22slept\22,\22value\22:\22\22,\22category\22:\22CACHE\22}")
  (data (i32.const 512) "{\22m\22:1}\00")
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32)
    (drop (call $write (i32.const 256) (i32.const 45) (i32.const 2048) (i32.const 4096)))
    (drop (call $poll (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 1088)))
    (i32.const 512)))"""
REJECTION = '{"__rotifer_error":{"message":"n is missing"}}'
GOOD = constant('{"m":1}', otherwise=REJECTION)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project whose one gene is the starter, not compiled."""
    return Project.init(tmp_path / "project")


AddGene = Callable[..., Path]


@pytest.fixture
def add_gene(project: Project) -> AddGene:
    """Add a compiled gene to the project, as `put_gene` does."""
    return partial(put_gene, project)


def put_gene(
    project: Project, wat: str = GOOD, *, cases: Any = None, config: Any = None, name: str = "number", **changes: Any
) -> Path:
    """Add a compiled gene of WAT text with this phenotype and suite; return its folder."""
    folder = project.genes_path / name
    folder.mkdir()
    (folder / "gene.wat").write_text(wat, encoding="utf-8")
    (folder / "phenotype.json").write_text(json.dumps(NUMBER | changes), encoding="utf-8")
    project.compile(name)
    if cases is not None:
        suite = {"testCases": cases} | ({} if config is None else {"config": config})
        (folder / "testsuite.json").write_text(json.dumps(suite), encoding="utf-8")
    return folder


def first_case(project: Project, folder: Path) -> Check:
    """Run and judge the first case of a gene's suite, and nothing else."""
    gene = project.gene(folder.name)
    phenotype, _ = check_phenotype(folder)
    suite = read_suite(folder)
    assert suite is not None
    with private_agent(gene) as agent:
        return GeneRuns(agent, gene, phenotype).check_case(0, suite.cases[0])


def failures(test: GeneTest) -> dict[str, Check]:
    """Return the checks that failed, by id."""
    return {check.id: check for check in test.checks if check.verdict == "fail"}


@dataclass(frozen=True)
class Outcome:
    """What a command line did."""

    returncode: int
    stdout: str
    stderr: str


def rotifer(project: Project, *arguments: str) -> Outcome:
    """Run a command line in this process, as if started in the project's folder."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = main(["-C", str(project.root), *arguments])
    return Outcome(status, out.getvalue(), err.getvalue())
