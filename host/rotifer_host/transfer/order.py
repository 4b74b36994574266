"""The order in which an agent's entries travel."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rotifer_host import contract
from rotifer_host.errors import StoreError
from rotifer_host.memory.entry import Record

if TYPE_CHECKING:
    from rotifer_host.store.protocol import Snapshot

__all__ = ["in_order"]


def in_order(snapshot: Snapshot) -> Iterator[tuple[bytes, Record]]:
    """Walk all entries with their ids, the one changed longest ago first."""
    for index in heapq.merge(*(snapshot.oldest(category) for category in contract.CATEGORIES)):
        record = snapshot.get(index.identity)
        if record is None:
            message = "an index of the memory names an entry that does not exist"
            raise StoreError(message)
        yield index.identity, record
