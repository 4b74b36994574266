"""What an agent must remember by its audit lines, beside what it does remember."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from rotifer_host.clock import rfc3339
from rotifer_host.verify.log import OwnLine, Place

if TYPE_CHECKING:
    from rotifer_host.memory.entry import Record

__all__ = ["replay"]


class _Entry(NamedTuple):
    key: str | None
    category: str | None
    size: int | None
    ts: str | None
    """Of its last change."""
    created_by: str | None


def replay(
    changes: Iterable[OwnLine], entries: Iterable[tuple[bytes, Record]], name: Callable[[Place], str], *, whole: bool
) -> list[str]:
    """Return a sentence for every difference; without the `whole` chain, entries of lost lines are left alone."""
    found = []
    known: dict[str | None, _Entry] = {}
    for line in changes:
        old = known.get(line.entry_id)
        if line.action in ("memory.create", "memory.update"):
            if whole and (old is None) != (line.action == "memory.create"):
                found.append(f"{name(line.place)} does not follow from the lines before it: {line.action}")
            creator = line.gene_id if old is None else old.created_by
            known[line.entry_id] = _Entry(line.key, line.category, line.size, line.ts, creator)
        elif line.action in ("memory.delete", "memory.evict", "memory.expire"):
            if whole and (old is None or (old.category, old.size) != (line.category, line.size)):
                found.append(f"{name(line.place)} does not follow from the lines before it: {line.action}")
            known.pop(line.entry_id, None)
        else:
            found.append(f"{name(line.place)} is numbered as a change and is none: {line.action}")
    for identity, record in entries:
        said = known.pop(identity.hex(), None)
        held = _Entry(record.key, record.category, record.size, rfc3339(record.updated_ms), record.created_by)
        if said is None and whole:
            found.append(f"entry {identity.hex()} is in the memory, but no line says so")
        elif said is not None and said != (held if whole else held._replace(created_by=said.created_by)):
            found.append(f"entry {identity.hex()} is not what its last line says")
    if whole:
        found += [f"entry {identity} should be in the memory by its last line" for identity in known]
    return found
