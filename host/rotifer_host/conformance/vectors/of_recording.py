"""What gets recorded, and what happens when it cannot be: audit lines, telemetry, failing disks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host.conformance.vectors.entries import (
    NEIGHBOUR,
    NOW,
    OWNER,
    STRANGER,
    access,
    entry,
    line,
    retention,
)
from rotifer_host.conformance.vectors.steps import (
    ABI,
    API,
    Vector,
    delete,
    denied,
    full,
    missing,
    query,
    read,
    run,
    storage,
    write,
)

_CITES: Final = API("What gets recorded")
_AUDIT: Final = ["audit"]
_E: Final = entry("k", "secret", "PATTERN")
_NEW: Final = entry("new", "secret", at=NOW)
_PRIVATE: Final = entry("p", "x", access=access("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY"))
_EXPIRES: Final = entry("old", "x", at="2026-02-01T00:00:00.000Z", retention=retention(1))
_DENIED: Final = "MEMORY_ACCESS_DENIED"


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _lines()
    yield from _telemetry()
    yield from _without_audit()
    yield from _without_store()


def _lines() -> Iterator[Vector]:
    rewritten = _E.but(value="other", category="CONTEXT", updated=NOW, reader=NEIGHBOUR)
    yield Vector(
        "every change has one line, in the order of the changes, with key, category and size, never the value",
        _CITES,
        [run(OWNER, write(_NEW)), run(NEIGHBOUR, write(rewritten), delete("new"))],
        [_E],
        after=[rewritten],
        audit=[
            line("create", _NEW, OWNER),
            line("update", rewritten, NEIGHBOUR),
            line("delete", _NEW, NEIGHBOUR),
        ],
        needs=_AUDIT,
    )
    yield Vector(
        "a write refused for lack of space has a line with its code",
        _CITES,
        [run(OWNER, write(_NEW, fails=full(5)))],
        audit=[line("reject", _NEW, OWNER, code="MEMORY_QUOTA_EXCEEDED")],
        quota=5,
        needs=_AUDIT,
    )
    yield Vector(
        "every refused access has a line with its code",
        _CITES,
        [
            run(
                STRANGER,
                read("p", fails=denied()),
                write(_PRIVATE, fails=denied()),
                delete("p", fails=denied()),
                read("p", fails=denied()),
            )
        ],
        [_PRIVATE],
        audit=[line("deny", _PRIVATE, STRANGER, code=_DENIED)] * 4,
        telemetry=["readMemory", "writeMemory", "deleteMemory", "readMemory"],
        needs=_AUDIT,
    )
    yield Vector(
        "a query that leaves entries out is no refused access",
        ABI("Memory rules"),
        [run(STRANGER, query({}))],
        [_PRIVATE],
        needs=_AUDIT,
    )
    yield Vector(
        "what is missing is not recorded",
        _CITES,
        [run(OWNER, read("none"), delete("none", fails=missing()))],
        needs=_AUDIT,
    )
    yield Vector(
        "an expiry is recorded as the host's, with the gene whose call met it",
        ABI("Audit lines"),
        [run(NEIGHBOUR, query({}))],
        [_EXPIRES],
        after=[],
        audit=[line("expire", _EXPIRES, NEIGHBOUR)],
        needs=_AUDIT,
    )
    quoted = entry('"\n\\é\x1b', "x", at=NOW)
    yield Vector(
        "keys are recorded as they are, whatever is in them",
        ABI("Audit lines"),
        [run(OWNER, write(quoted))],
        after=[quoted],
        audit=[line("create", quoted, OWNER)],
        needs=_AUDIT,
    )


def _telemetry() -> Iterator[Vector]:
    yield Vector(
        "a refused access is one telemetry event, other failures are none",
        _CITES,
        [run(NEIGHBOUR, read("p", fails=denied()), delete("none", fails=missing()), write(_NEW, fails=full(5)))],
        [_PRIVATE],
        audit=[
            line("deny", _PRIVATE, NEIGHBOUR, code=_DENIED),
            line("reject", _NEW, NEIGHBOUR, code="MEMORY_QUOTA_EXCEEDED"),
        ],
        telemetry=["readMemory"],
        quota=5,
        needs=["telemetry"],
    )


def _without_audit() -> Iterator[Vector]:
    needs, faults = ["fault-audit"], ["audit"]
    for what, made, state in (
        ("create", write(_NEW, fails=storage()), []),
        ("update", write(_E, fails=storage()), [_E]),
        ("delete", delete("k", fails=storage()), [_E]),
    ):
        yield Vector(
            f"when the line of a {what} cannot be written, it does not happen and is -13",
            _CITES,
            [run(OWNER, made)],
            state,
            needs=needs,
            faults=faults,
        )
    yield Vector(
        "when the lines of an eviction cannot be written, nothing is evicted and the write is -13",
        _CITES,
        [run(OWNER, write(_NEW, fails=storage()))],
        [entry("large", "x" * 90)],
        quota=100,
        needs=needs,
        faults=faults,
    )
    yield Vector(
        "reads and queries need no line, and answer",
        _CITES,
        [run(OWNER, read("k", _E), query({}, [_E]), read("none"))],
        [_E],
        needs=needs,
        faults=faults,
    )
    yield Vector(
        "a refusal stays the refusal it is when its line cannot be written",
        ABI("Audit lines"),
        [
            run(
                NEIGHBOUR,
                read("p", fails=denied()),
                write(_NEW.but(value="y" * 100), fails=full(90)),
                delete("none", fails=missing()),
            )
        ],
        [_PRIVATE],
        telemetry=["readMemory"],
        quota=90,
        needs=needs,
        faults=faults,
    )
    yield Vector(
        "expired entries whose lines cannot be written stay, hidden from reads; writes are -13",
        ABI("Memory rules"),
        [
            run(
                OWNER,
                read("old"),
                query({}, [_E]),
                write(_NEW, fails=storage()),
                delete("k", fails=storage()),
                delete("old", fails=storage()),
            )
        ],
        [_EXPIRES, _E],
        needs=needs,
        faults=faults,
    )


def _without_store() -> Iterator[Vector]:
    needs, faults = ["fault-store"], ["store"]
    for what, made, audited in (
        ("create", write(_NEW, fails=storage()), _NEW),
        ("delete", delete("k", fails=storage()), _E),
        ("update", write(_E, fails=storage()), _E),
    ):
        yield Vector(
            f"a {what} that could not be saved is -13, and its line is followed by memory.abort",
            ABI("Audit lines"),
            [run(OWNER, made)],
            [_E],
            audit=[line(what, audited, OWNER), line("abort", audited, OWNER)],
            needs=needs,
            faults=faults,
        )
    victim = entry("large", "x" * 90)
    yield Vector(
        "an eviction that could not be saved has not happened, and every line is taken back",
        ABI("Audit lines"),
        [run(OWNER, write(_NEW, fails=storage()))],
        [victim],
        audit=[
            line("evict", victim, OWNER),
            line("create", _NEW, OWNER),
            line("abort", victim, OWNER, but={"actor": "host"}),
            line("abort", _NEW, OWNER),
        ],
        quota=100,
        needs=needs,
        faults=faults,
    )
    yield Vector(
        "who has read an entry need not be saved: reads answer, and nothing else changes",
        ABI("Memory rules"),
        [run(NEIGHBOUR, read("k", _E.read_by(NEIGHBOUR)), query({}, [_E.read_by(NEIGHBOUR)]))],
        [_E],
        after=[_E.but(reader=None)],
        needs=needs,
        faults=faults,
    )
