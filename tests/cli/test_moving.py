"""`rotifer agent export`, `import` and `set-genes`."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Project
from rotifer_host.json_memory import create_memory_tools

Run = Callable[..., Any]


@pytest.fixture
def away(rotifer: Run, tmp_path: Path) -> Path:
    """Make a project to move to."""
    assert rotifer("init", "away").status == 0
    return tmp_path / "away"


@pytest.fixture
def agent(rotifer: Run, project: Path) -> str:
    """Make an agent that remembers something."""
    assert rotifer("agent", "create", "greeter", "--genes", "hello", cwd=project).status == 0
    assert rotifer("agent", "run", "greeter", "--input", '{"name": "Ada"}', cwd=project).status == 0
    return "greeter"


def test_an_agent_moves(rotifer: Run, project: Path, away: Path, tmp_path: Path) -> None:
    """Out of one project and into another, where it goes on counting once its gene is there."""
    rotifer("agent", "create", "tally", "--genes", "counter", cwd=project)
    for count in (1, 2):
        assert rotifer("agent", "run", "tally", "--json", cwd=project).document["output"] == {"count": count}
    exported = rotifer("agent", "export", "tally", "../tally.jsonl", "--with-cache", "--json", cwd=project).document
    assert (exported["entries"], exported["leftBehind"]) == (1, 0)
    assert stat.S_IMODE((tmp_path / "tally.jsonl").stat().st_mode) == 0o600
    shutil.copytree(project / "genes" / "counter", away / "genes" / "counter")
    imported = rotifer("agent", "import", "../tally.jsonl", "--name", "moved", "--json", cwd=away).document
    assert imported["agentId"] == exported["agentId"]
    assert (imported["agent"], imported["entries"], imported["missingGenes"]) == ("moved", 1, [])
    assert imported["changedGenes"] == []
    assert rotifer("agent", "run", "moved", "--json", cwd=away).document["output"] == {"count": 3}
    assert rotifer("audit", "verify", cwd=away).status == 0
    assert rotifer("agent", "memory", "check", "moved", cwd=away).status == 0


def test_an_export_replaces_nothing_unasked(rotifer: Run, project: Path, agent: str) -> None:
    """The error says how."""
    assert rotifer("agent", "export", agent, "file", cwd=project).status == 0
    again = rotifer("agent", "export", agent, "file", cwd=project)
    assert again.status == 1
    assert "is there already" in again.stderr
    assert "help: --force" in again.stderr
    assert rotifer("agent", "export", agent, "file", "--force", cwd=project).status == 0


def test_standard_streams(project: Path, away: Path, agent: str) -> None:
    """With - an export goes through a pipe into an import; what people read goes to standard error."""
    command = [sys.executable, "-m", "rotifer_host", "agent"]
    sent = subprocess.run([*command, "export", agent, "-"], cwd=project, capture_output=True, check=True)
    assert b"exported greeter: 1 entry" in sent.stderr
    received = subprocess.run([*command, "import", "-"], cwd=away, input=sent.stdout, capture_output=True, check=True)
    assert received.stdout.startswith(b"imported greeter: 1 entry")
    cut = subprocess.run([*command, "import", "-"], cwd=away, input=sent.stdout[:-1], capture_output=True, check=False)
    assert (cut.returncode, cut.stdout) == (1, b"")
    assert b"error[AGENT_FILE]: <stdin> is damaged" in cut.stderr
    with Path("/dev/full").open("wb") as full:
        closed = subprocess.run(
            [*command, "export", agent, "-"], cwd=project, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert closed.returncode == 1
    assert b"cannot write to standard output" in closed.stderr


def test_standard_output_cannot_be_two_things(rotifer: Run, project: Path, agent: str) -> None:
    """A document and an export do not go together."""
    outcome = rotifer("agent", "export", agent, "-", "--json", cwd=project)
    assert outcome.status == 2
    assert outcome.document["error"]["code"] == "USAGE"


def test_conflicts_are_one_error(rotifer: Run, project: Path, agent: str) -> None:
    """All of them, with what to do; status 1."""
    rotifer("agent", "export", agent, "file", cwd=project)
    outcome = rotifer("agent", "import", "file", "--memory-quota", "0.01KB", "--json", cwd=project)
    assert (outcome.status, outcome.document["error"]["code"]) == (1, "IMPORT_CONFLICT")
    for reason in ("named greeter", "its id", "its quota is 10 bytes"):
        assert reason in outcome.document["error"]["message"]
    assert "help: an agent is in a project once; to take in this one, move away " in outcome.stderr
    assert "; --memory-quota gives it another quota\n" in outcome.stderr


def test_a_file_that_may_not_be_read_is_as_one_that_is_missing(
    rotifer: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening it says what is wrong, not the command line: exit status 1 for all."""
    (project / "closed").write_bytes(b"")
    monkeypatch.setattr(os, "access", lambda path, *_more, **_options: Path(path).name != "closed")
    for file in ("closed", "missing", "genes"):
        outcome = rotifer("agent", "import", file, cwd=project)
        assert (outcome.status, outcome.stderr.startswith("error[AGENT_FILE]: ")) == (1, True)


def test_genes_that_are_missing_are_named(rotifer: Run, project: Path, away: Path, agent: str) -> None:
    """As a note: the agent is there, and runs once they are."""
    rotifer("agent", "set-genes", agent, "--genes", "counter", cwd=project)
    rotifer("agent", "export", agent, "file", cwd=project)
    outcome = rotifer("agent", "import", str(project / "file"), cwd=away)
    assert outcome.status == 0
    assert "not in this project yet: counter" in outcome.stderr
    assert rotifer("agent", "run", agent, cwd=away).status == 1


def test_what_else_travels_and_what_does_not_is_told(rotifer: Run, project: Path, away: Path, agent: str) -> None:
    """Host modules are granted as in the file, and what they keep for the agent is not in it."""
    assert rotifer("agent", "grant", agent, "json", cwd=project).status == 0
    create_memory_tools(Project.open(project).agent(agent).json_memory())[1].execute(
        None, {"expectedRevision": 0, "memory": {"width": 4}}
    )
    exported = rotifer("agent", "export", agent, "file", cwd=project)
    assert "not in the file, for only entries travel: json/memory" in exported.stderr
    again = rotifer("agent", "export", agent, "file", "--force", "--json", cwd=project)
    assert again.document["documentsLeftBehind"] == ["json/memory"]
    imported = rotifer("agent", "import", str(project / "file"), cwd=away)
    assert "granted  json" in imported.stdout


def test_set_genes(rotifer: Run, project: Path, agent: str) -> None:
    """The agent has other genes, the same memory, and is told what these cannot reach."""
    document = rotifer("agent", "set-genes", agent, "--genes", "counter", "--json", cwd=project).document
    assert (document["before"], document["genes"], document["composition"]) == (["hello"], ["counter"], "Single")
    assert document["unreachableEntries"] == 1
    assert rotifer("agent", "list", "--json", cwd=project).document["agents"][0]["genes"] == ["counter"]
    shown = rotifer("agent", "memory", "list", agent, cwd=project)
    assert shown.stdout.splitlines()[1].endswith("lost")
    assert "lost to every gene of greeter: 1 entry" in shown.stderr
    back = rotifer("agent", "set-genes", agent, "--genes", "hello,counter", "--composition", "Seq", cwd=project)
    assert (back.status, "out of the reach" in back.stderr) == (0, False)
    listed = rotifer("agent", "memory", "list", agent, "--json", cwd=project).document
    assert [entry["reachable"] for entry in listed["entries"]] == [True]


REFUSED = [
    (["nobody", "--genes", "hello"], 1, "no agent named nobody"),
    (["greeter", "--genes", "nothing"], 1, "no gene nothing"),
    (["greeter", "--genes", "hello", "counter"], 2, "has places for 1 gene, not 2"),
    (["greeter", "--genes", "hello", "--composition", "Loop"], 2, "must be one of"),
    (["greeter"], 2, "--genes"),
]


def test_set_genes_refuses(rotifer: Run, project: Path, agent: str) -> None:
    """What `agent create` would, and what does not fit the composition; the agent stays as it was."""
    before = rotifer("agent", "list", "--json", cwd=project).document
    assert [each["agent"] for each in before["agents"]] == [agent]
    for arguments, status, reason in REFUSED:
        outcome = rotifer("agent", "set-genes", *arguments, cwd=project)
        assert outcome.status == status, arguments
        assert reason in outcome.stderr
    assert rotifer("agent", "list", "--json", cwd=project).document == before
