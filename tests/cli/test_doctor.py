"""What `rotifer doctor` finds of the agents of a project."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.lock import FileLock, Wait
from rotifer_host.sandbox import available_call_paths
from rotifer_host.scratch import ScratchFolder

Run = Callable[..., Any]


def found(outcome: Any) -> tuple[dict[str, str], dict[str, str]]:
    """Return what doctor says is wrong, and what it says is not."""
    findings = outcome.document["findings"]
    wrong, fine = ({each["name"]: each["detail"] for each in findings if each["ok"] is ok} for ok in (False, True))
    return wrong, fine


def test_doctor_finds_what_agents_need(rotifer: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory that cannot be opened, a granted module that is not there, and what is left of others, each by name."""
    ids = {}
    for name in ("cut", "sound", "new", "lacking"):
        made = rotifer("agent", "create", name, "--genes", "hello", "--json", cwd=project)
        ids[name] = made.document["agentId"]
    for name in ("cut", "sound"):
        assert rotifer("agent", "run", name, "--input", '{"name": "Ada"}', cwd=project).status == 0
    assert found(rotifer("doctor", "--json", cwd=project))[0] == {}
    state = project / ".rotifer"
    os.truncate(state / "memory" / ids["cut"], 5000)
    record = state / "agents" / f"{ids['lacking']}.json"
    record.write_text(
        record.read_text(encoding="utf-8").replace('"grants": {}', '"grants": {"gone": {}}'), encoding="utf-8"
    )
    nobody = "12345678-1234-1234-1234-123456789abc"
    (state / "memory" / f"{nobody}.lock").touch()
    left, used = state / "bench-left", ScratchFolder("bench-", state)
    left.mkdir()
    (left / "in-use").touch()
    monkeypatch.setenv("ROTIFER_TELEMETRY", "maybe")
    outcome = rotifer("doctor", "--json", cwd=project)
    wrong, _ = found(outcome)
    used.close()
    assert (outcome.status, set(wrong)) == (1, {"telemetry", "memory", "grants", "left over"})
    assert wrong["memory"].startswith(
        f"the memory of the agent cut: cannot open .rotifer/memory/{ids['cut']}: it is damaged"
    )
    assert "sound" not in wrong["memory"]
    assert "rotifer agent grant lacking --revoke gone" in wrong["grants"]
    assert f".rotifer/memory/{nobody}* is the memory of no agent" in wrong["left over"]
    assert ".rotifer/bench-left is left of a measurement" in wrong["left over"]
    assert used.path.name not in wrong["left over"]
    assert "0, false and off turn it off" in wrong["telemetry"]


def test_doctor_lets_an_import_that_goes_on_be(rotifer: Run, project: Path) -> None:
    """What it has written so far belongs to it."""
    state = project / ".rotifer"
    with FileLock(state / "import.lock").held(Wait()):
        (state / "memory" / "12345678-1234-1234-1234-123456789abc.import").touch()
        assert found(rotifer("doctor", "--json", cwd=project))[0] == {}
    assert list(found(rotifer("doctor", "--json", cwd=project))[0]) == ["left over"]


@pytest.mark.parametrize("call_path", available_call_paths())
def test_doctor_names_the_call_path_that_runs_take(
    rotifer: Run, project: Path, monkeypatch: pytest.MonkeyPatch, call_path: str
) -> None:
    """That of `ROTIFER_CALL_PATH`, with which its guest has run; one that is none is wrong."""
    monkeypatch.setenv("ROTIFER_CALL_PATH", call_path)
    wrong, fine = found(rotifer("doctor", "--json", cwd=project))
    assert wrong == {}
    assert fine["sandbox"] == f"works; host calls take the {call_path} path"
    monkeypatch.setenv("ROTIFER_CALL_PATH", "bogus")
    outcome = rotifer("doctor", "--json", cwd=project)
    assert outcome.status == 1
    assert found(outcome)[0]["sandbox"].startswith("ROTIFER_CALL_PATH must be one of auto, ")
