"""`rotifer agent explain`, `agent memory stats` and `--report`."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def agent(rotifer: Run, project: Path) -> str:
    """Make an agent that remembers something."""
    assert rotifer("agent", "create", "greeter", "--genes", "hello", cwd=project).status == 0
    assert rotifer("agent", "run", "greeter", "--input", '{"name": "Ada"}', cwd=project).status == 0
    return "greeter"


KEY = "greeting/last-name"


def test_explain(rotifer: Run, project: Path, agent: str) -> None:
    """Says for each call whether it is allowed and by which rule, as a table or as a document."""
    shown = rotifer("agent", "explain", agent, "--gene", "counter", "--key", KEY, cwd=project)
    assert shown.status == 0
    rows = {line.split("  ")[0]: line for line in shown.stdout.splitlines()}
    assert " no " in rows["read"]
    assert "readScope SAME_DOMAIN" in rows["read"]
    assert " no " in rows["overwrite"]
    assert "counter is not in the genome of greeter" in shown.stderr
    document = rotifer("agent", "explain", agent, "--gene", "hello", "--key", KEY, "--json", cwd=project).document
    assert (document["v"], document["agent"], document["gene"], document["inGenome"]) == (1, "greeter", "hello", True)
    assert [document[call]["allowed"] for call in ("read", "write", "delete")] == [True, True, True]
    assert document["entry"]["category"] == "CONTEXT"
    assert "value" not in document["entry"]


def test_explain_writes_nothing(rotifer: Run, project: Path, agent: str) -> None:
    """Not even a line for an access it says would be denied."""
    log = (project / ".rotifer" / "audit.jsonl").read_bytes()
    rotifer("agent", "explain", agent, "--gene", "counter", "--key", KEY, cwd=project)
    assert (project / ".rotifer" / "audit.jsonl").read_bytes() == log
    assert not (project / ".rotifer" / "telemetry.jsonl").exists()


def test_explain_refuses(rotifer: Run, project: Path, agent: str) -> None:
    """What can be no gene or no key is named."""
    for gene, key, status, reason in (
        ("nothing", "k", 1, "no gene nothing"),
        ("hello", "", 2, "key must not be empty"),
        ("hello", "a\0b", 2, "NUL"),
    ):
        outcome = rotifer("agent", "explain", agent, "--gene", gene, "--key", key, cwd=project)
        assert outcome.status == status
        assert reason in outcome.stderr


def test_stats(rotifer: Run, project: Path, agent: str) -> None:
    """Shows the memory in numbers, as tables or as a document."""
    document = rotifer("agent", "memory", "stats", agent, "--json", cwd=project).document
    assert (document["v"], document["agent"], document["entries"], document["used"]) == (1, "greeter", 1, len(KEY) + 3)
    assert document["creators"][0]["genes"] == ["hello"]
    assert [entry["key"] for entry in document["nextEvicted"]] == [KEY]
    shown = rotifer("agent", "memory", "stats", agent, cwd=project)
    assert shown.stdout.startswith("21 B of 10 MB and 1 of 655,360 entries used; 21 B could be evicted\n")
    assert "evicted next" in shown.stdout
    assert rotifer("agent", "memory", "stats", "nobody", cwd=project).status == 1


def test_report(rotifer: Run, project: Path, agent: str) -> None:
    """A run with --report gives the same document as without, and a private page beside it."""
    page = project / "run.html"
    for command in (["agent", "run", agent], ["run", "hello"]):
        plain = rotifer(*command, "--input", '{"name": "Bob"}', "--json", cwd=project)
        outcome = rotifer(*command, "--input", '{"name": "Bob"}', "--report", "run.html", "--json", cwd=project)
        assert outcome.status == plain.status
        assert outcome.document.keys() == plain.document.keys()
        assert "the report is run.html" in outcome.stderr
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
        page.unlink()


def test_report_refuses(rotifer: Run, project: Path, agent: str) -> None:
    """A place that cannot be written to is refused before anything runs."""
    before = rotifer("agent", "memory", "list", agent, "--json", cwd=project).document
    for place in (".", "no/such/folder.html"):
        outcome = rotifer("agent", "run", agent, "--input", '{"name": "Eve"}', "--report", place, cwd=project)
        assert outcome.status == 2
        assert "cannot write the report" in outcome.stderr
    assert rotifer("agent", "memory", "list", agent, "--json", cwd=project).document == before
