"""An agent with entries of every kind, and projects to move it to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Agent, Project
from rotifer_host.errors import TransferError
from rotifer_host.memory import AccessPolicy, Caller, RetentionPolicy, read_request, write_request
from rotifer_host.memory.entry import Record
from rotifer_host.testing import ManualClock

ECHO = """(module (memory (export "memory") 1)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "express") (param i32 i32) (result i32) (local.get 0)))"""
OLD = Caller(f"v2:{'a' * 64}", "text.old")
OTHER = Caller(f"v2:{'b' * 64}", "text.other")
KEPT = RetentionPolicy(maxRetentionDays=30, autoDeleteOnTermination=True, anonymizationSupported=False)
SHORT = RetentionPolicy(maxRetentionDays=1, autoDeleteOnTermination=False, anonymizationSupported=False)


def add_gene(project: Project, name: str, domain: str = "text.old", version: str = "1.0.0") -> None:
    """Put a compiled gene into a project."""
    folder = project.root / "genes" / name
    folder.mkdir(exist_ok=True)
    phenotype = {"domain": domain, "version": version, "inputSchema": {}, "outputSchema": {}}
    (folder / "phenotype.json").write_text(json.dumps(phenotype), encoding="utf-8")
    (folder / "gene.wat").write_text(ECHO, encoding="utf-8")
    project.compile(name)


def write(agent: Agent, caller: Caller, key: str, value: bytes, category: str, **policies: Any) -> None:
    """Write as a gene that need not exist."""
    with agent._opened() as memory:
        memory.write(caller, write_request(key, value, category, **policies))


def records(agent: Agent) -> list[tuple[bytes, Record]]:
    """Return all that is stored."""
    with agent._open_store() as store, store.snapshot() as snapshot:
        return list(snapshot.records())


def without_cache(agent: Agent) -> list[tuple[bytes, Record]]:
    """Return what travels."""
    return [(identity, record) for identity, record in records(agent) if record.category != "CACHE"]


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file of a project but locks, which only say that somebody was there."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("lock"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def sealed(lines: list[bytes]) -> bytes:
    """Return a file of these lines with an honest last one, whatever they say."""
    body = b"".join(lines)
    entries = [json.loads(line) for line in lines[1:]]
    size = sum(len(str(entry["key"]).encode(errors="replace")) + len(entry["value"]) * 3 // 4 for entry in entries)
    size -= sum(entry["value"].count("=") for entry in entries)
    end = {"entries": len(entries), "bytes": size, "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps({"end": end}, separators=(",", ":")).encode() + b"\n"


@pytest.fixture
def clock() -> ManualClock:
    """Give the time of day of all projects."""
    return ManualClock("2026-01-01T00:00:00Z")


@pytest.fixture
def home(tmp_path: Path, clock: ManualClock) -> Project:
    """Give the project the agent leaves."""
    project = Project.init(tmp_path / "home", clock=clock)
    add_gene(project, "first")
    add_gene(project, "second", "text.other")
    return project


@pytest.fixture
def away(tmp_path: Path, clock: ManualClock) -> Project:
    """Give the project it comes to."""
    return Project.init(tmp_path / "away", clock=clock)


@pytest.fixture
def agent(home: Project, clock: ManualClock) -> Agent:
    """Give an agent with seven entries, of which two are CACHE, and a read by somebody else."""
    agent = home.create_agent("mover", ["first", "second"], memory_quota=1 << 16)
    open_to_all = AccessPolicy("ALL_GENES", "CREATOR_GENE_ONLY", "PRIVATE")
    write(agent, OLD, "old/preference", b"4", "PREFERENCE")
    clock.advance(seconds=1)
    write(agent, OLD, "old/pattern", b"\x00\xff", "PATTERN", access_policy=open_to_all)
    write(agent, OTHER, "other/context", b"knows", "CONTEXT", retention_policy=KEPT)
    write(agent, OTHER, "ключ/\u202e", b"", "CONTEXT")
    write(agent, OLD, "old/cache", b"x" * 100, "CACHE")
    write(agent, OTHER, "other/cache", b"y", "CACHE")
    clock.set("2025-12-31T00:00:00Z")  # a clock that goes back does not change the order
    write(agent, OLD, "old/last", b"z" * 3000, "PATTERN")
    clock.set("2026-01-02T00:00:00Z")
    with agent._opened() as memory:
        memory.read(OTHER, read_request("old/pattern"))
    return agent


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Name the file it travels in."""
    return tmp_path / "mover.jsonl"


@pytest.fixture
def lines(agent: Agent, file: Path) -> list[bytes]:
    """Return the lines of an exported file but for its last."""
    agent.export(file)
    return file.read_bytes().splitlines(keepends=True)[:-1]


@pytest.fixture
def refused(away: Project, tmp_path: Path) -> Callable[[bytes], str]:
    """Import bytes that must be refused and leave nothing; gives the message."""

    def try_to(data: bytes) -> str:
        path = tmp_path / "damaged.jsonl"
        path.write_bytes(data)
        before = tree(away.root)
        with pytest.raises(TransferError) as caught:
            away.import_agent(path)
        assert tree(away.root) == before
        return caught.value.message

    return try_to
