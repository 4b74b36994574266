"""What an agent must keep by its audit lines, beside what it does: entries, and documents of host modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import filterfalse
from typing import TYPE_CHECKING, NamedTuple

from rotifer_host.clock import rfc3339
from rotifer_host.verify.log import OwnLine
from rotifer_host.verify.order import Place

if TYPE_CHECKING:
    from rotifer_host.memory.entry import Record
    from rotifer_host.store.protocol import DocumentName

__all__ = ["replay", "replay_documents"]


class _Entry(NamedTuple):
    key: str | None
    category: str | None
    size: int | None
    ts: str | None
    """Of its last change."""
    created_by: str | None


def replay(
    changes: Iterable[OwnLine],
    entries: Iterable[tuple[bytes, Record]],
    name: Callable[[Place], str],
    *,
    whole: bool,
) -> list[str]:
    """Return a sentence for every difference; without the `whole` chain, entries of lost lines are left alone."""
    found = []
    known: dict[str | None, _Entry] = {}
    for line in filterfalse(_is_of_document, changes):
        old = known.get(line.entry_id)
        if line.action in ("memory.create", "memory.update"):
            if whole and (old is None) != (line.action == "memory.create"):
                found.append(f"{name(line.place)} does not follow from the lines before it: {line.action}")
            creator = line.created_by or line.gene_id if old is None else old.created_by
            changed = line.updated_at or line.ts  # an imported entry was changed before it was written here
            known[line.entry_id] = _Entry(line.key, line.category, line.size, changed, creator)
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


def replay_documents(
    changes: Iterable[OwnLine], documents: Iterable[tuple[DocumentName, int]], *, whole: bool
) -> list[str]:
    """Return a sentence for every difference between the documents of host modules and what the lines say of them."""
    sizes: dict[tuple[str, str | None], int] = {}
    for line in changes:
        module = _module_of(line.action)
        if module is not None and line.size is None:
            sizes.pop((module, line.key), None)
        elif module is not None and line.size is not None:
            sizes[module, line.key] = line.size
    found = []
    for document, size in documents:
        said = sizes.pop(document, None)
        if said != size and (whole or said is not None):
            found.append(f"document {document.name!a} of {document.module} is not what its last line says")
    if whole:
        found += [f"document {key!a} of {module} should be in the memory by its last line" for module, key in sizes]
    return found


def _is_of_document(line: OwnLine) -> bool:
    return _module_of(line.action) is not None


def _module_of(action: str | None) -> str | None:
    """Return the host module whose document a change is of; None for all others."""
    module, dot, _ = (action or "").partition(".")
    return module if dot and module not in ("memory", "audit") else None
