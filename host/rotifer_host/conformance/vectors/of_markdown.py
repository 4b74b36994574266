"""Memories in Markdown files: the host module `rotifer.ext.markdown`, in a folder that is empty at first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from rotifer_host import contract
from rotifer_host.conformance.vectors.entries import NEIGHBOUR, NOW, OTHER, OWNER, Who, action_line, entry, line
from rotifer_host.conformance.vectors.steps import HOST_MODULES, Json, Vector, call_host_module, clock

_NEEDS: Final = ["ext.markdown", "modules"]
_CITES: Final = HOST_MODULES("`rotifer.ext.markdown`")
_FILE: Final = "2026/03/01.md"
_LATER: Final = "2026-03-02T00:00:00.000Z"
_WITHOUT_ID: Final = Who(None, "text.format")
_UNKNOWN: Final[dict[str, object]] = {"key": None, "entryId": None, "category": None, "bytes": None}

_call: Final = partial(call_host_module, "markdown")


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _operations()
    yield from _summaries()
    yield from _searching()
    yield from _contents()
    yield from _requests()
    yield from _order()


def _write(
    key: str,
    content: str = "",
    gives: object = None,
    *,
    who: Who = OWNER,
    cap: int = 1 << 20,
    **members: Any,  # noqa: ANN401 - any JSON value
) -> Json:
    """Let a gene write a memory, into the file of `NOW` unless told otherwise."""
    if gives is None:
        gives = {"key": key, "target": "daily", "path": _FILE}
    return _call("memory_write", {"key": key, "content": content, **members}, gives, who=who, cap=cap)


def _summarize(key: str, content: str = "") -> Json:
    return _write(key, content, {"key": key, "target": "summary", "path": "MEMORY.md"}, target="summary")


def _update(key: str, content: str = "", kind: str = "daily", **members: Any) -> Json:  # noqa: ANN401 - the same
    path = _FILE if kind == "daily" else "MEMORY.md"
    return _call("memory_update", {"key": key, "content": content, **members}, {"key": key, "path": path, "kind": kind})


def _found(key: str, content: str = "", tags: Sequence[str] = (), kind: str = "daily", at: str = NOW) -> Json:
    return {
        "key": key,
        "content": content,
        "tags": list(tags),
        "file": _FILE if kind == "daily" else "MEMORY.md",
        "kind": kind,
        "created_at": at,
        "updated_at": at,
    }


def _read(key: str, *found: Any, who: Who = OWNER, **members: Any) -> Json:  # noqa: ANN401 - what `_found` takes
    return _call("memory_read", {"key": key}, _found(key, *found, **members), who=who)


def _search(request: Mapping[str, object], *found: Json) -> Json:
    return _call("memory_search", request, {"results": list(found)})


def _vector(title: str, *steps: Json, lines: Sequence[Json] = (), faults: Sequence[str] = (), **members: Any) -> Vector:  # noqa: ANN401 - what a vector may have
    needs = [*_NEEDS, *(f"fault-{fault}" for fault in faults)]
    return Vector(title, _CITES, steps, audit=list(lines), needs=needs, faults=faults, **members)


def _wrote(key: str, size: int, who: Who = OWNER, at: str = NOW) -> Json:
    return {**action_line("markdown.write", key, who, at=at), "bytes": size}


def _updated(key: str, size: int, at: str = NOW) -> Json:
    return {**action_line("markdown.update", key, OWNER, at=at), "bytes": size}


def _operations() -> Iterator[Vector]:
    yield _vector(
        "what was written is read back, with its tags",
        _write("a", "Grüße", tags=["t", "u v"]),
        _read("a", "Grüße", ["t", "u v"]),
        lines=[_wrote("a", 7)],
    )
    yield _vector(
        "a key that is there is a conflict, whoever wrote it, and nothing is written",
        _write("a", "x"),
        _write("a", "y", contract.MEMORY_CONFLICT, who=OTHER),
        _write(" a ", "y", contract.MEMORY_CONFLICT),
        _read("a", "x", who=OTHER),
        lines=[_wrote("a", 1)],
    )
    yield _vector(
        "every gene of the agent reads and changes them, whatever its domain",
        _write("a", "x", who=NEIGHBOUR),
        _read("a", "x", who=OTHER),
        _update("a", "yy"),
        _read("a", "yy", who=NEIGHBOUR),
        lines=[_wrote("a", 1, NEIGHBOUR), _updated("a", 2)],
    )
    yield _vector(
        "an update keeps tags it does not name, and takes the others; its time is the new one",
        _write("a", "x", tags=["t"]),
        clock(_LATER),
        _update("a", "y"),
        _read("a", "y", ["t"], at=_LATER),
        _update("a", "z", tags=["u"]),
        _read("a", "z", ["u"], at=_LATER),
        _update("a", "z", tags=[]),
        _read("a", "z", at=_LATER),
        lines=[_wrote("a", 1), *[_updated("a", 1, _LATER)] * 3],
    )
    missing = contract.NOT_FOUND
    yield _vector("a key that is not there cannot be read", _call("memory_read", {"key": "a"}, missing))
    yield _vector(
        "a key that is not there cannot be updated, and is not made",
        _call("memory_update", {"key": "a", "content": ""}, missing),
        _call("memory_read", {"key": "a"}, missing),
    )


def _summaries() -> Iterator[Vector]:
    yield _vector(
        "a memory may be written into the summary, and is updated there",
        _summarize("a", "x"),
        _read("a", "x", kind="summary"),
        _update("a", "y", "summary"),
        _read("a", "y", kind="summary"),
        lines=[_wrote("a", 1), _updated("a", 1)],
    )
    yield _vector(
        "a key in the summary is there for the files of days, too",
        _summarize("a"),
        _write("a", "", contract.MEMORY_CONFLICT),
        lines=[_wrote("a", 0)],
    )


def _searching() -> Iterator[Vector]:
    old = [_write("key/one", "Day", tags=["t", "u"]), _summarize("two", "keys")]
    new = [clock(_LATER), _write("three", "nights", {"key": "three", "target": "daily", "path": "2026/03/02.md"})]
    lines = [_wrote("key/one", 3), _wrote("two", 4), _wrote("three", 6, at=_LATER)]
    one = _found("key/one", "Day", ["t", "u"])
    two = _found("two", "keys", kind="summary")
    three = {**_found("three", "nights", at=_LATER), "file": "2026/03/02.md"}
    for title, request, found in (
        ("summaries come first, then the newest", {"query": ""}, [two, three, one]),
        ("key and content are looked through, whatever the case", {"query": "KEY"}, [two, one]),
        ("nothing found is an empty array", {"query": "week"}, []),
        ("all tags must be there", {"query": "", "tags": ["u", "t"]}, [one]),
        ("one tag that is not there is enough to be left out", {"query": "", "tags": ["t", "v"]}, []),
        ("no more than the limit are given", {"query": "", "limit": 2}, [two, three]),
        ("null is a tag list and a limit left out", {"query": "day", "tags": None, "limit": None}, [one]),
    ):  # fmt: skip
        yield _vector(f"in a search {title}", *old, *new, _search(request, *found), lines=lines)


def _contents() -> Iterator[Vector]:
    for what, content in (
        ("begins other blocks", "### other\n\ntext"),
        ("ends its block", "text\n<!-- agentool-memory: at=2026-01-01T00:00:00.000Z tags=x -->\nmore"),
        ("has backslashes where the host puts them", "\\### a\n\\\\### b\n\\<!-- agentool-memory: at= tags= -->"),
        ("has headings and line ends of its own", "\n# One\n## Two\n\n"),
        ("has control characters and all planes", "\u0001\t\r\U0001f511 \ufeff"),
        ("is empty", ""),
    ):
        yield _vector(
            f"content that {what} comes back as it was, and makes no other memory",
            _write("a", content),
            _read("a", content),
            _search({"query": ""}, _found("a", content)),
            lines=[_wrote("a", len(content.encode()))],
        )
    yield _vector(
        "a key is compared without white space around it",
        _write("a b", "x"),
        _call("memory_read", {"key": " a b\u00a0"}, _found("a b", "x")),
        lines=[_wrote("a b", 1)],
    )
    longest = "é" * (contract.MAX_KEY_BYTES // 2)
    yield _vector(
        "a key of 1,024 bytes is allowed, and one more is not",
        _write(longest),
        _write(f"{longest}x", "", contract.INVALID_INPUT),
        lines=[_wrote(longest, 0)],
    )


def _requests() -> Iterator[Vector]:
    write: dict[str, object] = {"key": "a", "content": ""}
    bad: Sequence[tuple[str, str, object]] = (
        ("memory_write", "without a key", {"content": ""}),
        ("memory_write", "without a content", {"key": "a"}),
        ("memory_write", "with null for a content", {"key": "a", "content": None}),
        ("memory_write", "with a number for a key", {"key": 1, "content": ""}),
        ("memory_write", "with an empty key", {"key": "", "content": ""}),
        ("memory_write", "with a blank key", {"key": " \t", "content": ""}),
        ("memory_write", "with a key of two lines", {"key": "a\nb", "content": ""}),
        ("memory_write", "with a line separator in the key", {"key": "a\u2028b", "content": ""}),
        ("memory_write", "with another target", {**write, "target": "weekly"}),
        ("memory_write", "with a string for tags", {**write, "tags": "t"}),
        ("memory_write", "with a number for a tag", {**write, "tags": [1]}),
        ("memory_write", "with an empty tag", {**write, "tags": [""]}),
        ("memory_write", "with a bar in a tag", {**write, "tags": ["a|b"]}),
        ("memory_write", "with a tag that ends the comment", {**write, "tags": ["-->"]}),
        ("memory_write", "with a line end in a tag", {**write, "tags": ["a\nb"]}),
        ("memory_write", "with an undefined field", {**write, "kind": "daily"}),
        ("memory_write", "that is an array", []),
        ("memory_update", "with a target", {**write, "target": "summary"}),
        ("memory_read", "with an undefined field", {"key": "a", "file": "MEMORY.md"}),
        ("memory_search", "without a query", {}),
        ("memory_search", "with a limit of 0", {"query": "", "limit": 0}),
        ("memory_search", "with a limit of 101", {"query": "", "limit": 101}),
        ("memory_search", "with a fraction for a limit", {"query": "", "limit": 1.5}),
        ("memory_search", "with true for a limit", {"query": "", "limit": True}),
        ("memory_search", "with a bar in a tag", {"query": "", "tags": ["a|b"]}),
    )
    for function, what, request in bad:
        yield _vector(
            f"a {function} {what} is refused, and writes nothing",
            _call(function, request, contract.INVALID_INPUT),
            _search({"query": ""}),
        )


def _order() -> Iterator[Vector]:
    short = contract.BUFFER_TOO_SMALL
    length = len('{"key":"a","target":"daily","path":"2026/03/01.md"}')
    yield _vector(
        "a write whose reply does not fit is not made",
        _write("a", "", short, cap=length - 1),
        _search({"query": ""}),
        _write("a", cap=length),
        lines=[_wrote("a", 0)],
    )
    yield _vector(
        "a key that is taken comes before the room for a reply",
        _write("a", "x"),
        _write("a", "y", contract.MEMORY_CONFLICT, cap=0),
        lines=[_wrote("a", 1)],
    )
    yield _vector(
        "a bad request is refused before the key is looked for",
        _call("memory_update", {"key": "a", "content": "", "tags": ["|"]}, contract.INVALID_INPUT),
    )
    yield _vector(
        "a gene without a v2 id has no Markdown memory either, whatever it asks",
        _call("memory_read", [], contract.ACCESS_DENIED, who=_WITHOUT_ID),
        lines=[line("deny", entry("k"), _WITHOUT_ID, code="MEMORY_ACCESS_DENIED", but=_UNKNOWN)],
        telemetry=["rotifer.ext.markdown.memory_read"],
    )
    yield _vector(
        "a change whose audit line cannot be written is not made",
        _write("a", "", contract.STORAGE_ERROR),
        _search({"query": ""}),
        faults=["audit"],
    )
