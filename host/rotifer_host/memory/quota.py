"""What fits into an agent's memory, and what makes room.

memory-api.en.md, "Quota and cleanup".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_host import contract
from rotifer_host.errors import QuotaExceededError, StoreError
from rotifer_host.memory.entry import Record

if TYPE_CHECKING:
    from rotifer_host.store.protocol import Snapshot

__all__ = ["entry_limit", "make_room"]


def entry_limit(quota: int) -> int:
    """Return how many entries an agent with this quota, in bytes, may hold."""
    return max(contract.MIN_ENTRY_LIMIT, quota // contract.BYTES_PER_ENTRY_OF_QUOTA)


def make_room(
    snapshot: Snapshot, new: Record, identity: bytes, old: Record | None, quota: int
) -> list[tuple[bytes, Record]]:
    """Return the entries to evict so that `new` fits in place of `old`, in the order of eviction.

    The entry being rewritten is never among them, and its old bytes count as free.
    Raises `QuotaExceededError`, from the counters alone, when evicting everything
    that may be evicted would not do.
    """
    totals = snapshot.totals()
    limit = entry_limit(quota)
    needed = new.weight - (0 if old is None else old.weight)
    used = entries = 0
    for tally in totals.categories:  # in one pass: every write comes here
        used += tally[0]
        entries += tally[1]
    bytes_short = used + needed - quota
    entries_short = entries + (old is None) - limit
    if bytes_short <= 0 and entries_short <= 0:
        return []
    evictable = [totals.of(category) for category in contract.EVICTION_ORDER]
    own = old if old is not None and old.category in contract.EVICTION_ORDER else None
    evictable_bytes = sum(tally.used for tally in evictable) - (0 if own is None else own.weight)
    evictable_entries = sum(tally.entries for tally in evictable) - (own is not None)
    if bytes_short > evictable_bytes or entries_short > evictable_entries:
        message = (
            f"memory is full: {used} of {quota} bytes are used, {needed} more are needed, "
            f"{evictable_bytes} could be evicted"
        )
        if entries_short > evictable_entries:
            message += f"; {entries} of {limit} entries exist, {evictable_entries} could be evicted"
        raise QuotaExceededError(message)
    return _victims(snapshot, identity, bytes_short, entries_short)


def _victims(snapshot: Snapshot, identity: bytes, bytes_short: int, entries_short: int) -> list[tuple[bytes, Record]]:
    victims = []
    for category in contract.EVICTION_ORDER:
        for index in snapshot.oldest(category):
            if index.identity == identity:
                continue
            record = snapshot.get(index.identity)
            if record is None:
                message = "an index of the memory names an entry that does not exist"
                raise StoreError(message)
            victims.append((index.identity, record))
            bytes_short -= record.weight
            entries_short -= 1
            if bytes_short <= 0 and entries_short <= 0:
                return victims
    message = "the memory's counters do not match its entries"
    raise StoreError(message)
