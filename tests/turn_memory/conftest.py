"""Agents with turn memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from tests.agent.guests import ECHO, LOOP, TRAP, calling, constant, rejecting, write
from tests.turn_memory.service import Service, service

from rotifer_host import Agent, Project
from rotifer_host.testing import temporary_project

LOGGING = """(module
  (import "rotifer" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 8)
  (data (i32.const 16) "{\\22summary\\22:\\22they met\\22,\\22diary\\22:\\22Dear diary\\22}\\00")
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32)
    (call $log (i32.const 1) (local.get 0) (local.get 1)) (i32.const 16)))"""
"""A generator that logs what it is given."""

ABORTING = """(module
  (import "env" "abort" (func $abort (param i32 i32 i32 i32)))
  (memory (export "memory") 2)
  (data (i32.const 16) "\\06\\00\\00\\00\\1b\\00[\\002\\00")
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32)
    (call $abort (i32.const 20) (i32.const 0) (i32.const 1) (i32.const 1)) (i32.const 0)))"""
"""It fails with a message that would clear a terminal's line."""

GENES = {
    "echo": ECHO,
    "text": constant("I noted it."),
    "trap": TRAP,
    "loop": LOOP,
    "refuse": rejecting("not today"),
    "writer": calling(write("k")),
    "diarist": LOGGING,
    "silent": constant(None),
    "aborting": ABORTING,
    "babbler": constant({"summary": 7}),
}


@pytest.fixture(scope="session")
def project() -> Iterator[Project]:
    """Return a project of guests."""
    with temporary_project(GENES) as project:
        yield project


@pytest.fixture
def hinos(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """Return a service that the environment names, and that answers well until told otherwise."""
    pytest.importorskip("httpx2", reason="httpx2, the HTTP client of the extra `turn`, is missing")
    with service() as server:
        monkeypatch.setenv("HINOS_MEMORY_URL", server.url)
        yield server


HINOS: dict[str, Any] = {
    "memoryRuntime": "hinos",
    "memorySources": [{"id": "external-memory", "agentRef": "your-hinos-source", "variable": "hinosMemory"}],
}


def local(*variables: str, diary: Any = None) -> dict[str, Any]:
    """Return turn memory of the local runtime; a source's id is its variable's."""
    sources = [{"id": variable, "agentRef": "me", "variable": variable} for variable in variables]
    document: dict[str, Any] = {"memoryRuntime": "axon_go", "memorySources": sources}
    return document if diary is None else {**document, "diary": diary}


def both(**diary: Any) -> dict[str, Any]:
    """Return turn memory with a diary and a table."""
    return local("compassMemory", "memoryTable", diary={"generator": "diarist", **diary})


@pytest.fixture(scope="session")
def make(project: Project) -> Any:
    """Return a function that makes an agent of genes and turn memory."""
    numbers = itertools.count()

    def make(*genes: str, turn_memory: Any, **options: Any) -> Agent:
        return project.create_agent(f"agent-{next(numbers)}", genes, turn_memory=turn_memory, **options)

    return make


def events(result: Any) -> list[str]:
    """Return the names of what a turn's memory did."""
    assert result.turn is not None
    return [event.event for event in result.turn.events]
