"""Quota and cleanup: what counts, what is evicted, in which order, and when that is not enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rotifer_host.conformance.vectors.entries import (
    NEIGHBOUR,
    NOW,
    OWNER,
    STRANGER,
    Entry,
    Many,
    access,
    entry,
    line,
)
from rotifer_host.conformance.vectors.steps import ABI, API, Vector, bad, full, query_keys, read, run, write

_CITES: Final = API("Quota and cleanup")
_FULL: Final = "MEMORY_QUOTA_EXCEEDED"


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _counted()
    yield from _order()
    yield from _not_enough()
    yield from _own_entry()
    yield from _entry_limit()


def _weighing(key: str, weight: int, category: str = "CACHE", **fields: Any) -> Entry:  # noqa: ANN401
    """Return an entry of so many bytes, key and value."""
    return entry(key, "x" * (weight - len(key.encode())), category, **fields)


def _fits(title: str, state: Sequence[Entry], new: Entry, evicted: Sequence[Entry] = (), *, quota: int = 100) -> Vector:
    action = "update" if any(one.key == new.key for one in state) else "create"
    stays = [one for one in state if one not in evicted and one.key != new.key]
    return Vector(
        title,
        _CITES,
        [run(OWNER, write(new))],
        state,
        after=[*stays, new],
        audit=[*(line("evict", one, OWNER) for one in evicted), line(action, new, OWNER)],
        quota=quota,
    )


def _does_not_fit(title: str, state: Sequence[Entry], new: Entry, *numbers: int, quota: int = 100) -> Vector:
    return Vector(
        title,
        _CITES,
        [run(OWNER, write(new, fails=full(quota, *numbers)))],
        state,
        audit=[line("reject", new, OWNER, code=_FULL)],
        quota=quota,
    )


def _counted() -> Iterator[Vector]:
    new = _weighing("new", 60, at=NOW)
    keeps = _weighing("old", 40)
    yield _fits("a write that fills the quota to the byte evicts nothing", [keeps], new)
    over = _weighing("old", 41)
    yield _fits("one byte more and there is an eviction", [over], new, [over])
    keys = _weighing("k" * 41, 41)
    yield _fits("keys count as values do", [keys], new, [keys])
    accents = _weighing("é" * 20 + "e", 41)
    yield _fits("keys count in bytes of UTF-8, not in characters", [accents], new, [accents])
    exact = _weighing("k", 100, at=NOW)
    yield _fits("an entry may be as large as the quota", [], exact)
    yield _does_not_fit("an entry larger than the quota does not fit", [], _weighing("k", 101), 0, 101)
    raw = entry("k", "x" * 30, at=NOW)
    yield _fits("values count in raw bytes, not in base64", [], raw, quota=31)


def _order() -> Iterator[Vector]:
    for first, second in (("CACHE", "PATTERN"), ("PATTERN", "CONTEXT"), ("CACHE", "CONTEXT")):
        older, newer = _weighing("1", 40, second), _weighing("2", 40, first)
        yield _fits(
            f"{first} goes before {second}, even when it was updated later",
            [older, newer],
            _weighing("new", 40, at=NOW),
            [newer],
        )
    old, new = _weighing("1", 40), _weighing("2", 40)
    for category in ("CACHE", "PATTERN", "CONTEXT"):
        state = [old.but(category=category), new.but(category=category)]
        yield _fits(
            f"within {category} the entry updated longest ago goes first",
            state,
            _weighing("new", 40, at=NOW),
            state[:1],
        )
    late, early = _weighing("1", 40, at="2026-03-01T09:00:00.000Z"), _weighing("2", 40, at="2026-03-01T07:00:00.000Z")
    yield _fits(
        "longest ago is told by the order of changes, not by the clock",
        [late, early],
        _weighing("new", 40, at=NOW),
        [late],
    )
    created_first = _weighing("1", 40).but(updated="2026-03-01T09:00:00.000Z")
    yield _fits(
        "an entry rewritten recently counts as new",
        [new, created_first],
        _weighing("new", 40, at=NOW),
        [new],
    )
    three = [_weighing(key, 30, category) for key, category in (("c", "CONTEXT"), ("p", "PATTERN"), ("k", "CACHE"))]
    yield _fits(
        "as many go as are needed, across categories in their order",
        three,
        _weighing("new", 70, at=NOW),
        [three[2], three[1]],
    )
    yield _fits(
        "everything but PREFERENCE may go", three, _weighing("new", 100, at=NOW), [three[2], three[1], three[0]]
    )
    ten = [_weighing(str(number), 10) for number in range(10)]
    yield _fits("no more go than are needed", ten, _weighing("n", 11, at=NOW), ten[:2])
    foreign = _weighing("1", 60, by=STRANGER, access=access("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY"))
    yield Vector(
        "cleanup does not look at who wrote an entry, nor at who may",
        API("Things to know before you deploy"),
        [run(OWNER, write(_weighing("new", 60, at=NOW)))],
        [foreign],
        after=[_weighing("new", 60, at=NOW)],
        audit=[line("evict", foreign, OWNER), line("create", _weighing("new", 60, at=NOW), OWNER)],
        quota=100,
    )


def _not_enough() -> Iterator[Vector]:
    preference = _weighing("p", 60, "PREFERENCE")
    cache = _weighing("c", 30)
    yield _does_not_fit(
        "PREFERENCE entries never make room, and nothing is evicted in vain",
        [preference, cache],
        _weighing("new", 50, at=NOW),
        90,
        30,
    )
    yield _does_not_fit(
        "the message tells what is used, allowed, needed, and what could be evicted",
        [preference, cache],
        _weighing("new", 55, "PREFERENCE", at=NOW),
        90,
        55,
        30,
    )
    yield _does_not_fit("a PREFERENCE is refused like any other", [preference], _weighing("n", 41, "PREFERENCE"), 60)
    yield _fits("a PREFERENCE evicts others", [cache], _weighing("new", 80, "PREFERENCE", at=NOW), [cache])
    small = _weighing("new", 40, at=NOW)
    yield Vector(
        "after a refusal a smaller write still fits",
        _CITES,
        [run(OWNER, write(_weighing("new", 41, at=NOW), fails=full(60, 100)), write(small))],
        [preference],
        after=[preference, small],
        audit=[line("reject", _weighing("new", 41), OWNER, code=_FULL), line("create", small, OWNER)],
        quota=100,
    )
    yield Vector(
        "a write that is refused for its request evicts nothing",
        ABI("Order of checks"),
        [run(OWNER, write(_weighing("new", 70).but(category="NONE"), fails=bad("category")))],
        [cache, preference],
        quota=100,
    )


def _own_entry() -> Iterator[Vector]:
    own, other = _weighing("own", 50), _weighing("other", 40)
    grown = _weighing("own", 60).but(updated=NOW)
    yield _fits("the old bytes of an entry being rewritten count as free", [own, other], grown)
    larger = _weighing("own", 61).but(updated=NOW)
    yield _fits("an entry being rewritten is not its own victim", [own, other], larger, [other])
    whole = _weighing("own", 100).but(updated=NOW)
    yield _fits("an entry may grow to the whole quota", [own, other], whole, [other])
    yield _does_not_fit(
        "an entry may not grow beyond the quota", [own, other], _weighing("own", 101).but(updated=NOW), 90
    )
    shrunk = _weighing("own", 10).but(updated=NOW)
    yield _fits("an entry that shrinks evicts nothing", [own, other], shrunk, quota=90)
    preference = _weighing("own", 50, "PREFERENCE")
    turned = _weighing("own", 70).but(updated=NOW)
    yield _fits("a PREFERENCE rewritten as CACHE is not its own victim either", [preference, other], turned, [other])
    by_neighbour = _weighing("new", 50, at=NOW, by=NEIGHBOUR)
    yield Vector(
        "an eviction is recorded as the host's, with the gene whose write needed room",
        ABI("Audit lines"),
        [run(NEIGHBOUR, write(by_neighbour), read("own"))],
        [own, other],
        after=[other, by_neighbour],
        audit=[line("evict", own, NEIGHBOUR), line("create", by_neighbour, NEIGHBOUR)],
        quota=100,
        needs=["audit"],
    )


def _entry_limit() -> Iterator[Vector]:
    cites = ABI("Memory rules")
    new = entry("new", "", at=NOW)
    first = entry("e/0", "")
    yield Vector(
        "with a small quota an agent holds 1,024 entries; the 1,025th evicts",
        cites,
        [run(OWNER, write(new))],
        [Many(1024, entry("e/{n}", ""))],
        after=[Many(1023, entry("e/{n}", ""), 1), new],
        audit=[line("evict", first, OWNER), line("create", new, OWNER)],
        quota=10_000,
    )
    yield Vector(
        "1,024 PREFERENCE entries leave no room for another entry",
        cites,
        [run(OWNER, write(new, fails=full(10_000)))],
        [Many(1024, entry("e/{n}", "", "PREFERENCE"))],
        audit=[line("reject", new, OWNER, code=_FULL)],
        quota=10_000,
    )
    rewritten = entry("e/5", "y", "PREFERENCE").but(updated=NOW)
    yield Vector(
        "at the limit of entries one may still be rewritten",
        cites,
        [run(OWNER, write(rewritten))],
        [Many(1024, entry("e/{n}", "", "PREFERENCE"))],
        after=[
            Many(5, entry("e/{n}", "", "PREFERENCE")),
            rewritten,
            Many(1018, entry("e/{n}", "", "PREFERENCE"), 6),
        ],
        audit=[line("update", rewritten, OWNER)],
        quota=10_000,
    )
    yield Vector(
        "a larger quota holds one entry for each 16 bytes of it",
        cites,
        [run(OWNER, write(new), query_keys({"limit": 1}, ["new"]))],
        [Many(1039, entry("e/{n}", ""))],
        after=[Many(1039, entry("e/{n}", "")), new],
        audit=[line("create", new, OWNER)],
        quota=1040 * 16,
    )
    yield Vector(
        "and evicts beyond that",
        cites,
        [run(OWNER, write(new))],
        [Many(1040, entry("e/{n}", ""))],
        after=[Many(1039, entry("e/{n}", ""), 1), new],
        audit=[line("evict", first, OWNER), line("create", new, OWNER)],
        quota=1040 * 16,
    )
