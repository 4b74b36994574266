"""A store in plain Python: the model the LMDB store is tested against, and a memory that no disk outlives."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self

from rotifer_host.errors import LockTimeoutError, StoreError
from rotifer_host.lock import Patience
from rotifer_host.memory.entry import Category, DataPolicy, Record
from rotifer_host.pace import paced, unhurried
from rotifer_host.store.protocol import Chain, DocumentName, Expiry, Index, Totals

__all__ = ["ModelStore"]

_LONGEST_PAUSE_S: Final = 0.005


class _ModelSnapshot:
    def __init__(
        self, records: dict[bytes, Record], documents: dict[DocumentName, bytes], totals: Totals, chain: Chain
    ) -> None:
        self._records = records
        self._documents = documents
        self._totals = totals
        self._chain = chain

    def get(self, identity: bytes) -> Record | None:
        return self._records.get(identity)

    def records(self) -> Iterator[tuple[bytes, Record]]:
        return iter(sorted(self._records.items()))

    def document(self, name: DocumentName) -> bytes | None:
        return self._documents.get(name)

    def documents(self) -> Iterator[tuple[DocumentName, int]]:
        return ((name, len(data)) for name, data in sorted(self._documents.items()))

    def totals(self) -> Totals:
        return self._totals

    def chain(self) -> Chain:
        return self._chain

    def newest(self, category: Category | None) -> Iterator[Index]:
        return iter(sorted(self._indexes(category), reverse=True))

    def oldest(self, category: Category) -> Iterator[Index]:
        return iter(sorted(self._indexes(category)))

    def with_prefix(self, prefix: str, check_time: Callable[[], None] = unhurried) -> Iterator[Index]:
        walk = paced(self.newest(None), check_time)
        return (index for index in walk if self._records[index.identity].key.startswith(prefix))

    def expired(self, now_s: int, policy: DataPolicy, limit: int) -> list[Expiry]:
        return heapq.nsmallest(limit, self._expired(now_s, policy))

    def has_expired(self, now_s: int, policy: DataPolicy) -> bool:
        return any(True for _ in self._expired(now_s, policy))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def _indexes(self, category: Category | None) -> Iterator[Index]:
        for identity, record in self._records.items():
            if category is None or record.category == category:
                yield Index(record.sequence, identity, record.category, record.updated_ms)

    def next_expiry(self, policy: DataPolicy) -> int | None:
        seconds = (record.expires_at(policy) for record in self._records.values())
        return min((second for second in seconds if second is not None), default=None)

    def _expired(self, now_s: int, policy: DataPolicy) -> Iterator[Expiry]:
        for identity, record in self._records.items():
            second = record.expires_at(policy)
            if second is not None and second <= now_s:
                yield Expiry(second, identity)


class _ModelChange(_ModelSnapshot):
    def __init__(self, store: ModelStore) -> None:
        super().__init__(dict(store.records), dict(store.documents), store.totals, store.chain)
        self.saved = False
        self._store: ModelStore | None = store

    def put(self, identity: bytes, record: Record) -> None:
        self._totals = self._totals.after(self._records.get(identity), record)
        self._records[identity] = record

    def remove(self, identity: bytes) -> None:
        old = self._records.pop(identity, None)
        if old is None:
            message = f"there is no entry {identity.hex()} to remove"
            raise StoreError(message)
        self._totals = self._totals.after(old, None)

    def put_document(self, name: DocumentName, data: bytes | None) -> None:
        if data is None:
            self._documents.pop(name, None)
        else:
            self._documents[name] = data

    def extend(self, chain: Chain) -> None:
        self._chain = chain

    def commit(self) -> None:
        if self._store is None:
            message = "this change has already ended"
            raise StoreError(message)
        store = self._store
        store.records, store.documents, store.totals, store.chain = (
            self._records,
            self._documents,
            self._totals,
            self._chain,
        )
        self.saved = True
        self.abort()

    def abort(self) -> None:
        if self._store is not None:
            self._store.lock.release()
            self._store = None


class ModelStore:
    """Keeps the store protocol in one process, without files; `close` forgets nothing."""

    def __init__(self) -> None:
        self.records: dict[bytes, Record] = {}
        self.documents: dict[DocumentName, bytes] = {}
        self.totals = Totals()
        self.chain = Chain()
        self.lock = threading.Lock()
        self.version = None
        self.begun_below = b""

    def peek(self, identity: bytes, now_s: int, policy: DataPolicy) -> Record | None:
        """Know nothing without a view."""
        del identity, now_s, policy
        return None

    def snapshot(self) -> _ModelSnapshot:
        """Open a view of the latest committed state."""
        return _ModelSnapshot(self.records, self.documents, self.totals, self.chain)

    def begin(self, patience: Patience) -> _ModelChange:
        """Start a change; other changes wait until it has ended."""
        while not self.lock.acquire(timeout=min(max(patience.remaining_s(), 0.0), _LONGEST_PAUSE_S)):
            if patience.remaining_s() <= 0:
                message = "another thread is changing this memory"
                raise LockTimeoutError(message)
        return _ModelChange(self)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
