"""Agents whose genes need not exist, under a clock that tests set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Agent, Project
from rotifer_host.memory import Caller, write_request
from rotifer_host.testing import ManualClock

ECHO = """(module (memory (export "memory") 1)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "express") (param i32 i32) (result i32) (local.get 0)))"""

AddGene = Callable[..., Caller]


@pytest.fixture
def clock() -> ManualClock:
    """Give the time of day."""
    return ManualClock("2026-01-01T00:00:00Z")


@pytest.fixture
def project(tmp_path: Path, clock: ManualClock) -> Project:
    """Give a project."""
    return Project.init(tmp_path / "project", clock=clock)


@pytest.fixture
def add_gene(project: Project) -> AddGene:
    """Put a gene into the project, compiled if not told otherwise, and return who it is then."""

    def add(name: str, domain: str = "text", version: str = "1.0.0", *, compiled: bool = True) -> Caller:
        folder = project.root / "genes" / name
        folder.mkdir(exist_ok=True)
        phenotype = {"domain": domain, "version": version, "inputSchema": {}, "outputSchema": {}}
        (folder / "phenotype.json").write_text(json.dumps(phenotype), encoding="utf-8")
        (folder / "gene.wat").write_text(ECHO, encoding="utf-8")
        if not compiled:
            return Caller("", domain)
        made = project.compile(name).gene_id
        assert made is not None
        return Caller(made, domain)

    return add


def write(
    agent: Agent, caller: Caller, key: str, value: bytes = b"x", category: str = "CONTEXT", **policy: Any
) -> None:
    """Write as a gene."""
    with agent._opened() as memory:
        memory.write(caller, write_request(key, value, category, **policy))
