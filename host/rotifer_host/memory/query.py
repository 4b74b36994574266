"""Which entries a `queryMemory` returns.

memory-api.en.md, "The four calls" and "Size limits".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rotifer_host import contract
from rotifer_host.errors import InvalidInputError, StoreError
from rotifer_host.memory.entry import Caller, DataPolicy, Record
from rotifer_host.memory.policy import may
from rotifer_host.memory.request import QueryRequest
from rotifer_host.memory.retention import is_expired
from rotifer_host.pace import paced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rotifer_host.store.protocol import Index, Snapshot

__all__ = ["select"]


def select(  # noqa: PLR0913 - what a query asks, and of whom
    snapshot: Snapshot,
    request: QueryRequest,
    caller: Caller,
    *,
    now_s: int,
    policy: DataPolicy,
    check_time: Callable[[], None],
) -> list[tuple[bytes, Record]]:
    """Return the entries that match and that the caller may read, most recently changed first.

    Raises `InvalidInputError` when they come to more than 4 MiB of keys and values;
    `check_time` is called now and then and may raise to end a long walk.
    """
    found: list[tuple[bytes, Record]] = []
    size = 0
    for index in _candidates(snapshot, request, check_time):
        record = snapshot.get(index.identity)
        if record is None:
            message = "an index of the memory names an entry that does not exist"
            raise StoreError(message)
        if is_expired(record, now_s, policy) or not may(caller, record.access.readScope, record):
            continue
        size += record.weight
        if size > contract.MAX_QUERY_BYTES:
            message = f"the result is larger than {contract.MAX_QUERY_BYTES} bytes: lower limit or narrow the filter"
            raise InvalidInputError(message)
        found.append((index.identity, record))
        if len(found) == request.limit:
            break
    return found


def _candidates(snapshot: Snapshot, request: QueryRequest, check_time: Callable[[], None]) -> Iterator[Index]:
    prefix, category = request.key_prefix, request.category
    if not prefix:
        walk = snapshot.newest(category)
    elif "\0" in prefix or len(prefix.encode()) > contract.MAX_KEY_BYTES:
        return
    else:
        walk = snapshot.with_prefix(prefix, check_time)
    for index in paced(walk, check_time):
        if (
            (category is None or index.category == category)
            and (request.since_ms is None or index.updated_ms >= request.since_ms)
            and (request.until_ms is None or index.updated_ms < request.until_ms)
        ):
            yield index
