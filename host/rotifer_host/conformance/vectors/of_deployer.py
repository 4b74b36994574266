"""What the deployer sees and clears."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host import contract
from rotifer_host.conformance.vectors.entries import NOW, OWNER, STRANGER, access, entry, line, retention
from rotifer_host.conformance.vectors.steps import (
    API,
    Vector,
    deployer_delete,
    deployer_list,
    read,
    run,
)

_CITES: Final = API("Viewing and clearing an agent’s memory")  # noqa: RUF001 - as the section has it
_NEEDS: Final = ["deployer"]
_CLOSED: Final = access("DEPLOYER_CONFIGURED", "DEPLOYER_CONFIGURED")
_STATE: Final = [
    entry("a", "12345", "PREFERENCE", access=_CLOSED),
    entry("b", "é", "CACHE", by=STRANGER, access=access("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY")),
    entry("c", "", "CACHE"),
]
_USED: Final = 6 + 3 + 1


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield Vector(
        "list shows key, category, size, creator and last update of every entry, whatever its policies say",
        _CITES,
        [deployer_list(_USED, *_STATE)],
        _STATE,
        needs=_NEEDS,
    )
    yield Vector("an empty memory lists nothing", _CITES, [deployer_list(0)], needs=_NEEDS)
    for category in contract.CATEGORIES:
        shown = [one for one in _STATE if one.category == category]
        yield Vector(
            f"list of {category} shows that category",
            _CITES,
            [deployer_list(_USED, *shown, category=category)],
            _STATE,
            needs=_NEEDS,
        )
        yield Vector(
            f"delete of {category} clears that category, whatever the policies say, and tells how many went",
            _CITES,
            [deployer_delete(category=category, count=len(shown))],
            _STATE,
            after=[one for one in _STATE if one not in shown],
            audit=[line("delete", one, None) for one in shown],
            needs=_NEEDS,
        )
    yield Vector(
        "delete by key removes an entry no gene can reach, as done by the deployer",
        _CITES,
        [deployer_delete(key="a", count=1), run(OWNER, read("a"))],
        _STATE,
        after=_STATE[1:],
        audit=[line("delete", _STATE[0], None)],
        needs=_NEEDS,
    )
    yield Vector(
        "deleting a key that does not exist is MEMORY_NOT_FOUND",
        _CITES,
        [deployer_delete(key="none", count=None)],
        _STATE,
        needs=_NEEDS,
    )
    expired = entry("old", "x", at="2026-02-01T00:00:00.000Z", retention=retention(1))
    yield Vector(
        "list does not show expired entries, and removes them",
        API("How long entries are kept"),
        [deployer_list(_USED, *_STATE)],
        [expired, *_STATE],
        after=_STATE,
        audit=[line("expire", expired, None, but={"actor": "host"})],
        needs=_NEEDS,
    )
    yield Vector(
        "deleting an expired key finds nothing",
        API("How long entries are kept"),
        [deployer_delete(key="old", count=None)],
        [expired],
        after=[],
        audit=[line("expire", expired, None, but={"actor": "host"})],
        needs=_NEEDS,
    )
    made = entry("k", "x", at=NOW)
    yield Vector(
        "a run after the deployer's deletion no longer sees the entry",
        API("Untrusted input and memory poisoning"),
        [run(OWNER, read("k", made)), deployer_delete(key="k", count=1), run(OWNER, read("k"))],
        [made],
        after=[],
        audit=[line("delete", made, None)],
        needs=_NEEDS,
    )
