"""A project to measure: a gene that makes all four calls, and some that cannot be measured."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Project
from rotifer_host.bench import Options, Report, measure

EXAMPLES = Path(__file__).parents[2] / "guest-examples"
PHENOTYPE = {"domain": "bench.test", "version": "0.1.0", "inputSchema": {}, "outputSchema": {}}
# a write, ten reads of what it wrote, a query, a delete that finds nothing and one that does, a read outside memory
EVERY_CALL = r"""(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "queryMemory" (func $query (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "deleteMemory" (func $delete (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (global $out i32 (i32.const 1024))
  (global $cap i32 (i32.const 4096))
  (data (i32.const 16) "\"done\"\00")
  (data (i32.const 64) "{\"key\":\"bench/a\",\"value\":\"AAAA\",\"category\":\"CACHE\"}")
  (data (i32.const 192) "{\"key\":\"bench/a\"}")
  (data (i32.const 256) "{\"key\":\"bench/missing\"}")
  (func (export "alloc") (param i32) (result i32) (i32.const 32768))
  (func (export "express") (param i32 i32) (result i32) (local $i i32)
    (drop (call $write (i32.const 64) (i32.const 51) (global.get $out) (global.get $cap)))
    (local.set $i (i32.const 10))
    (loop $next
      (drop (call $read (i32.const 192) (i32.const 17) (global.get $out) (global.get $cap)))
      (br_if $next (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
    (drop (call $query (i32.const 0) (i32.const 0) (global.get $out) (global.get $cap)))
    (drop (call $delete (i32.const 256) (i32.const 23) (global.get $out) (global.get $cap)))
    (drop (call $delete (i32.const 192) (i32.const 17) (global.get $out) (global.get $cap)))
    (drop (call $read (i32.const 70000) (i32.const 100000) (global.get $out) (global.get $cap)))
    (i32.const 16)))"""
# a write, a read of it for whose response there is no room, and one for which there is
CRAMPED = r"""(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "\"done\"\00")
  (data (i32.const 64) "{\"key\":\"bench/a\",\"value\":\"AAAA\",\"category\":\"CACHE\"}")
  (data (i32.const 192) "{\"key\":\"bench/a\"}")
  (func (export "express") (param i32 i32) (result i32)
    (drop (call $write (i32.const 64) (i32.const 51) (i32.const 1024) (i32.const 4096)))
    (drop (call $read (i32.const 192) (i32.const 17) (i32.const 1024) (i32.const 8)))
    (drop (call $read (i32.const 192) (i32.const 17) (i32.const 1024) (i32.const 4096)))
    (i32.const 16)))"""
TRAPS = """(module (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32) unreachable))"""
NO_END = """(module (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32) (loop $on (br $on)) (i32.const 0)))"""

ECHO = """(module (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32) (local.get 0)))"""

GENES = {"every": EVERY_CALL, "cramped": CRAMPED, "traps": TRAPS, "endless": NO_END, "echo": ECHO}

Measure = Callable[..., Report]


def make_project(root: Path) -> Project:
    """Make a project with these genes and the examples, all compiled."""
    made = Project.init(root)
    for name, text in GENES.items():
        folder = made.root / "genes" / name
        folder.mkdir()
        (folder / "gene.wat").write_text(text, encoding="utf-8")
        (folder / "phenotype.json").write_text(json.dumps(PHENOTYPE), encoding="utf-8")
    for name in ("formatter", "counter"):
        shutil.copytree(EXAMPLES / name, made.root / "genes" / name)
    for gene in made.genes():
        made.compile(gene.name)
    return made


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a project once, for others to copy."""
    return make_project(tmp_path_factory.mktemp("bench") / "project").root


@pytest.fixture
def project(built: Path, tmp_path: Path) -> Project:
    """A project with these genes and the examples, all compiled."""
    return Project.open(shutil.copytree(built, tmp_path / "project"))


@pytest.fixture
def measured(project: Project) -> Measure:
    """Measure an agent or gene of the project, as few times as can be and on the call path that is always there."""

    def run(name: str, document: Any = None, **options: Any) -> Report:
        chosen: dict[str, Any] = {"runs": 5, "warmup": 1, "call_paths": ("plain",)}
        return measure(project.root, name, document, Options(**(chosen | options)))

    return run


@pytest.fixture(scope="session")
def reports(built: Path) -> dict[str, Report]:
    """Measure the gene that makes every call, once for all tests, with each durability."""
    return {
        "call": measure(built, "every", None, Options(runs=5, warmup=0)),
        "run": measure(built, "every", None, Options(runs=5, warmup=0, durability="run")),
    }
