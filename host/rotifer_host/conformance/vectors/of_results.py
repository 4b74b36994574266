"""Results: responses that fit to the byte, -1 without effect, and the error payload."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rotifer_host.conformance.vectors.entries import (
    NEIGHBOUR,
    NOW,
    OWNER,
    Entry,
    access,
    compact,
    entry,
    line,
)
from rotifer_host.conformance.vectors.notation import expand
from rotifer_host.conformance.vectors.steps import (
    ABI,
    API,
    Json,
    Vector,
    call,
    delete,
    failure,
    query,
    read,
    run,
    short,
    write,
)

_CITES: Final = ABI("Results")
_E: Final = entry("k", "x")
_NEW: Final = entry("new", "y", at=NOW)
_DENIED: Final = "MEMORY_ACCESS_DENIED"
_PRIVATE: Final = entry("p", "x", access=access("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY"))


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _fits()
    yield from _too_small()
    yield from _payloads()


def _size(one: Entry) -> int:
    return len(expand(one.text()))


def _fits() -> Iterator[Vector]:
    cites = API("From a WASM module")
    yield Vector("a read that fits out to the byte succeeds", cites, [run(OWNER, read("k", _E, cap=_size(_E)))], [_E])
    yield Vector(
        "a write whose response fits to the byte succeeds",
        cites,
        [run(OWNER, write(_NEW, cap=_size(_NEW)))],
        after=[_NEW],
        audit=[line("create", _NEW, OWNER)],
    )
    yield Vector(
        "a query that fits out to the byte succeeds", cites, [run(OWNER, query({}, [_E], cap=_size(_E) + 2))], [_E]
    )
    yield Vector("null fits into four bytes", cites, [run(OWNER, read("k", cap=4))])
    yield Vector("an empty array fits into two bytes", cites, [run(OWNER, query({}, cap=2))])
    yield Vector(
        "nothing is written behind a response: no NUL, no padding",
        _CITES,
        [run(OWNER, read("none", cap=64), query({"keyPrefix": "none"}, cap=64), read("k", _E, cap=_size(_E) + 1))],
        [_E],
    )


def _too_small() -> Iterator[Vector]:
    size = _size(_E)
    yield Vector(
        "a read one byte short is -1, and says how much it needs",
        _CITES,
        [run(OWNER, read("k", cap=size - 1, fails=short(_E, size - 1)))],
        [_E],
    )
    yield Vector("null does not fit into three bytes", _CITES, [run(OWNER, read("k", cap=3, fails=_nothing(-1)))])
    yield Vector(
        "null of another category does not fit into three bytes",
        _CITES,
        [run(OWNER, read("k", category="CONTEXT", cap=3, fails=_nothing(-1)))],
        [_E],
    )
    yield Vector(
        "an empty array does not fit into one byte", _CITES, [run(OWNER, query({}, cap=1, fails=_nothing(-1)))]
    )
    yield Vector("nothing fits into nothing", _CITES, [run(OWNER, read("k", cap=0, fails=_nothing(-1)))], [_E])
    yield Vector(
        "a query one byte short is -1, never a shorter array",
        _CITES,
        [run(OWNER, query({}, cap=size + 1, fails=short([_E], size + 1)))],
        [_E],
    )
    yield Vector(
        "a read that does not fit is no access",
        _CITES,
        [run(NEIGHBOUR, read("k", cap=300, fails=short(_E, 300)), query({}, [_E]))],
        [_E],
    )
    new_size = _size(_NEW)
    yield Vector(
        "a write one byte short has created nothing",
        _CITES,
        [run(OWNER, write(_NEW, cap=new_size - 1, fails=short(_NEW, new_size - 1)), read("new"))],
    )
    rewritten = _E.but(value="zz", updated=NOW)
    yield Vector(
        "a rewrite that does not fit has changed nothing",
        _CITES,
        [run(OWNER, write(rewritten, cap=200, fails=short(rewritten, 200)), read("k", _E))],
        [_E],
    )
    yield Vector(
        "a write that does not fit has evicted nothing",
        _CITES,
        [run(OWNER, write(_NEW.but(value="y" * 40), cap=200, fails=short(_NEW.but(value="y" * 40), 200)))],
        [_E.but(value="x" * 80)],
        quota=100,
    )
    yield Vector(
        "after -1 the same call with the room that was asked for succeeds",
        _CITES,
        [run(OWNER, write(_NEW, cap=200, fails=short(_NEW, 200)), write(_NEW, cap=new_size))],
        after=[_NEW],
        audit=[line("create", _NEW, OWNER)],
    )
    yield Vector(
        "a deletion never is -1",
        ABI("Responses"),
        [run(OWNER, delete("k", cap=0, gives=""), read("k"))],
        [_E],
        after=[],
        audit=[line("delete", _E, OWNER)],
    )


def _nothing(result: int) -> Json:
    """Return a failure whose payload does not fit even with an empty message."""
    codes = {-1: "MEMORY_BUFFER_TOO_SMALL", -2: _DENIED, -10: "MEMORY_INVALID_INPUT", -12: "MEMORY_NOT_FOUND"}
    return failure(result, codes[result], None)


def _payload(code: str, message: str) -> int:
    return len(compact({"__rotifer_error": {"code": code, "message": message}}))


def _payloads() -> Iterator[Vector]:
    """The message of -1 is fixed to the byte, so its payload can be measured."""
    code = "MEMORY_BUFFER_TOO_SMALL"
    size = _size(_E)
    whole = _payload(code, f"response needs {size} bytes, out_cap is 100")
    empty = _payload(code, "")
    table = (
        ("whole, and a NUL after it, with one byte to spare", whole + 1, True),
        ("whole, and no NUL, when it fits to the byte", whole, True),
        ("with an empty message when the whole is one byte too long", whole - 1, False),
        ("with an empty message and a NUL", empty + 1, False),
        ("with an empty message and no NUL, when that fits to the byte", empty, False),
    )
    for what, cap, complete in table:
        yield Vector(
            f"the error payload is {what}",
            _CITES,
            [run(OWNER, read("k", cap=cap, fails=short(_E, cap, whole=complete)))],
            [_E],
        )
    yield Vector(
        "without room for the shortest payload out stays untouched",
        _CITES,
        [run(OWNER, read("k", cap=empty - 1, fails=_nothing(-1)))],
        [_E],
    )
    calls: dict[int, tuple[str, Callable[[int, Json], Json]]] = {
        -2: ("MEMORY_ACCESS_DENIED", lambda cap, fails: read("p", cap=cap, fails=fails)),
        -10: ("MEMORY_INVALID_INPUT", lambda cap, fails: call("readMemory", "{", cap=cap, fails=fails)),
        -12: ("MEMORY_NOT_FOUND", lambda cap, fails: delete("none", cap=cap, fails=fails)),
    }
    for result, (name, made) in calls.items():
        room = _payload(name, "")
        message = {"is": ""}
        denial = [line("deny", _PRIVATE, NEIGHBOUR, code=_DENIED)] if result == -2 else []  # noqa: PLR2004
        events = ["readMemory"] * len(denial)
        yield Vector(
            f"the payload of {result} has an empty message where only that fits",
            _CITES,
            [run(NEIGHBOUR, made(room, failure(result, name, message)))],
            [_PRIVATE],
            audit=denial,
            telemetry=events,
        )
        yield Vector(
            f"the payload of {result} is left out where not even that fits",
            _CITES,
            [run(NEIGHBOUR, made(room - 1, _nothing(result)), made(0, _nothing(result)))],
            [_PRIVATE],
            audit=denial * 2,
            telemetry=events * 2,
        )
