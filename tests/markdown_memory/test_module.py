"""`rotifer.ext.markdown`: what a gene gets from the four functions, on every call path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.markdown_memory.conftest import Place

from rotifer_host import Limits, contract
from rotifer_host.lock import FileLock, Wait
from rotifer_host.sandbox import available_call_paths

every_call_path = pytest.mark.parametrize("call_path", available_call_paths())


def put(place: Place, name: str, data: bytes) -> None:
    """Write a file as a person would."""
    path = place.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def files(place: Place) -> dict[str, bytes]:
    """Return what is in the files of memories."""
    return {path.name: path.read_bytes() for path in place.folder.rglob("*.md")}


def lines(place: Place) -> list[dict[str, Any]]:
    """Return the audit lines there are, if any."""
    path = place.project.audit_path
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@every_call_path
def test_a_gene_writes_updates_reads_and_searches(place: Place, call_path: str) -> None:
    """The responses have the fields of the seed in their order, and people see the same memories in the files."""
    place.clock.set("2026-03-01T08:00:00.000Z")

    def call(operation: str, request: Any) -> str:
        result, response = place.call(operation, request, call_path=call_path)
        assert result == 0
        return json.dumps(response, ensure_ascii=False)

    assert call("write", {"key": "a", "content": "Grüße", "tags": ["t"]}) == (
        '{"key": "a", "target": "daily", "path": "2026/03/01.md"}'
    )
    assert call("write", {"key": "b", "content": "", "target": "summary", "tags": None}) == (
        '{"key": "b", "target": "summary", "path": "MEMORY.md"}'
    )
    assert call("update", {"key": "a", "content": "Grüße!"}) == '{"key": "a", "path": "2026/03/01.md", "kind": "daily"}'
    found = (
        '{"key": "a", "content": "Grüße!", "tags": ["t"], "file": "2026/03/01.md", "kind": "daily", '
        '"created_at": "2026-03-01T08:00:00.000Z", "updated_at": "2026-03-01T08:00:00.000Z"}'
    )
    assert call("read", {"key": "a"}) == found
    assert call("search", {"query": "GRÜSSE", "tags": ["t"], "limit": 1}) == f'{{"results": [{found}]}}'
    assert call("search", {"query": "nowhere", "limit": None}) == '{"results": []}'
    assert place.project.markdown_memory().read("a").content == "Grüße!"


@every_call_path
@pytest.mark.parametrize(
    ("operation", "request_", "result", "code", "message"),
    [
        ("write", {"key": "taken", "content": ""}, -14, "MEMORY_KEY_EXISTS", "'taken'"),
        ("read", {"key": "b"}, -12, "MEMORY_KEY_NOT_FOUND", "'b'"),
        ("update", {"key": "b", "content": ""}, -12, "MEMORY_KEY_NOT_FOUND", "'b'"),
        ("write", {"key": " ", "content": ""}, -10, "MEMORY_INVALID_KEY", "key must"),
        ("write", {"key": "a\nb", "content": ""}, -10, "MEMORY_INVALID_KEY", "key must"),
        ("write", {"key": "k" * 1025, "content": ""}, -10, "MEMORY_INVALID_KEY", "1025 bytes, at most 1024"),
        ("write", {"key": "b", "content": "", "target": "weekly"}, -10, "MEMORY_INVALID_TARGET", '"weekly"'),
        ("write", {"key": "b", "content": "", "target": 1}, -10, "MEMORY_INVALID_TARGET", "not 1"),
        ("write", {"key": "b"}, -10, "INVALID_PATH", "content is required: memory_write takes key, content"),
        ("write", {"key": None, "content": ""}, -10, "INVALID_PATH", "key is required"),
        ("write", {"key": 1, "content": ""}, -10, "INVALID_PATH", "key must be a string"),
        ("update", {"key": "taken", "content": "", "tags": [1]}, -10, "INVALID_PATH", "tags must be an array"),
        ("update", {"key": "taken", "content": "", "tags": ["-->"]}, -10, "INVALID_PATH", "a tag must"),
        ("search", {}, -10, "INVALID_PATH", "query is required"),
        ("search", {"query": "", "limit": 101}, -10, "INVALID_PATH", "from 1 to 100"),
        ("search", {"query": "", "limit": 1.0}, -10, "INVALID_PATH", "from 1 to 100"),
        ("search", {"query": "", "tag": "t"}, -10, "MEMORY_INVALID_INPUT", 'undefined field "tag"'),
        ("read", {"key": "taken", "content": ""}, -10, "MEMORY_INVALID_INPUT", 'undefined field "content"'),
        ("write", [], -10, "MEMORY_INVALID_INPUT", "must be an object"),
        ("read", None, -10, "MEMORY_INVALID_INPUT", "must be an object"),
    ],
)
def test_refusals(  # noqa: PLR0913, PLR0917 - a row of the table, and where it is tried
    place: Place, call_path: str, operation: str, request_: Any, result: int, code: str, message: str
) -> None:
    """Every refusal has the seed's code and a result of the guest ABI, names what is wrong, and changes no file."""
    put(place, "x.md", b"### taken\nby hand\n")
    got, payload = place.call(operation, request_, call_path=call_path)
    assert (got, payload["__rotifer_error"]["code"]) == (result, code)
    assert message in payload["__rotifer_error"]["message"]
    assert files(place) == {"x.md": b"### taken\nby hand\n"}
    assert lines(place) == []


@every_call_path
def test_files_that_cannot_be_used(place: Place, call_path: str) -> None:
    """A file that is not text, or a folder that is a link, is `MEMORY_STORAGE_ERROR` and named by its place here."""
    put(place, "bad.md", b"\xff")
    result, payload = place.call("search", {"query": ""}, call_path=call_path)
    assert (result, payload["__rotifer_error"]["code"]) == (-13, "MEMORY_STORAGE_ERROR")
    assert payload["__rotifer_error"]["message"] == "bad.md is not UTF-8: byte 0"
    (place.folder / "bad.md").unlink()
    (place.folder / "2026").symlink_to(place.project.root)
    result, payload = place.call("write", {"key": "a", "content": ""}, call_path=call_path)
    assert result == -13
    assert str(place.project.root) not in payload["__rotifer_error"]["message"]


@every_call_path
def test_a_response_without_room_changes_nothing(place: Place, call_path: str) -> None:
    """With -1 nothing was written, neither a memory nor a line."""
    assert place.call("write", {"key": "a", "content": ""}, room=0, call_path=call_path) == (-1, None)
    assert files(place) == {}
    assert lines(place) == []
    place.project.markdown_memory().write("a", "old")
    before = files(place)
    assert place.call("update", {"key": "a", "content": "new"}, room=0, call_path=call_path) == (-1, None)
    assert files(place) == before
    assert len(lines(place)) == 1


@every_call_path
def test_a_lock_that_stays_taken_ends_the_run_at_its_deadline(place: Place, call_path: str) -> None:
    """A write waits for whoever holds the folder no longer than the run may last; reading needs no lock."""
    place.project.markdown_memory().write("a", "x")
    with FileLock(place.folder / ".lock").held(Wait()):
        assert place.call("read", {"key": "a"}, call_path=call_path)[0] == 0
        result = place.agent.run(
            ["write", 1, {"key": "b", "content": ""}], limits=Limits(deadline_ms=300), call_path=call_path
        )
    assert (result.status, result.error and result.error.code) == ("limit", "DEADLINE_EXCEEDED")
    assert [found.key for found in place.project.markdown_memory().search("")] == ["a"]


def test_changes_have_their_lines(place: Place) -> None:
    """Who changed which memory and how large it is, never what it says; the log still proves the agent's memory."""
    place.call("write", {"key": "a", "content": "Grüße"})
    place.project.markdown_memory().update("a", "secret")
    place.call("update", {"key": "a", "content": ""})
    found = [
        {name: line[name] for name in ("actor", "agent", "action", "key", "entryId", "category", "bytes")}
        for line in lines(place)
    ]
    same = {"key": "a", "entryId": None, "category": None}
    assert found == [
        {"actor": "gene", "agent": "a", "action": "markdown.write", "bytes": 7, **same},
        {"actor": "deployer", "agent": None, "action": "markdown.update", "bytes": 6, **same},
        {"actor": "gene", "agent": "a", "action": "markdown.update", "bytes": 0, **same},
    ]
    assert [line["geneId"] is not None for line in lines(place)] == [True, False, True]
    log, proofs = place.project.verify_audit()
    assert log.problems() == []
    assert proofs["a"].problems(log.name) == []
    assert place.agent.memory().check().problems == []


def test_without_a_line_there_is_no_change(place: Place) -> None:
    """An audit log that cannot be written is `MEMORY_STORAGE_ERROR`, for genes and for people."""
    place.project.markdown_memory().write("a", "old")
    place.project.audit_path.unlink()
    place.project.audit_path.mkdir()
    before = files(place)
    for operation in ("write", "update"):
        result, payload = place.call(operation, {"key": "a" if operation == "update" else "b", "content": ""})
        assert (result, payload["__rotifer_error"]["code"]) == (-13, "MEMORY_STORAGE_ERROR")
        assert "audit log" in payload["__rotifer_error"]["message"]
    assert place.call("read", {"key": "a"})[0] == 0
    assert files(place) == before


@pytest.mark.parametrize("by_gene", [True, False])
def test_a_change_that_fails_is_taken_back(place: Place, by_gene: bool) -> None:  # noqa: FBT001 - who changes
    """Where a file cannot be replaced after its line was written, a second line says so, and the log is sound."""
    put(place, "MEMORY.md", b"")
    (place.folder / "2026").write_text("no folder")
    if by_gene:
        result, payload = place.call("write", {"key": "a", "content": "x"})
        assert (result, payload["__rotifer_error"]["code"]) == (-13, "MEMORY_STORAGE_ERROR")
    else:
        memory = place.project.markdown_memory()
        with pytest.raises(Exception, match="2026 is not a folder"):
            memory.write("a", "x")
    assert [(line["action"], line["key"]) for line in lines(place)] == [("markdown.write", "a"), ("memory.abort", "a")]
    assert lines(place)[1]["reason"].startswith("markdown.write of ")
    log, proofs = place.project.verify_audit()
    assert log.problems() == []
    assert proofs["a"].problems(log.name) == []


def test_what_has_no_room_is_refused_before_its_line(place: Place) -> None:
    """A file that would grow beyond 4 MiB, or all beyond 16 MiB, is left as it is."""
    put(place, "2026/01/01.md", b"x" * (4 * contract.MIB - 50))
    result, payload = place.call("write", {"key": "a", "content": "x" * 100})
    assert (result, payload["__rotifer_error"]["code"]) == (-13, "MEMORY_STORAGE_ERROR")
    assert f"at most {4 * contract.MIB}" in payload["__rotifer_error"]["message"]
    for number in range(3):
        put(place, f"{number}.md", "ä".encode() * (2 * contract.MIB))
    result, payload = place.call("write", {"key": "a", "content": "x", "target": "summary"})
    assert (result, f"at most {16 * contract.MIB}" in payload["__rotifer_error"]["message"]) == (-13, True)
    assert lines(place) == []
    put(place, "3.md", b"x" * 100)
    result, payload = place.call("search", {"query": ""})
    assert (result, payload["__rotifer_error"]["message"]) == (
        -13,
        f"the files of memories are larger than {16 * contract.MIB} bytes: move some away",
    )


def test_a_run_that_holds_its_changes_does_not_hold_these(place: Place) -> None:
    """With durability `run` a Markdown memory is in its file at once: files know no transaction."""
    assert place.call("write", {"key": "a", "content": "x"}, durability="run")[0] == 0
    assert [line["action"] for line in lines(place)] == ["markdown.write"]
    assert place.project.markdown_memory().read("a").content == "x"


def test_the_deadline_ends_a_long_search(place: Place) -> None:
    """A search among very many blocks is given up when the run's time is over."""
    put(place, "many.md", b"### a\n" * 600_000)
    result = place.agent.run(["search", 1, {"query": "nowhere"}], limits=Limits(deadline_ms=200))
    assert (result.status, result.error and result.error.code) == ("limit", "DEADLINE_EXCEEDED")


def test_genes_need_the_grant(place: Place) -> None:
    """A gene of an agent without it is refused before it runs."""
    ungranted = place.agent.grant({}, revoke=["markdown"])
    with pytest.raises(Exception, match="markdown"):
        ungranted.run(["read", 1, {"key": "a"}])
    assert not place.folder.exists()


def test_links_that_are_no_memories(place: Place, tmp_path: Path) -> None:
    """A gene reads nothing through a link: not of a file, and not of a folder on the way."""
    (tmp_path / "elsewhere/memory").mkdir(parents=True)
    (tmp_path / "elsewhere/memory/x.md").write_text("### a\nsecret\n")
    (place.project.root / ".agent").symlink_to(tmp_path / "elsewhere")
    result, payload = place.call("read", {"key": "a"})
    assert (result, payload["__rotifer_error"]["message"]) == (-13, ".agent is not a folder, or a link to one")
