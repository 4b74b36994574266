"""`writeMemory` creating entries, and rewriting one's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host import contract
from rotifer_host.conformance.vectors.entries import NEIGHBOUR, NOW, OWNER, STRANGER, entry, line
from rotifer_host.conformance.vectors.steps import ABI, API, Vector, clock, delete, query, read, run, write

_E: Final = entry("k", "first", "CACHE")
_LATER: Final = "2026-03-02T00:00:00.007Z"


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    made = entry("k", "x", "PREFERENCE", at=NOW)
    yield Vector(
        "a write creates an entry that belongs to its writer",
        API("Entries"),
        [run(OWNER, write(made))],
        after=[made],
        audit=[line("create", made, OWNER)],
    )
    for clock_text in ("2026-12-31T23:59:59.999Z", "2028-02-29T00:00:00.000Z", "2038-01-19T03:14:08.001Z"):
        one = entry("k", "x", at=clock_text)
        yield Vector(
            f"times are RFC 3339 in UTC with milliseconds: {clock_text}",
            ABI("Responses"),
            [run(OWNER, write(one))],
            after=[one],
            audit=[line("create", one, OWNER, at=clock_text)],
            now=clock_text,
        )
    rewritten = _E.but(value="second", updated=NOW)
    yield Vector(
        "rewriting replaces the value and keeps entryId, createdBy and createdAt",
        API("The four calls"),
        [run(OWNER, write(rewritten), read("k", rewritten))],
        [_E],
        after=[rewritten],
        audit=[line("update", rewritten, OWNER)],
    )
    for category in contract.CATEGORIES:
        moved = rewritten.but(category=category)
        yield Vector(
            f"rewriting a CACHE entry as {category} makes it one",
            ABI("Memory rules"),
            [run(OWNER, write(moved), query({"category": category}, [moved]))],
            [_E],
            after=[moved],
            audit=[line("update", moved, OWNER)],
        )
    same = _E.but(updated=NOW)
    yield Vector(
        "writing the same value again is a change",
        API("The four calls"),
        [run(OWNER, write(same))],
        [_E],
        after=[same],
        audit=[line("update", same, OWNER)],
    )
    by_other = _E.but(value="theirs", updated=NOW, reader=NEIGHBOUR)
    yield Vector(
        "who may write may rewrite: the entry keeps its creator and shows the writer",
        API("The four calls"),
        [run(NEIGHBOUR, write(by_other))],
        [_E],
        after=[by_other],
        audit=[line("update", by_other, NEIGHBOUR)],
    )
    mine, theirs = entry("k1", "x", at=NOW), entry("k2", "x", at=NOW, by=STRANGER)
    yield Vector(
        "genes of every domain write entries of their own",
        API("Prefix your keys"),
        [run(OWNER, write(mine)), run(STRANGER, write(theirs))],
        after=[mine, theirs],
        audit=[line("create", mine, OWNER), line("create", theirs, STRANGER)],
    )
    yield from _times_and_order()


def _times_and_order() -> Iterator[Vector]:
    first = entry("k", "1", at=NOW)
    second = first.but(value="2", updated=_LATER)
    yield Vector(
        "updatedAt follows the host's clock",
        API("Entries"),
        [run(OWNER, write(first)), clock(_LATER), run(OWNER, write(second))],
        after=[second],
        audit=[line("create", first, OWNER), line("update", second, OWNER, at=_LATER)],
    )
    earlier = "2026-02-01T00:00:00.000Z"
    back = first.but(value="2", updated=earlier)
    yield Vector(
        "a clock that was set back is followed too",
        ABI("Memory rules"),
        [run(OWNER, write(first)), clock(earlier), run(OWNER, write(back))],
        after=[back],
        audit=[line("create", first, OWNER), line("update", back, OWNER, at=earlier)],
    )
    old, new = entry("old", "1", at=NOW), entry("new", "2", at=earlier)
    yield Vector(
        "the entry changed last is the newest, whatever the clock says",
        ABI("Memory rules"),
        [run(OWNER, write(old)), clock(earlier), run(OWNER, write(new), query({}, [new, old]))],
        after=[old, new],
        audit=[line("create", old, OWNER), line("create", new, OWNER, at=earlier)],
    )
    again = old.but(value="3", updated=earlier)
    yield Vector(
        "an entry rewritten becomes the newest, whatever the clock says",
        ABI("Memory rules"),
        [
            run(OWNER, write(old)),
            clock(earlier),
            run(OWNER, write(new), write(again), query({}, [again, new])),
        ],
        after=[new, again],
        audit=[
            line("create", old, OWNER),
            line("create", new, OWNER, at=earlier),
            line("update", again, OWNER, at=earlier),
        ],
    )
    gone, back_again = entry("k", "1"), entry("k", "2", at=NOW, by=NEIGHBOUR)
    from_owner = line("delete", gone, OWNER)
    yield Vector(
        "a key written again after it was deleted is a new entry with the same id",
        API("Entries"),
        [run(OWNER, delete("k")), run(NEIGHBOUR, write(back_again))],
        [gone],
        after=[back_again],
        audit=[from_owner, line("create", back_again, NEIGHBOUR)],
    )
