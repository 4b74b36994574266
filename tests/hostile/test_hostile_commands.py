"""Hostile guests on the command line: an exit status, no traceback, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rotifer_host import Project

ROTIFER = Path(sys.executable).with_name("rotifer")

RUNS = {
    "abort-with-escapes": 1,
    "fill-the-quota": 1,  # which expects its last write to succeed
    "key-with-escapes": 0,
    "log-with-escapes": 0,
    "loop-in-start": 3,
    "output-nested": 1,
    "output-with-escapes": 0,
    "recursion": 1,
    "reject-with-escapes": 1,
    "trap-with-escapes": 1,
    "wasi-floods-stderr": 0,
    "wasi-sleeps": 3,
}
"""Exit status by guest, each on its own."""
JSON = {
    "fill-the-quota": (0, "ok"),
    "reject-with-escapes": (1, "rejected"),
    "trap-with-escapes": (1, "failed"),
    "wasi-sleeps": (3, "limit"),
}
"""Exit status and run status by guest, each in an agent."""


def rotifer(project: Project, *arguments: str) -> tuple[int, str, str]:
    """Run the command in a process of its own; what it prints must be safe on a terminal."""
    done = subprocess.run(
        [ROTIFER, "-C", project.root, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    texts = done.stdout.decode(), done.stderr.decode()
    for text in texts:
        assert "Traceback" not in text
        assert not [line for line in text.split("\n") if not line.isprintable()]
        assert not [line for line in text.split("\n") if line.startswith(("error: forged", "forged"))]
    return done.returncode, *texts


@pytest.mark.parametrize("name", RUNS)
def test_run(hostile_project: Project, name: str) -> None:
    """For people: the status says how it ended, and no byte of a guest's moves the cursor."""
    limits = ("--deadline-ms", "300", "--fuel", "200000000")
    status, stdout, stderr = rotifer(hostile_project, "run", name, "--input", "{}", *limits)
    assert status == RUNS[name], stdout + stderr


@pytest.mark.parametrize("name", JSON)
def test_agent_run_as_json(hostile_project: Project, name: str) -> None:
    """For programs: one document on standard output, whatever the guest did."""
    agent = f"json-{name}"
    assert rotifer(hostile_project, "agent", "create", agent, "--genes", name)[0] == 0
    status, stdout, _ = rotifer(
        hostile_project,
        "--json",
        "agent",
        "run",
        agent,
        "--input",
        "{}",
        "--deadline-ms",
        "1000",
        "--fuel",
        "400000000",
    )
    document = json.loads(stdout)
    assert (status, document["status"]) == JSON[name]
    assert document["genes"][0]["name"] == name


def test_memory_list_and_audit_log(hostile_project: Project) -> None:
    """A key that would clear the screen and forge a line is listed as one line of escapes."""
    assert rotifer(hostile_project, "agent", "create", "lister", "--genes", "key-with-escapes")[0] == 0
    assert rotifer(hostile_project, "agent", "run", "lister", "--input", "{}")[0] == 0
    status, stdout, _ = rotifer(hostile_project, "agent", "memory", "list", "lister")
    assert status == 0
    assert r"\u001b[2J\u009b31m\u202e\nforged" in stdout
    lines = hostile_project.audit_path.read_text(encoding="utf-8").split("\n")
    assert not [line for line in lines if "\x1b" in line or line.startswith("forged")]


def test_missing_key_with_escapes(hostile_project: Project) -> None:
    """What the person typed is foreign text too: an error quotes it escaped."""
    assert rotifer(hostile_project, "agent", "create", "deleter", "--genes", "key-with-escapes")[0] == 0
    arguments = ("agent", "memory", "delete", "deleter", "--key", "\x1b[2J\nforged")
    status, _, stderr = rotifer(hostile_project, *arguments)
    assert status == 1
    assert "MEMORY_NOT_FOUND" in stderr
