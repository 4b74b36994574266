"""`readMemory`, and who is shown to have accessed an entry last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host import contract
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
from rotifer_host.conformance.vectors.steps import ABI, API, Vector, denied, query, read, run, write

_CITES: Final = API("The four calls")
_E: Final = entry("k", "x", "PATTERN")


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield Vector("a key that was never written gives null", API("From a WASM module"), [run(OWNER, read("k"))])
    yield Vector("another key gives null", _CITES, [run(OWNER, read("k2"), read("K"), read("k "))], [_E])
    yield Vector("an entry is given as it was written", API("Entries"), [run(OWNER, read("k", _E))], [_E])
    for category in contract.CATEGORIES:
        one = entry("k", "x", category)
        yield Vector(
            f"a read of {category} entries matches one", _CITES, [run(OWNER, read("k", one, category=category))], [one]
        )
        yield Vector(
            f"a read of another category than {category} gives null",
            _CITES,
            [run(OWNER, *(read("k", category=other) for other in contract.CATEGORIES if other != category))],
            [one],
        )
    everything = entry(
        "k", "x", "CONTEXT", access=access("ALL_GENES", "CREATOR_GENE_ONLY"), retention=retention(9, delete=True)
    )
    yield Vector("policies are given as they are stored", _CITES, [run(OWNER, read("k", everything))], [everything])
    yield from _last_reader()
    yield from _plain_reads()


def _last_reader() -> Iterator[Vector]:
    cites = API("Entries")
    seen = _E.read_by(NEIGHBOUR)
    yield Vector(
        "a read shows the reader as lastAccessedBy, and it stays",
        cites,
        [run(NEIGHBOUR, read("k", seen)), run(OWNER, query({}, [seen]))],
        [_E],
        after=[seen],
    )
    yield Vector(
        "a query does not change lastAccessedBy", cites, [run(NEIGHBOUR, query({}, [_E]), query({}, [_E]))], [_E]
    )
    yield Vector(
        "a query of the same run shows who has read an entry",
        ABI("Memory rules"),
        [run(NEIGHBOUR, read("k", seen), query({}, [seen]))],
        [_E],
        after=[seen],
    )
    yield Vector(
        "a read whose category does not match is no access",
        ABI("Memory rules"),
        [run(NEIGHBOUR, read("k", category="CACHE"), query({}, [_E]))],
        [_E],
    )
    private = entry("k", "x", access=access("CREATOR_GENE_ONLY"))
    yield Vector(
        "a refused read is no access",
        ABI("Memory rules"),
        [run(NEIGHBOUR, read("k", fails=denied())), run(OWNER, query({}, [private]))],
        [private],
        audit=[line("deny", private, NEIGHBOUR, code="MEMORY_ACCESS_DENIED")],
        telemetry=["readMemory"],
    )
    rewritten = _E.but(value="y", updated=NOW, reader=OWNER)
    yield Vector(
        "a write after a read makes the writer the last",
        cites,
        [run(NEIGHBOUR, read("k", seen)), run(OWNER, write(rewritten), query({}, [rewritten]))],
        [_E],
        after=[rewritten],
        audit=[line("update", rewritten, OWNER)],
    )
    open_to_all = entry("k", "x", access=access("ALL_GENES"))
    yield Vector(
        "of several readers the last is kept",
        cites,
        [
            run(NEIGHBOUR, read("k", open_to_all.read_by(NEIGHBOUR))),
            run(STRANGER, read("k", open_to_all.read_by(STRANGER))),
            run(OWNER, query({}, [open_to_all.read_by(STRANGER)])),
        ],
        [open_to_all],
        after=[open_to_all.read_by(STRANGER)],
    )
    other = entry("other", "x", at=NOW, by=NEIGHBOUR)
    yield Vector(
        "who has read is saved with the run's next change, and changes neither time nor order",
        ABI("Memory rules"),
        [run(NEIGHBOUR, read("k", seen), write(other), query({}, [other, seen]))],
        [_E],
        after=[seen, other],
        audit=[line("create", other, NEIGHBOUR)],
    )
    first, second = entry("1"), entry("2")
    yield Vector(
        "a read does not make an entry newer",
        API("Quota and cleanup"),
        [
            run(NEIGHBOUR, read("1", first.read_by(NEIGHBOUR))),
            run(OWNER, query({}, [second, first.read_by(NEIGHBOUR)])),
        ],
        [first, second],
        after=[first.read_by(NEIGHBOUR), second],
    )


def _plain_reads() -> Iterator[Vector]:
    yield Vector(
        "plain reads and queries write no audit line",
        API("What gets recorded"),
        [run(OWNER, read("k", _E), read("none"), query({}, [_E]))],
        [_E],
        needs=["audit"],
    )
    yield Vector(
        "a read repeated gives the same",
        _CITES,
        [run(OWNER, read("k", _E), read("k", _E), read("k", _E, repeat=100))],
        [_E],
    )
    made = entry("k", "1", at=NOW)
    again = made.but(value="2")
    yield Vector(
        "a call sees what the calls before it changed",
        ABI("Isolation"),
        [run(OWNER, read("k"), write(made), read("k", made), write(again), read("k", again))],
        after=[again],
        audit=[line("create", made, OWNER), line("update", again, OWNER)],
    )
