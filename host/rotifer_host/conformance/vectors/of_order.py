"""The order of checks: with several faults in one call, the first decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rotifer_host.conformance.vectors.entries import (
    NEIGHBOUR,
    NOW,
    OWNER,
    Who,
    access,
    entry,
    line,
)
from rotifer_host.conformance.vectors.notation import times
from rotifer_host.conformance.vectors.steps import (
    ABI,
    Vector,
    bad,
    call,
    delete,
    denied,
    failure,
    full,
    missing,
    query,
    read,
    run,
    short,
    storage,
    write,
)

_CITES: Final = ABI("Order of checks")
_DENIED: Final = "MEMORY_ACCESS_DENIED"
_SIZE: Final = 64 << 20
_NOBODY: Final = Who(None, "text.format")
_PRIVATE: Final = entry("k", "x", access=access("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY"))


def _denial(who: Who, but: Mapping[str, object] | None = None) -> dict[str, object]:
    return line("deny", _PRIVATE, who, code=_DENIED, but=but)


_NOBODYS: Final = {"key": None, "entryId": None, "category": None, "bytes": None}


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _before_the_request()
    yield from _before_memory()
    yield from _before_the_change()


def _before_the_request() -> Iterator[Vector]:
    for what, made in (
        ("bad pointers", read("k", out=_SIZE, cap=8, fails=failure(-2, _DENIED, None))),
        ("a request that is not JSON", call("readMemory", "{", fails=denied())),
        ("a request of more than 2 MiB", call("readMemory", times(2_097_153, " "), fails=denied())),
        ("a missing entry", delete("none", fails=denied())),
        ("an out that is too small", read("k", cap=0, fails=failure(-2, _DENIED, None))),
    ):
        yield Vector(
            f"a caller without a v2 id comes before {what}",
            _CITES,
            [run(_NOBODY, made)],
            audit=[_denial(_NOBODY, _NOBODYS)],
            telemetry=[made["call"]],
        )
    yield Vector(
        "pointers come before the size of a request: out outside memory gets no payload",
        _CITES,
        [run(OWNER, call("readMemory", times(2_097_153, " "), out=_SIZE, cap=8, fails=failure(-10, "", None)))],
    )
    yield Vector(
        "a request is checked before the entry is looked for",
        _CITES,
        [run(OWNER, call("deleteMemory", {"key": "none", "x": 1}, fails=bad("x")))],
    )
    yield Vector(
        "a request is checked before access",
        _CITES,
        [run(NEIGHBOUR, write(_PRIVATE.but(category="NONE"), fails=bad("category")))],
        [_PRIVATE],
    )


def _before_memory() -> Iterator[Vector]:
    yield Vector(
        "existence comes before access: a missing key is null or -12 to everybody",
        _CITES,
        [run(NEIGHBOUR, read("none"), delete("none", fails=missing()))],
        [_PRIVATE],
    )
    yield Vector(
        "access comes before the category: a gene does not learn that of an entry it may not read",
        _CITES,
        [run(NEIGHBOUR, read("k", category="CONTEXT", fails=denied()), read("k", category="CACHE", fails=denied()))],
        [_PRIVATE],
        audit=[_denial(NEIGHBOUR)] * 2,
        telemetry=["readMemory"] * 2,
    )
    large = _PRIVATE.but(value="y" * 200)
    yield Vector(
        "access comes before quota",
        _CITES,
        [run(NEIGHBOUR, write(large, fails=denied()))],
        [_PRIVATE],
        audit=[_denial(NEIGHBOUR)],
        telemetry=["writeMemory"],
        quota=100,
    )
    shared = entry("new", "y" * 200, access=access(share="KNOWLEDGE_GENE"))
    yield Vector(
        "the data policy comes before quota",
        _CITES,
        [run(OWNER, write(shared, policies=True, fails=denied()))],
        audit=[line("deny", shared, OWNER, code=_DENIED)],
        telemetry=["writeMemory"],
        quota=100,
    )


def _before_the_change() -> Iterator[Vector]:
    yield Vector(
        "access comes before the room in out",
        _CITES,
        [run(NEIGHBOUR, read("k", cap=0, fails=failure(-2, _DENIED, None)))],
        [_PRIVATE],
        audit=[_denial(NEIGHBOUR)],
        telemetry=["readMemory"],
    )
    large = entry("new", "y" * 200)
    yield Vector(
        "quota comes before the room in out",
        _CITES,
        [run(OWNER, write(large, cap=300, fails=full(100)))],
        audit=[line("reject", large, OWNER, code="MEMORY_QUOTA_EXCEEDED")],
        quota=100,
    )
    third = times(349_525, "abc")
    five = [entry(f"big{number}", third) for number in range(5)]
    yield Vector(
        "the size of a query's result comes before the room in out",
        _CITES,
        [run(OWNER, query({}, cap=300, fails=bad("limit")))],
        five,
    )
    new = entry("new", "y", at=NOW)
    yield Vector(
        "the room in out comes before the audit line",
        _CITES,
        [run(OWNER, write(new, cap=300, fails=short(new, 300)), write(new, fails=storage()))],
        needs=["fault-audit"],
        faults=["audit"],
    )
    yield Vector(
        "existence comes before the audit line",
        _CITES,
        [run(OWNER, delete("none", fails=missing()))],
        needs=["fault-audit"],
        faults=["audit"],
    )
