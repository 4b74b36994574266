"""The page of a run: what it says, that guests' text stays text, and that asking for it changes nothing else."""

from __future__ import annotations

import errno
import json
import os
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.agent.guests import ECHO
from tests.report.conftest import HOSTILE, TRAPS, USER, WRITER, AddGene, Page

from rotifer_host import Agent, Limits, Project, Recorder, Report, RunResult, replay
from rotifer_host.errors import RotiferError
from rotifer_host.lock import FileLock, Wait
from rotifer_host.memory import Caller, write_request
from rotifer_host.report import report as report_module
from rotifer_host.sandbox import available_call_paths

PATHS = list(available_call_paths())


def request(key: str, value: bytes = b"1", category: str = "CACHE") -> dict[str, str]:
    """Return what a writing gene takes."""
    return {"key": key, "value": b64encode(value).decode(), "category": category}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Name the page."""
    return tmp_path / "run.html"


def page_of(file: Path) -> Page:
    """Read the page."""
    return Page(file.read_bytes().decode())


def test_a_run_is_told(writer: Agent, file: Path) -> None:
    """Status, input, output, gene, its call with key and value, its log, and the new entry."""
    result = writer.run(request("greeting/name", b"Ada"), report=Report(file))
    page = page_of(file)
    assert result.status == "ok"
    assert page.classes.count("gene") == 1
    assert page.classes.count("call") == 1
    assert "created" in page.classes
    for text in (
        "Run of the agent writer",
        "greeting/name",
        "writeMemory",
        "Ada",
        "log of writer",
        str(result.genes[0].gene_id),
        "0 entries of 0 B before, 1 entry of 16 B after. Changed: 1 entry",
    ):
        assert text in page.text
    assert "Refused" not in page.text


def test_what_became_of_memory(writer: Agent, file: Path) -> None:
    """Entries that were created, changed, and evicted, with what they were and are."""
    writer.run(request("first", b"x" * 4000))
    writer.run(request("second", b"before", "PATTERN"))
    writer.run(request("second", b"after", "CONTEXT"), report=Report(file))
    page = page_of(file)
    assert "updated" in page.classes
    for text in ("PATTERN → CONTEXT", "before", "after", "6 B", "5 B"):
        assert text in page.text
    writer.run(request("third", b"y" * 8000, "PREFERENCE"), report=Report(file))
    page = page_of(file)
    assert {"created", "removed"} <= set(page.classes)
    assert "evicted or gone" in page.text
    assert "x" * 120 + "…" in page.text


def test_turn_memory(project: Project, add_gene: AddGene, file: Path) -> None:
    """What was recalled, and what became of each source, with the words of guests escaped."""
    add_gene("echo", ECHO)
    source = {"id": HOSTILE[:30], "agentRef": "t", "variable": "memoryTable"}
    settings = {"memoryRuntime": "axon_go", "memorySources": [source]}
    agent = project.create_agent("turner", ["echo"], turn_memory=settings)
    edit = {"op": "set", "table": "people", "row": "Ann", "cells": {"holds": HOSTILE}}
    agent.run({"tableEdits": [edit]}, report=Report(file))
    assert "table.replaced" in page_of(file).text
    agent.run({"tableEdits": [{"op": HOSTILE}]}, report=Report(file))
    page = page_of(file)
    assert "script" not in page.tags
    for text in ("Turn memory", "runtime axon_go", "recalled", "memoryTable", "table.failed"):
        assert text in page.text


@pytest.mark.parametrize("call_path", PATHS)
def test_every_call_is_on_it(project: Project, add_gene: AddGene, file: Path, call_path: str) -> None:
    """Also reads that would be answered without asking memory again; those with bad pointers are counted."""
    add_gene("writer", WRITER)
    add_gene("user", USER.format(times=30))
    agent = project.create_agent("user", ["user"])
    project.create_agent("writer", ["writer"])
    with agent._opened() as memory:
        memory.write(Caller(f"v2:{'a' * 64}", "text"), write_request("key", b"value", "CACHE"))
    plain = agent.run({"key": "none"}, call_path=call_path)
    result = agent.run({"key": "key"}, call_path=call_path, report=Report(file))
    page = page_of(file)
    calls = result.genes[0].host_calls
    assert calls["readMemory"].count == plain.genes[0].host_calls["readMemory"].count == 31
    assert page.classes.count("call") == 30 + 1 + 1
    assert "Refused before they got to memory, for their pointers, request or fuel: 1 call." in page.text
    assert page.text.count("value") >= 30
    assert "deleted" in page.text
    assert agent.memory().list().entries == ()


def test_denials(project: Project, add_gene: AddGene, file: Path) -> None:
    """Each with its gene, key and rule."""
    add_gene("writer", WRITER)
    add_gene("thief", USER.format(times=2), "far")
    agent = project.create_agent("a", ["thief", "writer"], composition="Par")
    agent.run(request("secret/key"))
    result = (
        project.agent("a").set_genes(["thief"], composition="Single").run({"key": "secret/key"}, report=Report(file))
    )
    page = page_of(file)
    assert result.genes[0].denied == 3
    assert page.classes.count("refused") == 3
    assert "3 accesses denied" in page.text
    assert page.text.count("readScope SAME_DOMAIN does not let this gene read it") >= 2
    assert "MEMORY_ACCESS_DENIED" in page.text


def test_branches_at_once(project: Project, add_gene: AddGene, file: Path) -> None:
    """Each has a lane of its own with its own calls, the same gene twice, too."""
    add_gene("writer", WRITER)
    add_gene("traps", TRAPS)
    tree = {"type": "Par", "merge": "first", "branches": ["writer", "traps", {"type": "Seq", "steps": ["writer"]}]}
    agent = project.create_agent("a", [], composition=tree)
    result = agent.run(request("key"), report=Report(file))
    page = page_of(file)
    assert len(result.genes) == 3
    assert (page.classes.count("lane"), page.classes.count("gene"), page.classes.count("call")) == (3, 3, 2)
    assert "TRAP" in page.text


def test_a_gene_on_its_own(project: Project, add_gene: AddGene, file: Path) -> None:
    """It has no memory: its calls are refused, and nothing is said of entries."""
    add_gene("user", USER.format(times=1))
    project.run_gene("user", {"key": "key"}, report=Report(file))
    page = page_of(file)
    assert "Run of the gene user" in page.text
    assert "this gene runs outside of any" in page.text
    assert "entries of" not in page.text


FAILURES: dict[str, tuple[str, Limits, str, str]] = {
    "a trap": (TRAPS, Limits(), "failed", "TRAP"),
    "no fuel": (USER.format(times=1_000_000), Limits(fuel=1_000_000), "limit", "FUEL_EXHAUSTED"),
    "no time": (USER.format(times=0), Limits(fuel=1 << 60, deadline_ms=100), "limit", "DEADLINE_EXCEEDED"),
}


@pytest.mark.parametrize(("wat", "limits", "status", "code"), FAILURES.values(), ids=FAILURES)
def test_a_run_that_ends_badly(  # noqa: PLR0913 - a row of the table
    project: Project, add_gene: AddGene, file: Path, *, wat: str, limits: Limits, status: str, code: str
) -> None:
    """Has a page that says why."""
    add_gene("gene", wat)
    result = project.create_agent("a", ["gene"]).run({"key": "key"}, limits=limits, report=Report(file))
    page = page_of(file)
    assert result.status == status
    assert code in page.text
    assert status in page.classes
    assert "Output" not in page.text


def test_a_turn_that_did_not_come(project: Project, file: Path) -> None:
    """An exclusive agent's run that was not begun has a page, too."""
    project.compile("hello")
    agent = project.create_agent("a", ["hello"], exclusive=True)
    agent.run({"name": "Ada"})
    (lock,) = (project.root / ".rotifer" / "agents").glob("*.run")
    with FileLock(lock).held(Wait()):
        result = agent.run({"name": "Bob"}, limits=Limits(deadline_ms=20), report=Report(file))
    assert result.status == "limit"
    assert "DEADLINE_EXCEEDED" in page_of(file).text


TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "p", "div",
    "span", "strong", "code", "pre", "br", "details", "summary", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


@pytest.mark.parametrize("hostile", [HOSTILE, "\u001f\u2066<b>", "<!--", "]]>", "'`=;"])
def test_text_of_guests_stays_text(project: Project, add_gene: AddGene, file: Path, hostile: str) -> None:
    """In keys, values, inputs, logs, errors and titles: no element, attribute or control character is theirs."""
    add_gene("writer", WRITER)
    message = json.dumps({"__rotifer_error": {"message": hostile}}).replace("\\", "\\\\").replace('"', '\\"')
    rejects = (
        f'(module (memory (export "memory") 1) (data (i32.const 0) "{message}")'
        ' (func (export "alloc") (param i32) (result i32) (i32.const 4096))'
        ' (func (export "express") (param i32 i32) (result i32) (i32.const 0)))'
    )
    add_gene("rejects", rejects)
    agent = project.create_agent("a", ["writer", "rejects"])
    result = agent.run(request(hostile, hostile.encode()), report=Report(file))
    assert result.status == "rejected"
    data = file.read_bytes().decode()
    page = Page(data)
    assert page.tags <= TAGS
    assert page.attributes <= {"class", "style", "title", "lang", "charset", "content", "http-equiv", "name", "open"}
    assert [c for c in data if ord(c) < 32 and c not in "\n\t"] == []
    assert re.search("[\u202a-\u202e\u2066-\u2069]", data) is None
    shown = hostile.replace("\u202e", "\\u202e").replace("\x1b", "\\u001b").replace("\u2066", "\\u2066")
    shown = shown.replace("\x1f", "\\u001f")
    assert page.text.count(shown) >= 3
    assert any(shown in title for title in page.titles)


def test_nothing_to_load_and_nothing_to_run(writer: Agent, file: Path) -> None:
    """No script, no link, no address, and a policy that would forbid them."""
    writer.run(request("key"), report=Report(file))
    page = page_of(file)
    assert page.policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert not page.tags & {"script", "link", "img", "iframe", "object", "a", "form", "base", "svg"}
    assert not {name for name in page.attributes if name.startswith("on") or name in ("src", "href", "action")}
    assert "url(" not in page.style
    assert "@import" not in page.style


def test_values_that_are_no_text(writer: Agent, file: Path) -> None:
    """Are shown as bytes; a character that is cut through at the end of what is kept is left out."""
    writer.run(request("bytes", b"\xff\x00" * 20), report=Report(file))
    assert "ff 00 ff 00" in page_of(file).text
    writer.run(request("text", ("a" + "é" * 300).encode()), report=Report(file))
    assert "a" + "é" * 119 + "…" in page_of(file).text


def test_many_calls(project: Project, add_gene: AddGene, file: Path) -> None:
    """The page stays of a size that a browser takes, and says what is not on it."""
    add_gene("user", USER.format(times=3000))
    result = project.create_agent("a", ["user"]).run({"key": "key"}, report=Report(file))
    page = page_of(file)
    assert result.status == "ok"
    assert page.classes.count("call") == 2000
    assert "Not kept, for there were too many: 1,002 calls." in page.text
    assert "Not listed: 1,500 calls." in page.text
    assert file.stat().st_size < 1_000_000


def test_a_large_memory_is_shown_without_values(project: Project, add_gene: AddGene, file: Path) -> None:
    """What changed in it is told by size."""
    add_gene("writer", WRITER)
    agent = project.create_agent("a", ["writer"], memory_quota=64 << 20)
    with agent._open_store() as store:
        memory = agent._memory(store, durability="run")
        for number in range(17):
            caller = Caller(f"v2:{'a' * 64}", "text")
            memory.write(caller, write_request(f"{number}", b"x" * (1 << 20), "CONTEXT"))
        memory.finish()
    agent.run(request("new", b"tiny"), report=Report(file))
    assert "17 entries of 17 MB before, 18 entries of 17 MB after" in page_of(file).text
    assert file.stat().st_size < 50_000


def comparable(result: RunResult) -> Any:
    """Return what two runs must have in common."""
    document = result.to_json()
    for gene in document["genes"]:
        gene.pop("durationMs")
        for calls in gene["hostCalls"].values():
            calls.pop("micros")
    document.pop("durationMs")
    return document


@pytest.mark.parametrize("call_path", PATHS)
@pytest.mark.parametrize("durability", ["call", "run"])
def test_a_report_changes_nothing(project: Project, file: Path, call_path: str, durability: Any) -> None:
    """Output, fuel, calls and memory are those of a run without; and a recording can be made beside it."""
    project.compile("hello")
    plain, seen = (project.create_agent(name, ["hello"]) for name in ("plain", "seen"))
    for name in ("Ada", "Bob"):
        without = comparable(plain.run({"name": name}, durability=durability, call_path=call_path))
        tape = Recorder(file.with_suffix(".rec"))
        run = seen.run({"name": name}, durability=durability, call_path=call_path, report=Report(file), record=tape)
        assert comparable(run) | {"agent": "plain", "agentId": plain.id} == without
    assert replay(file.with_suffix(".rec")).same
    assert [entry.size for entry in seen.memory().list().entries] == [
        entry.size for entry in plain.memory().list().entries
    ]
    assert seen.memory().check().problems == []


def test_a_page_that_cannot_be_written(writer: Agent, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is an error that names it; what the run did stays done."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(report_module, "write_atomic", fail)
    with pytest.raises(RotiferError, match=r"run\.html: No space") as caught:
        writer.run(request("key"), report=Report(file))
    assert caught.value.code == "REPORT"
    assert [entry.key for entry in writer.memory().list().entries] == ["key"]
