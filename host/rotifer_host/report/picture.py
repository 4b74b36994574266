"""What an agent's memory held at a moment, and what changed between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from rotifer_host import contract
from rotifer_host.memory import stored_entry
from rotifer_host.memory.entry import DataPolicy, Record
from rotifer_host.memory.retention import is_expired

if TYPE_CHECKING:
    from rotifer_host.store import Store

__all__ = ["Change", "Picture", "changes", "value_of"]

_MOST_BYTES: Final = 16 * contract.MIB
"""Of keys and values; of a larger memory the values are not kept."""


class Picture(NamedTuple):
    """A memory without what has expired."""

    used: int
    """Bytes of keys and values."""
    records: dict[str, Record]
    """By key."""

    @classmethod
    def of(cls, store: Store, now_ms: int, policy: DataPolicy) -> Picture:
        """Look at the committed state."""
        with store.snapshot() as snapshot:
            small = snapshot.totals().used <= _MOST_BYTES
            live = [record for _, record in snapshot.records() if not is_expired(record, now_ms // 1000, policy)]
        kept = live if small else [msgspec.structs.replace(record, body=b"") for record in live]
        return cls(sum(record.weight for record in live), {record.key: record for record in kept})


class Change(NamedTuple):
    """One entry that is not what it was."""

    kind: Literal["created", "updated", "removed"]
    record: Record
    """The newest there is of it."""
    before: Record | None
    after: Record | None


def changes(before: Picture, after: Picture) -> list[Change]:
    """Return what is different, by key; an entry that was only read by somebody else is not."""
    found = []
    for key in sorted(before.records.keys() | after.records.keys()):
        old, new = before.records.get(key), after.records.get(key)
        if new is None and old is not None:
            found.append(Change("removed", old, old, None))
        elif new is not None and old is None:
            found.append(Change("created", new, None, new))
        elif new is not None and old is not None and old.sequence != new.sequence:
            found.append(Change("updated", new, old, new))
    return found


def value_of(record: Record) -> bytes | None:
    """Return an entry's value, None where it was not kept."""
    return stored_entry(record.body).value if record.body else None
