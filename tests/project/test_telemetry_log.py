"""Local telemetry and its switches."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rotifer_host.telemetry import TelemetryLog, is_enabled


def record(log: TelemetryLog, operation: str = "readMemory", *, gene_id: str | None = "v2:" + "0" * 64) -> None:
    """Record one refusal."""
    log.access_denied(ts="2026-01-02T03:04:05.678Z", agent_id=None, gene_id=gene_id, operation=operation)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, True),
        ({"DO_NOT_TRACK": ""}, True),
        ({"DO_NOT_TRACK": "0"}, True),
        ({"DO_NOT_TRACK": "false"}, True),
        ({"DO_NOT_TRACK": "False"}, False),
        ({"DO_NOT_TRACK": " 0"}, False),
        ({"DO_NOT_TRACK": "1"}, False),
        ({"DO_NOT_TRACK": "true"}, False),
        ({"DO_NOT_TRACK": "off"}, False),
        ({"DO_NOT_TRACK": "00"}, False),
        ({"ROTIFER_TELEMETRY": "0"}, False),
        ({"ROTIFER_TELEMETRY": "FALSE"}, False),
        ({"ROTIFER_TELEMETRY": " Off\n"}, False),
        ({"ROTIFER_TELEMETRY": ""}, True),
        ({"ROTIFER_TELEMETRY": "1"}, True),
        ({"ROTIFER_TELEMETRY": "no"}, True),
        ({"DO_NOT_TRACK": "0", "ROTIFER_TELEMETRY": "0"}, False),
        ({"DO_NOT_TRACK": "1", "ROTIFER_TELEMETRY": "1"}, False),
    ],
)
def test_the_environment_switches_it_off(environ: dict[str, str], *, expected: bool) -> None:
    """Either variable opts out, by the values of the contract, in any case and with spaces around."""
    assert is_enabled(environ) is expected


def test_an_event_is_one_line_of_json(tmp_path: Path) -> None:
    """Each refusal appends an event with the fields of the contract to a private file."""
    log = TelemetryLog(tmp_path / "telemetry.jsonl", enabled=True)
    record(log)
    record(log, "deleteMemory", gene_id=None)
    first, second = (json.loads(text) for text in log.path.read_text(encoding="utf-8").splitlines())
    assert list(first.items()) == [
        ("v", 1),
        ("ts", "2026-01-02T03:04:05.678Z"),
        ("event", "memory.access_denied"),
        ("agentId", None),
        ("geneId", "v2:" + "0" * 64),
        ("operation", "readMemory"),
    ]
    assert (second["geneId"], second["operation"]) == (None, "deleteMemory")
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_when_it_is_off(tmp_path: Path) -> None:
    """A user who opted out gets no file."""
    log = TelemetryLog(tmp_path / "telemetry.jsonl", enabled=False)
    record(log)
    assert not log.path.exists()


def test_a_torn_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    """After a crash in the middle of a line the next event still has a line of its own."""
    log = TelemetryLog(tmp_path / "telemetry.jsonl", enabled=True)
    log.path.write_bytes(b'{"torn')
    record(log)
    assert json.loads(log.path.read_bytes().splitlines()[1])["operation"] == "readMemory"


@pytest.mark.parametrize("obstacle", ["folder", "pipe", "full", "missing", "surrogate"])
def test_its_failure_changes_nothing(tmp_path: Path, obstacle: str) -> None:
    """Whatever is in its way, recording neither raises nor waits."""
    path = tmp_path / "telemetry.jsonl"
    if obstacle == "folder":
        path.mkdir()
    elif obstacle == "pipe":
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    elif obstacle == "full":
        path.symlink_to("/dev/full")
    elif obstacle == "missing":
        path = tmp_path / "none" / "telemetry.jsonl"
    log = TelemetryLog(path, enabled=True)
    for _ in range(1000):  # more than a pipe holds, whose reader does not read
        record(log, "\ud800" if obstacle == "surrogate" else "readMemory")
    if obstacle == "pipe":
        os.close(reader)
    assert obstacle != "surrogate" or not path.exists()
