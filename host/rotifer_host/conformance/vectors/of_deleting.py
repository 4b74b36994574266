"""`deleteMemory`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host import contract
from rotifer_host.conformance.vectors.entries import NEIGHBOUR, NOW, OWNER, access, entry, line
from rotifer_host.conformance.vectors.steps import ABI, API, Vector, delete, missing, query, read, run, write

_E: Final = entry("k", "x")


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    cites = API("The four calls")
    gone = [line("delete", _E, OWNER)]
    yield Vector(
        "a deleted entry is gone",
        cites,
        [run(OWNER, delete("k"), read("k"), query({}))],
        [_E],
        after=[],
        audit=gone,
    )
    yield Vector(
        "deleting what was never written is MEMORY_NOT_FOUND", API("Errors"), [run(OWNER, delete("k", fails=missing()))]
    )
    yield Vector(
        "deleting twice finds nothing the second time",
        API("Errors"),
        [run(OWNER, delete("k"), delete("k", fails=missing()))],
        [_E],
        after=[],
        audit=gone,
    )
    other = entry("k2", "y")
    yield Vector(
        "a deletion takes one entry and no other",
        cites,
        [run(OWNER, delete("k"))],
        [_E, other],
        after=[other],
        audit=gone,
    )
    for category in contract.CATEGORIES:
        one = entry("k", "x", category)
        yield Vector(
            f"a {category} entry can be deleted",
            cites,
            [run(OWNER, delete("k"))],
            [one],
            after=[],
            audit=[line("delete", one, OWNER)],
        )
    readable_only = entry("k", "x", access=access("CREATOR_GENE_ONLY", "ALL_GENES"))
    yield Vector(
        "who may write an entry may delete it, even without reading it",
        cites,
        [run(NEIGHBOUR, delete("k"))],
        [readable_only],
        after=[],
        audit=[line("delete", readable_only, NEIGHBOUR)],
    )
    for cap in (0, 1, 3):
        yield Vector(
            f"with room for {cap} bytes a deletion answers nothing, and happens",
            ABI("Responses"),
            [run(OWNER, delete("k", cap=cap, gives=""))],
            [_E],
            after=[],
            audit=gone,
        )
    for cap in (4, 5):
        yield Vector(
            f"with room for {cap} bytes a deletion answers null",
            ABI("Responses"),
            [run(OWNER, delete("k", cap=cap))],
            [_E],
            after=[],
            audit=gone,
        )
    large = entry("large", "y" * 60)
    after = entry("new", "z" * 60, at=NOW)
    yield Vector(
        "what was deleted no longer counts towards the quota",
        API("Quota and cleanup"),
        [run(OWNER, delete("large"), write(after))],
        [_E, large],
        after=[_E, after],
        audit=[line("delete", large, OWNER), line("create", after, OWNER)],
        quota=70,
    )
