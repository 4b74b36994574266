"""JSON memory: the host module `rotifer.ext.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from rotifer_host import contract
from rotifer_host.conformance.vectors.entries import NEIGHBOUR, OTHER, OWNER, Entry, Who, action_line, entry, line
from rotifer_host.conformance.vectors.steps import HOST_MODULES, Json, Vector, call_host_module

_NEEDS: Final = ["ext.json", "modules"]
_CITES: Final = HOST_MODULES("`rotifer.ext.json`")
_EMPTY: Final = {"revision": 0, "memory": None}
_WITHOUT_ID: Final = Who(None, "text.format")
_call: Final = partial(call_host_module, "json")
_UNKNOWN: Final[dict[str, object]] = {"key": None, "entryId": None, "category": None, "bytes": None}


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _replacing()
    yield from _conflicts()
    yield from _requests()
    yield from _limits()
    yield from _order()


def _get(gives: object, **how: Any) -> Json:  # noqa: ANN401 - as `_call` takes them
    return _call("getMemory", {}, gives, **how)


def _update(expected: object, memory: object, gives: object = None, **how: Any) -> Json:  # noqa: ANN401 - the same
    """Let a gene update, and get the next revision unless told otherwise."""
    if gives is None and isinstance(expected, int):
        gives = {"revision": expected + 1}
    return _call("updateMemory", {"expectedRevision": expected, "memory": memory}, gives, **how)


def _vector(  # noqa: PLR0913 - keywords, what a vector may have besides
    title: str,
    *steps: Json,
    updates: Sequence[Who] = (),
    audit: Sequence[Json] = (),
    entries: Sequence[Entry] = (),
    telemetry: Sequence[str] = (),
    faults: Sequence[str] = (),
) -> Vector:
    return Vector(
        title,
        _CITES,
        steps,
        entries,
        audit=[*(action_line("json.update", "memory", who) for who in updates), *audit],
        needs=[*_NEEDS, *(f"fault-{fault}" for fault in faults)],
        telemetry=telemetry,
        faults=faults,
    )


def _replacing() -> Iterator[Vector]:
    first, second = {"scene": "城门", "keyHolder": "a"}, {"keyHolder": "b"}
    yield _vector("a JSON memory that nobody wrote has revision 0 and is null", _get(_EMPTY))
    yield _vector(
        "an update gets the next revision, and is what is read then",
        _update(0, first),
        _get({"revision": 1, "memory": first}),
        updates=[OWNER],
    )
    yield _vector(
        "an update replaces the whole memory: what it leaves out is gone",
        _update(0, first),
        _update(1, second),
        _get({"revision": 2, "memory": second}),
        updates=[OWNER, OWNER],
    )
    yield _vector(
        "every gene of the agent has the same JSON memory, whatever its domain",
        _update(0, first),
        _get({"revision": 1, "memory": first}, who=OTHER),
        _update(1, {}, who=NEIGHBOUR),
        _get({"revision": 2, "memory": {}}),
        updates=[OWNER, NEIGHBOUR],
    )
    kept = entry("memory", "x")
    yield _vector(
        "an entry with the key memory has nothing to do with it",
        _update(0, first),
        entries=[kept],
        updates=[OWNER],
    )
    numbers: dict[str, object] = {"a": [1, -1, 1.5, True, False, None, "\u0001\U0001f511", {}, []]}
    yield _vector(
        "every JSON value comes back as it was",
        _update(0, numbers),
        _get({"revision": 1, "memory": numbers}),
        updates=[OWNER],
    )


def _conflicts() -> Iterator[Vector]:
    for what, expected in (("that is ahead", 1), ("as large as one can be", contract.MAX_JSON_REVISION - 1)):
        yield _vector(
            f"a revision {what} is a conflict, and nothing is written",
            _update(expected, {}, contract.MEMORY_CONFLICT),
            _get(_EMPTY),
        )
    yield _vector(
        "a revision that was overtaken is a conflict, also for who wrote last",
        _update(0, {"a": 1}),
        _update(0, {"a": 2}, contract.MEMORY_CONFLICT),
        _get({"revision": 1, "memory": {"a": 1}}),
        updates=[OWNER],
    )


def _requests() -> Iterator[Vector]:
    bad: Mapping[str, object] = {
        "without a revision": {"memory": {}},
        "without a memory": {"expectedRevision": 0},
        "with an undefined field": {"expectedRevision": 0, "memory": {}, "merge": True},
        "that is an array": [],
        "with a revision below 0": {"expectedRevision": -1, "memory": {}},
        "with a revision that is no safe integer after it": {
            "expectedRevision": contract.MAX_JSON_REVISION,
            "memory": {},
        },
        "with a fraction for a revision": {"expectedRevision": 0.5, "memory": {}},
        "with true for a revision": {"expectedRevision": True, "memory": {}},
        "with a string for a revision": {"expectedRevision": "0", "memory": {}},
        "with null for a revision": {"expectedRevision": None, "memory": {}},
        "with null for a memory": {"expectedRevision": 0, "memory": None},
        "with an array for a memory": {"expectedRevision": 0, "memory": [{}]},
        "with a string for a memory": {"expectedRevision": 0, "memory": "{}"},
    }
    for what, request in bad.items():
        yield _vector(
            f"an updateMemory {what} is refused",
            _call("updateMemory", request, contract.INVALID_INPUT),
            _get(_EMPTY),
        )
    yield _vector(
        "a getMemory takes no field: nobody else's memory can be named",
        _call("getMemory", {"agent": "other"}, contract.INVALID_INPUT),
    )
    yield _vector("a getMemory of null is refused", _call("getMemory", None, contract.INVALID_INPUT))


def _limits() -> Iterator[Vector]:
    most = contract.MAX_JSON_MEMORY_BYTES - len('{"a":""}')
    for what, text in (("ASCII", "x" * most), ("two-byte characters", "é" * (most // 2))):
        yield _vector(
            f"a memory of 65,536 bytes in {what} is allowed, and one byte more is not",
            _update(0, {"a": text}),
            _update(1, {"a": f"{text}x"}, contract.INVALID_INPUT),
            _get({"revision": 1, "memory": {"a": text}}),
            updates=[OWNER],
        )
    for what, inner in (("objects", _nested(31, "{}")), ("arrays", _nested(31, "[]"))):
        yield _vector(
            f"{what} may be nested 32 deep, the memory counted, and no deeper",
            _update(0, {"a": inner}),
            _update(1, {"a": {"a": inner}}, contract.INVALID_INPUT),
            updates=[OWNER],
        )


def _nested(depth: int, kind: str) -> object:
    inner: object = {} if kind == "{}" else []
    for _ in range(depth - 1):
        inner = {"a": inner} if kind == "{}" else [inner]
    return inner


def _order() -> Iterator[Vector]:
    yield _vector(
        "an update whose reply does not fit is not made",
        _update(0, {}, contract.BUFFER_TOO_SMALL, cap=13),
        _get(_EMPTY),
        _update(0, {}, cap=14),
        updates=[OWNER],
    )
    yield _vector(
        "a request that is refused is refused before the revision is looked at",
        _update(7, {"a": "x" * contract.MAX_JSON_MEMORY_BYTES}, contract.INVALID_INPUT),
    )
    yield _vector("a conflict comes before the room for a reply", _update(7, {}, contract.MEMORY_CONFLICT, cap=13))
    yield _vector(
        "a gene without a v2 id has no JSON memory either, whatever it asks",
        _call("getMemory", [], contract.ACCESS_DENIED, who=_WITHOUT_ID),
        audit=[line("deny", entry("k"), _WITHOUT_ID, code="MEMORY_ACCESS_DENIED", but=_UNKNOWN)],
        telemetry=["rotifer.ext.json.getMemory"],
    )
    yield _vector(
        "an update whose audit line cannot be written is not made",
        _update(0, {}, contract.STORAGE_ERROR),
        _get(_EMPTY),
        faults=["audit"],
    )
