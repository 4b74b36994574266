"""An import that is killed or fails on its way leaves no agent, or the whole agent."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.transfer.conftest import records, tree, without_cache

from rotifer_host import Agent, Project, files
from rotifer_host.errors import AuditError, RotiferError, StoreError
from rotifer_host.transfer import draft, receiving

ROOT = Path(__file__).parents[2]


def test_a_killed_import(agent: Agent, away: Project, file: Path) -> None:
    """Killed at each touch of a file in turn: the agent is there whole, or not and can be imported anew."""
    agent.export(file)
    done = subprocess.run(
        [sys.executable, "-m", "tests.transfer.killed", str(away.root), str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    keys = sorted(record.key for _, record in without_cache(agent))
    for touch, after in enumerate(found, start=1):
        assert after.get("problems") == [], (touch, after)
        assert sorted(after["keys"]) == keys, (touch, after)
        assert after["left"] == [], (touch, after)
    there = [bool(after["there"]) for after in found]
    assert there == sorted(there), "once it is there it stays"
    assert there[-1]
    assert there.count(False) > 10


def lines_of(project: Project) -> list[dict[str, Any]]:
    """Return the log."""
    return [json.loads(line) for line in project.audit_path.read_bytes().splitlines()]


@pytest.mark.parametrize(
    ("module", "failing"),
    [(receiving, "write_record"), (draft, "sync_folder"), (files, "sync_folder")],
    ids=["no record", "memory not synced", "record not synced"],
)
def test_a_disk_that_fails_at_the_end(  # noqa: PLR0913 - a row of the table
    agent: Agent, away: Project, file: Path, monkeypatch: pytest.MonkeyPatch, *, module: ModuleType, failing: str
) -> None:
    """What the log had announced is taken back line by line, and the next import succeeds."""
    agent.export(file)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(module, failing, fail)
        with pytest.raises(StoreError, match="No space left"):
            away.import_agent(file)
    lines = lines_of(away)
    assert [line["action"] for line in lines] == ["memory.create"] * 5 + ["memory.abort"] * 5
    assert not [name for name in tree(away.root) if agent.id in name]
    moved, _ = away.import_agent(file)
    assert records(moved) == without_cache(agent)
    assert moved.memory().check().problems == []
    log, proofs = away.verify_audit()
    assert proofs["mover"].problems(log.name) == []
    assert len(proofs["mover"].taken_back) == 5


def test_a_log_that_cannot_be_written(agent: Agent, away: Project, file: Path) -> None:
    """Without its lines nothing is imported."""
    agent.export(file)
    away.audit_path.mkdir()
    before = tree(away.root)
    with pytest.raises(AuditError):
        away.import_agent(file)
    assert tree(away.root) == before
    assert away.agents() == []


def test_a_project_that_cannot_be_written(agent: Agent, away: Project, file: Path) -> None:
    """Is an error that names what is in the way."""
    agent.export(file)
    memory = away.root / ".rotifer" / "memory"
    memory.rmdir()
    memory.touch()
    with pytest.raises(RotiferError, match="memory"):
        away.import_agent(file)
    assert away.agents() == []


def test_leftovers_of_others_stay(agent: Agent, away: Project, file: Path) -> None:
    """Only drafts, and memories that are marked and have no record, are removed."""
    agent.export(file)
    moved, _ = away.import_agent(file)
    folder = away.root / ".rotifer" / "memory"
    (folder / f"{agent.id}.importing").touch()  # the import was killed when all but this was done
    (folder / "x.import").write_bytes(b"half")
    (folder / "x.importing").touch()
    (folder / "x").write_bytes(b"half")
    with pytest.raises(RotiferError):
        away.import_agent(file)
    assert not list(folder.glob("x*"))
    assert not list(folder.glob("*.importing"))
    assert records(moved) == without_cache(agent)
