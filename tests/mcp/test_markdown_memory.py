"""`memory_write`, `_update`, `_read` and `_search`: the project's Markdown files, where they are granted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.mcp.clients import Connection, audit

from rotifer_host import Project


def test_the_four_operations(greeter: Connection, shared: Project) -> None:
    """What a client writes stands in the project's files, for everybody, with its lines in the log as the gene's."""
    before = len(audit(shared))
    written = greeter.result("memory_write", key="team/stand-up", content="at ten", tags=["team"])
    assert list(written) == ["key", "target", "path"]
    assert greeter.result("memory_write", key="style", content="four spaces", target="summary")["path"] == "MEMORY.md"
    updated = greeter.result("memory_update", key="team/stand-up", content="at nine", tags=None)
    assert updated == {"key": "team/stand-up", "path": written["path"], "kind": "daily"}
    found = greeter.result("memory_read", key="team/stand-up")
    assert (found["content"], found["tags"], found["kind"]) == ("at nine", ["team"], "daily")
    assert shared.markdown_memory().read("team/stand-up").content == "at nine"
    assert greeter.result("memory_search", query="AT", tags=["team"], limit=5)["results"] == [found]
    assert [one["key"] for one in greeter.result("memory_search", query="")["results"]] == ["style", "team/stand-up"]
    lines = audit(shared)[before:]
    assert [(line["action"], line["key"]) for line in lines] == [
        ("markdown.write", "team/stand-up"),
        ("markdown.write", "style"),
        ("markdown.update", "team/stand-up"),
    ]
    assert {(line["agent"], line["geneId"]) for line in lines} == {("greeter", shared.gene("hello").current_id())}
    log, proofs = shared.verify_audit("greeter")
    assert proofs["greeter"].problems(log.name) == []


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("memory_write", {"key": "taken", "content": "again"}, "MEMORY_KEY_EXISTS"),
        ("memory_update", {"key": "missing", "content": "x"}, "MEMORY_KEY_NOT_FOUND"),
        ("memory_read", {"key": "missing"}, "MEMORY_KEY_NOT_FOUND"),
        ("memory_write", {"key": " ", "content": "x"}, "MEMORY_INVALID_KEY"),
        ("memory_write", {"key": "a\nb", "content": "x"}, "MEMORY_INVALID_KEY"),
        ("memory_write", {"key": "new", "content": "x", "target": "weekly"}, "MEMORY_INVALID_TARGET"),
        ("memory_write", {"key": "new"}, "INVALID_PATH"),
        ("memory_write", {"key": "new", "content": None}, "INVALID_PATH"),
        ("memory_write", {"key": "new", "content": "x", "tags": ["a|b"]}, "INVALID_PATH"),
        ("memory_write", {"key": "new", "content": "x", "folder": "/"}, "INVALID_PATH"),
        ("memory_search", {"query": "x", "limit": 101}, "INVALID_PATH"),
        ("memory_search", {}, "INVALID_PATH"),
    ],
)
def test_refusals(greeter: Connection, shared: Project, tool: str, arguments: dict[str, Any], code: str) -> None:
    """Each refusal has its code, and leaves the files as they were."""
    if not shared.markdown_memory().search("taken"):
        greeter.result("memory_write", key="taken", content="taken")
    before = shared.markdown_memory().search("", limit=100)
    assert greeter.refusal(tool, **arguments)[0] == code
    assert shared.markdown_memory().search("", limit=100) == before


def test_files_that_cannot_be_read(greeter: Connection, shared: Project) -> None:
    """A file that is no text is named in the error."""
    file = shared.root / ".agent" / "memory" / "broken.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"\xff")
    try:
        code, message = greeter.refusal("memory_read", key="anything")
    finally:
        file.unlink()
    assert code == "MEMORY_STORAGE_ERROR"
    assert "broken.md" in message


def test_a_log_that_cannot_be_written(greeter: Connection, shared: Project) -> None:
    """Where the audit log cannot be written, no file changes."""
    away = shared.audit_path.with_suffix(".away")
    shared.audit_path.rename(away)
    shared.audit_path.mkdir()
    try:
        assert greeter.refusal("memory_write", key="unlogged", content="x")[0] == "MEMORY_STORAGE_ERROR"
    finally:
        shared.audit_path.rmdir()
        away.rename(shared.audit_path)
    assert greeter.refusal("memory_read", key="unlogged")[0] == "MEMORY_KEY_NOT_FOUND"
