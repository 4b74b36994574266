"""How long entries are kept: expiry to the second, on every path at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host.conformance.vectors.entries import NEIGHBOUR, OWNER, STRANGER, access, entry, line, retention
from rotifer_host.conformance.vectors.steps import (
    ABI,
    API,
    Vector,
    bad,
    clock,
    delete,
    denied,
    missing,
    query,
    read,
    run,
    short,
    write,
)

_CITES: Final = API("How long entries are kept")
_WRITTEN: Final = "2026-03-01T12:00:00.999Z"
_BEFORE: Final = "2026-03-02T11:59:59.999Z"
_EXPIRY: Final = "2026-03-02T12:00:00.000Z"
_E: Final = entry("k", "old", at=_WRITTEN, retention=retention(1))
_STAYS: Final = entry("stays", "x", at=_WRITTEN)
_EXPIRED: Final = [line("expire", _E, OWNER, at=_EXPIRY)]


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _moment()
    yield from _every_path()
    yield from _whose_limit()
    yield from _whatever_the_call_returns()


def _moment() -> Iterator[Vector]:
    yield Vector(
        "an entry is there in the last second before its time",
        ABI("Memory rules"),
        [run(OWNER, read("k", _E), query({}, [_E]))],
        [_E],
        now=_BEFORE,
    )
    yield Vector(
        "an entry is gone when the clock's second reaches that of updatedAt plus its days",
        ABI("Memory rules"),
        [run(OWNER, read("k"))],
        [_E],
        after=[],
        audit=_EXPIRED,
        now=_EXPIRY,
    )
    created_long_ago = _E.but(created="2020-01-01T00:00:00.000Z")
    yield Vector(
        "the count is from updatedAt, not createdAt",
        _CITES,
        [run(OWNER, read("k", created_long_ago))],
        [created_long_ago],
        now=_BEFORE,
    )
    rewritten = _E.but(value="new", updated=_BEFORE)
    much_later = "2026-03-03T11:59:58.000Z"
    yield Vector(
        "rewriting an entry starts the count again",
        _CITES,
        [run(OWNER, write(rewritten)), clock(much_later), run(OWNER, read("k", rewritten))],
        [_E],
        after=[rewritten],
        audit=[line("update", rewritten, OWNER, at=_BEFORE)],
        now=_BEFORE,
    )
    seen = _E.read_by(NEIGHBOUR)
    yield Vector(
        "reading an entry does not start the count again",
        _CITES,
        [run(NEIGHBOUR, read("k", seen)), clock(_EXPIRY), run(OWNER, read("k"))],
        [_E],
        after=[],
        audit=_EXPIRED,
        now=_BEFORE,
    )
    longest = entry("k", "x", at=_WRITTEN, retention=retention(2_147_483_647))
    yield Vector(
        "the longest retention outlives the calendar",
        _CITES,
        [run(OWNER, read("k", longest))],
        [longest],
        now="9999-12-31T23:59:59.999Z",
    )
    month = entry("k", "x", at="2026-01-31T00:00:00.000Z", retention=retention(30))
    yield Vector(
        "a day is 86,400 seconds, whatever the month",
        ABI("Memory rules"),
        [run(OWNER, read("k", month)), clock("2026-03-02T00:00:00.000Z"), run(OWNER, read("k"))],
        [month],
        after=[],
        audit=[line("expire", month, OWNER, at="2026-03-02T00:00:00.000Z")],
        now="2026-03-01T23:59:59.000Z",
    )


def _every_path() -> Iterator[Vector]:
    new = entry("k", "new", at=_EXPIRY, by=NEIGHBOUR)
    expired_for_neighbour = [line("expire", _E, NEIGHBOUR, at=_EXPIRY)]
    yield Vector(
        "a query leaves an expired entry out, and removes it",
        _CITES,
        [run(OWNER, query({}, [_STAYS]))],
        [_E, _STAYS],
        after=[_STAYS],
        audit=_EXPIRED,
        now=_EXPIRY,
    )
    yield Vector(
        "writing the key of an expired entry creates a new one, of the new creator",
        _CITES,
        [run(NEIGHBOUR, write(new))],
        [_E],
        after=[new],
        audit=[*expired_for_neighbour, line("create", new, NEIGHBOUR, at=_EXPIRY)],
        now=_EXPIRY,
    )
    private = _E.but(access=access("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY"))
    yield Vector(
        "an expired entry protects nothing: its key may be read and written by anybody",
        _CITES,
        [run(NEIGHBOUR, read("k"), write(new))],
        [private],
        after=[new],
        audit=[line("expire", private, NEIGHBOUR, at=_EXPIRY), line("create", new, NEIGHBOUR, at=_EXPIRY)],
        now=_EXPIRY,
    )
    yield Vector(
        "deleting an expired entry finds nothing",
        _CITES,
        [run(OWNER, delete("k", fails=missing()))],
        [_E],
        after=[],
        audit=_EXPIRED,
        now=_EXPIRY,
    )
    big = entry("big", "x" * 80, "PREFERENCE", at=_WRITTEN, retention=retention(1))
    room = entry("new", "y" * 80, at=_EXPIRY)
    yield Vector(
        "an expired entry does not count towards the quota, not even a PREFERENCE",
        _CITES,
        [run(OWNER, write(room))],
        [big],
        after=[room],
        audit=[line("expire", big, OWNER, at=_EXPIRY), line("create", room, OWNER, at=_EXPIRY)],
        quota=100,
        now=_EXPIRY,
    )
    three = [entry(f"k{number}", "x", at=_WRITTEN, retention=retention(1)) for number in range(3)]
    yield Vector(
        "any call on the memory removes everything that has expired",
        _CITES,
        [run(OWNER, read("stays", _STAYS))],
        [*three, _STAYS],
        after=[_STAYS],
        audit=[line("expire", one, OWNER, at=_EXPIRY) for one in three],
        now=_EXPIRY,
    )
    first = entry("k1", "x", at="2026-02-27T12:00:00.000Z", retention=retention(2))
    last = entry("k2", "x", at="2026-02-27T11:00:00.000Z", retention=retention(3))
    yield Vector(
        "each entry expires by its own policy",
        _CITES,
        [
            run(OWNER, query({}, [last, first])),
            clock("2026-03-01T12:00:00.000Z"),
            run(OWNER, query({}, [last])),
            clock("2026-03-02T11:00:00.000Z"),
            run(OWNER, query({})),
        ],
        [first, last],
        after=[],
        audit=[
            line("expire", first, OWNER, at="2026-03-01T12:00:00.000Z"),
            line("expire", last, OWNER, at="2026-03-02T11:00:00.000Z"),
        ],
        now="2026-03-01T11:59:59.000Z",
    )


def _whose_limit() -> Iterator[Vector]:
    forever = "2126-01-01T00:00:00.000Z"
    follows = entry("k", "x", at=_WRITTEN)
    own = entry("k", "x", at=_WRITTEN, retention=retention(None))
    yield Vector(
        "an entry that follows a data policy without a limit never expires",
        _CITES,
        [run(OWNER, read("k", follows))],
        [follows],
        now=forever,
    )
    yield Vector(
        "an entry that follows a data policy of one day expires by it",
        _CITES,
        [run(OWNER, read("k"))],
        [follows],
        after=[],
        audit=[line("expire", follows, OWNER, at=_EXPIRY)],
        policy=retention(1),
        now=_EXPIRY,
    )
    yield Vector(
        "an entry whose own policy is for ever never expires, whatever the data policy",
        _CITES,
        [run(OWNER, read("k", own))],
        [own],
        policy=retention(1),
        now=forever,
    )
    yield Vector(
        "a shorter policy of the entry's own counts before the agent's",
        _CITES,
        [run(OWNER, read("k"))],
        [_E],
        after=[],
        audit=_EXPIRED,
        policy=retention(30),
        now=_EXPIRY,
    )
    longer = entry("k", "x", at=_WRITTEN, retention=retention(30))
    yield Vector(
        "a longer policy that was stored before counts before the agent's",
        _CITES,
        [run(OWNER, read("k", longer))],
        [longer],
        policy=retention(1),
        now=_EXPIRY,
    )
    flagged = entry("k", "x", at=_WRITTEN, retention=retention(None, delete=True))
    yield Vector(
        "autoDeleteOnTermination deletes nothing by itself",
        _CITES,
        [run(OWNER, read("k", flagged))],
        [flagged],
        now=forever,
    )
    reset = _E.but(value="y", updated=_BEFORE, retention=None)
    yield Vector(
        "an entry that was reset to follow the agent no longer expires by its old policy",
        API("The four calls"),
        [
            run(OWNER, write(reset, policies=True)),
            clock("2027-01-01T00:00:00.000Z"),
            run(OWNER, read("k", reset)),
        ],
        [_E],
        after=[reset],
        audit=[line("update", reset, OWNER, at=_BEFORE)],
        now=_BEFORE,
    )


def _whatever_the_call_returns() -> Iterator[Vector]:
    cites = ABI("Memory rules")
    by_stranger = line("expire", _E, STRANGER, at=_EXPIRY)
    yield Vector(
        "the removal stays when the call that met it is refused",
        cites,
        [run(STRANGER, write(_STAYS, fails=denied()))],
        [_E, _STAYS],
        after=[_STAYS],
        audit=[by_stranger, line("deny", _STAYS, STRANGER, at=_EXPIRY, code="MEMORY_ACCESS_DENIED")],
        telemetry=["writeMemory"],
        now=_EXPIRY,
    )
    rewritten = _STAYS.but(value="y", updated=_EXPIRY)
    yield Vector(
        "the removal stays when the response does not fit",
        cites,
        [run(OWNER, write(rewritten, cap=300, fails=short(rewritten, 300)))],
        [_E, _STAYS],
        after=[_STAYS],
        audit=_EXPIRED,
        now=_EXPIRY,
    )
    yield Vector(
        "a request that is refused for itself meets no entry",
        ABI("Order of checks"),
        [run(OWNER, read("", fails=bad("key")))],
        [_E],
        now=_EXPIRY,
    )
