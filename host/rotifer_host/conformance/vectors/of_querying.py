"""`queryMemory`: order, limits, sizes, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host import contract
from rotifer_host.conformance.vectors.entries import (
    NEIGHBOUR,
    OTHER,
    OWNER,
    STRANGER,
    Entry,
    Many,
    access,
    entry,
)
from rotifer_host.conformance.vectors.notation import times
from rotifer_host.conformance.vectors.steps import ABI, API, Vector, bad, query, query_keys, run

_CITES: Final = API("The four calls")
_BIG_CAP: Final = 0x80_0000
_VALUE: Final = contract.MAX_VALUE_BYTES - 4
"""With a key of four bytes an entry weighs a MiB."""


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield Vector("a query of an empty memory gives an empty array", _CITES, [run(OWNER, query({}))])
    one, two, three = (entry(key, key) for key in ("1", "2", "3"))
    yield Vector(
        "entries come in the order of their last change, newest first",
        _CITES,
        [run(OWNER, query({}, [three, two, one]))],
        [one, two, three],
    )
    late, early = entry("1", at="2026-03-01T09:00:00.000Z"), entry("2", at="2026-03-01T07:00:00.000Z")
    yield Vector(
        "the order is that of the changes, not of the clock",
        ABI("Memory rules"),
        [run(OWNER, query({}, [early, late]))],
        [late, early],
    )
    yield from _limits()
    yield from _access()
    yield from _sizes()


def _limits() -> Iterator[Vector]:
    state = [Many(1001, entry("e/{n}", ""))]
    newest_first = [f"e/{number}" for number in range(1000, -1, -1)]
    cap = _BIG_CAP
    for what, request, count in (
        ("100 entries without a limit", {}, 100),
        ("100 entries when the limit is null", {"limit": None}, 100),
        ("as many entries as the limit says", {"limit": 7}, 7),
        ("1,000 entries at most", {"limit": 1000}, 1000),
    ):
        yield Vector(
            f"a query gives {what}",
            API("Size limits"),
            [run(OWNER, query_keys(request, newest_first[:count], cap=cap))],
            state,
        )
    mixed = [Many(200, entry("a/{n}", "")), Many(200, entry("b/{n}", "", "PATTERN")), Many(200, entry("c/{n}", ""))]
    yield Vector(
        "a limit counts what matches: a prefix reaches past newer entries",
        _CITES,
        [run(OWNER, query_keys({"keyPrefix": "a/", "limit": 3}, ["a/199", "a/198", "a/197"]))],
        mixed,
    )
    yield Vector(
        "a limit counts what matches: a category reaches past newer entries",
        _CITES,
        [run(OWNER, query_keys({"category": "PATTERN", "limit": 2}, ["b/199", "b/198"]))],
        mixed,
    )


def _access() -> Iterator[Vector]:
    state: dict[str, Entry] = {
        scope: entry(scope, "x", by=OWNER, access=access(read=scope)) for scope in reversed(contract.SCOPES)
    }
    for who, name, scopes in (
        (OWNER, "the creator", ("CREATOR_GENE_ONLY", "SAME_DOMAIN", "ALL_GENES")),
        (NEIGHBOUR, "a gene of the creator's domain", ("SAME_DOMAIN", "ALL_GENES")),
        (STRANGER, "a gene of another domain", ("ALL_GENES",)),
        (OTHER, "a gene of a domain with the same beginning", ("ALL_GENES",)),
    ):
        yield Vector(
            f"a query gives {name} what it may read, and reports nothing of the rest",
            _CITES,
            [run(who, query({}, [state[scope] for scope in scopes]))],
            list(state.values()),
        )
    hidden = [Many(150, entry("h/{n}", "", access=access("CREATOR_GENE_ONLY")))]
    shown = entry("shown", "x")
    yield Vector(
        "a limit counts what the gene may read",
        _CITES,
        [run(NEIGHBOUR, query({"limit": 1}, [shown]))],
        [shown, *hidden],
    )


def _sizes() -> Iterator[Vector]:
    cites = API("Size limits")
    third, rest = divmod(_VALUE, 3)
    value = [times(third, "abc"), "x" * rest]
    full = [entry(f"big{number}", value) for number in range(4)]
    yield Vector(
        "a query may give 4 MiB of keys and values to the byte",
        cites,
        [run(OWNER, query({}, list(reversed(full)), cap=_BIG_CAP))],
        full,
    )
    tiny = entry("t", "")
    yield Vector(
        "a query that would give more than 4 MiB is refused, never cut off",
        cites,
        [run(OWNER, query({}, cap=_BIG_CAP, fails=bad("limit")))],
        [tiny, *full],
    )
    yield Vector(
        "a lower limit makes a result that is too large small enough",
        cites,
        [run(OWNER, query_keys({"limit": 4}, ["big3", "big2", "big1", "big0"], cap=_BIG_CAP))],
        [tiny, *full],
    )
    yield Vector(
        "a narrower filter makes a result that is too large small enough",
        cites,
        [run(OWNER, query({"keyPrefix": "t"}, [tiny]))],
        [tiny, *full],
    )
    private = [one.but(access=access("CREATOR_GENE_ONLY")) for one in full]
    more = entry("more", value)
    yield Vector(
        "what a gene may not read does not count towards 4 MiB",
        ABI("Memory rules"),
        [run(NEIGHBOUR, query_keys({}, ["more", "t"], cap=_BIG_CAP))],
        [*private, tiny, more],
    )
