"""What fits into an agent's memory, and what makes room.

memory-api.en.md, "Quota and cleanup".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from rotifer_host import contract
from rotifer_host.errors import QuotaExceededError, StoreError
from rotifer_host.memory.entry import Record
from rotifer_host.pace import paced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rotifer_host.store.protocol import Snapshot, Totals

__all__ = ["Shortage", "entry_limit", "evictable", "make_room", "shortage"]


class Shortage(NamedTuple):
    """What an agent's memory lacks for a write; nothing where both are zero or less."""

    bytes: int
    entries: int

    @property
    def nothing(self) -> bool:
        """Whether the write fits as it is."""
        return self.bytes <= 0 and self.entries <= 0


_ENOUGH: Final = Shortage(0, 0)
_REMEMBERED_QUOTAS: Final = 64


@lru_cache(_REMEMBERED_QUOTAS)
def entry_limit(quota: int) -> int:
    """Return how many entries an agent with this quota, in bytes, may hold."""
    return max(contract.MIN_ENTRY_LIMIT, quota // contract.BYTES_PER_ENTRY_OF_QUOTA)


def make_room(  # noqa: PLR0913, PLR0917 - a write, and what it may cost
    snapshot: Snapshot,
    new: Record,
    identity: bytes,
    old: Record | None,
    quota: int,
    check_time: Callable[[], None],
) -> list[tuple[bytes, Record]]:
    """Return the entries to evict so that `new` fits in place of `old`, in the order of eviction.

    The entry being rewritten is never among them. Raises what `shortage` does, and
    what `check_time` does, which is called now and then where they are many.
    """
    short = shortage(snapshot.totals(), new.weight, old, quota)
    return [] if short is _ENOUGH else _victims(paced(evictable(snapshot), check_time), identity, short)


def shortage(totals: Totals, weight: int, old: Record | None, quota: int) -> Shortage:
    """Return what is missing for an entry of `weight` bytes in place of `old`, whose bytes count as free.

    Raises `QuotaExceededError`, from the counters alone, when evicting everything
    that may be evicted would not do.
    """
    limit = entry_limit(quota)
    needed = weight - (0 if old is None else old.weight)
    used = entries = 0
    for bytes_there, entries_there in totals.categories:  # in one pass: every write comes here
        used += bytes_there
        entries += entries_there
    if used + needed <= quota and entries + (old is None) <= limit:
        return _ENOUGH
    short = Shortage(used + needed - quota, entries + (old is None) - limit)
    tallies = [totals.of(category) for category in contract.EVICTION_ORDER]
    own = old if old is not None and old.category in contract.EVICTION_ORDER else None
    evictable_bytes = sum(tally.used for tally in tallies) - (0 if own is None else own.weight)
    evictable_entries = sum(tally.entries for tally in tallies) - (own is not None)
    if short.bytes > evictable_bytes or short.entries > evictable_entries:
        message = (
            f"memory is full: {used} of {quota} bytes are used, {needed} more are needed, "
            f"{evictable_bytes} could be evicted"
        )
        if short.entries > evictable_entries:
            message += f"; {entries} of {limit} entries exist, {evictable_entries} could be evicted"
        raise QuotaExceededError(message)
    return short


def evictable(snapshot: Snapshot) -> Iterator[tuple[bytes, Record]]:
    """Walk the entries that may be evicted, in the order in which they would be."""
    for category in contract.EVICTION_ORDER:
        for index in snapshot.oldest(category):
            record = snapshot.get(index.identity)
            if record is None:
                message = "an index of the memory names an entry that does not exist"
                raise StoreError(message)
            yield index.identity, record


def _victims(walk: Iterable[tuple[bytes, Record]], identity: bytes, short: Shortage) -> list[tuple[bytes, Record]]:
    victims = []
    bytes_short, entries_short = short
    for victim, record in walk:
        if victim == identity:
            continue
        victims.append((victim, record))
        bytes_short -= record.weight
        entries_short -= 1
        if bytes_short <= 0 and entries_short <= 0:
            return victims
    message = "the memory's counters do not match its entries"
    raise StoreError(message)
