"""What one LMDB transaction shows of an agent's memory."""

# ruff: noqa: D102 - what the methods do is said once, in protocol.py

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import islice
from types import TracebackType
from typing import Final, Self, get_args

import lmdb

from rotifer_host import contract
from rotifer_host.errors import StoreError
from rotifer_host.memory.entry import Category, DataPolicy, Record
from rotifer_host.pace import paced, unhurried
from rotifer_host.store import codec
from rotifer_host.store.environment import Committed, Environment
from rotifer_host.store.pages import shown
from rotifer_host.store.protocol import Chain, DocumentName, Expiry, Index, Totals

__all__ = ["NEVER", "LmdbSnapshot", "View"]

_LARGEST_SEQUENCE: Final = b"\xff" * 8
NEVER: Final = 1 << 62
"""The second in which nothing expires any more."""
_FEW: Final = 1024
"""So many entries with a prefix are sorted; of more, the newest are looked for first."""
_TRIED: Final = 4096
"""Among so many of the newest."""


class View:
    """What snapshots and changes have in common."""

    __slots__ = ("_environment", "_txn")

    def __init__(self, environment: Environment, txn: lmdb.Transaction) -> None:
        self._environment = environment
        self._txn = txn

    def get(self, identity: bytes) -> Record | None:
        try:
            raw = self._txn.get(codec.ENTRIES + identity)
        except lmdb.Error as error:
            raise self._failure(error) from error
        return None if raw is None else codec.decode_record(raw)

    def records(self) -> Iterator[tuple[bytes, Record]]:
        for key, value in self._rows(codec.ENTRIES):
            yield bytes(key[1:]), codec.decode_record(value)

    def document(self, name: DocumentName) -> bytes | None:
        raw = self._row(codec.document_key(name))
        return None if raw is None else bytes(codec.decode_document(raw))

    def documents(self) -> Iterator[tuple[DocumentName, int]]:
        for key, value in self._rows(codec.DOCUMENTS):
            yield codec.decode_document_key(key), len(codec.decode_document(value))

    def totals(self) -> Totals:
        return codec.decode_totals(self._row(codec.TOTALS_KEY))

    def chain(self) -> Chain:
        return codec.decode_chain(self._row(codec.CHAIN_KEY))

    def newest(self, category: Category | None) -> Iterator[Index]:
        if category is not None:
            return self._newest_of(category)
        walks = map(self._newest_of, get_args(Category))
        return heapq.merge(*walks, reverse=True)

    def oldest(self, category: Category) -> Iterator[Index]:
        for key, value in self._rows(codec.recency_prefix(category)):
            yield codec.decode_recency_row(key, value)

    def with_prefix(self, prefix: str, check_time: Callable[[], None] = unhurried) -> Iterator[Index]:
        # Rows of `keys` know no order. To ask each entry for its own is right for few of them; where
        # the prefix is that of many, the newest are found sooner among the newest of all.
        rows = paced(self._rows(codec.key_prefix(prefix)), check_time)
        identities = (codec.identity_in_key_row(key) for key, _ in rows)
        found = set(islice(identities, _FEW + 1))
        walked = set()
        if len(found) > _FEW:
            for index in paced(islice(self.newest(None), _TRIED), check_time):
                record = self.get(index.identity)
                if record is not None and record.key.startswith(prefix):
                    walked.add(index.identity)
                    yield index
            found.update(identities)
        rest = []
        for identity in paced(found - walked, check_time):
            record = self.get(identity)
            if record is None:
                message = "an index of the memory names an entry that does not exist"
                raise StoreError(message)
            if record.key.startswith(prefix):  # the row may hold a part of the key only
                rest.append(Index(record.sequence, identity, record.category, record.updated_ms))
        yield from sorted(rest, reverse=True)

    def expired(self, now_s: int, policy: DataPolicy, limit: int) -> list[Expiry]:
        days = policy.maxRetentionDays
        due = self._due(codec.OWN, now_s, 0, limit)
        if days is not None:
            kept_s = days * contract.SECONDS_PER_DAY
            if self._follows():
                due += self._due(codec.FOLLOWS, now_s, kept_s, limit)
            else:
                due += [
                    Expiry(second + kept_s, identity)
                    for second, identity in self._followers()
                    if second + kept_s <= now_s
                ]
        return sorted(due)[:limit]

    def has_expired(self, now_s: int, policy: DataPolicy) -> bool:
        return self._soonest(policy) <= now_s

    def next_expiry(self, policy: DataPolicy) -> int | None:
        soonest = self._soonest(policy)
        return soonest if soonest < NEVER else None

    def _soonest(self, policy: DataPolicy) -> int:
        """Return the first second in which an entry expires, `NEVER` or more when none ever does."""
        days = policy.maxRetentionDays
        own = self._first_own()
        return own if days is None else min(own, self._first_follower() + days * contract.SECONDS_PER_DAY)

    def _first_own(self) -> int:
        return self._first_row(codec.OWN)

    def _first_follower(self) -> int:
        if self._follows():
            return self._first_row(codec.FOLLOWS)
        return min((second for second, _ in self._followers()), default=NEVER)

    def _follows(self) -> bool:
        """Tell whether there are rows for the entries that follow the data policy."""
        return self._row(codec.FOLLOWS_KEY) is not None

    def _followers(self) -> Iterator[tuple[int, bytes]]:
        """Walk what those rows would say without them."""
        return (
            (record.updated_ms // 1000, identity) for identity, record in self.records() if record.retention is None
        )

    def _first_row(self, kind: int) -> int:
        for key, _ in self._rows(codec.expiry_prefix(kind)):
            return codec.decode_expiry(key)[0]
        return NEVER

    def _due(self, kind: int, now_s: int, kept_s: int, limit: int) -> list[Expiry]:
        due: list[Expiry] = []
        for key, _ in self._rows(codec.expiry_prefix(kind)):
            second, identity = codec.decode_expiry(key)
            if second + kept_s > now_s or len(due) == limit:
                break
            due.append(Expiry(second + kept_s, identity))
        return due

    def _row(self, key: bytes) -> codec.Raw | None:
        try:
            found: codec.Raw | None = self._txn.get(key)
        except lmdb.Error as error:
            raise self._failure(error) from error
        return found

    def _rows(self, prefix: bytes) -> Iterator[tuple[codec.Raw, codec.Raw]]:
        """Walk the rows whose keys start with `prefix`, in the order of their keys."""
        try:
            cursor = self._txn.cursor()
            more = cursor.set_range(prefix)
            while more:
                key, value = cursor.item()
                if key[: len(prefix)] != prefix:
                    return
                yield key, value
                more = cursor.next()
        except lmdb.Error as error:
            raise self._failure(error) from error

    def _newest_of(self, category: Category) -> Iterator[Index]:
        prefix = codec.recency_prefix(category)
        try:
            cursor = self._txn.cursor()
            more = cursor.prev() if cursor.set_range(prefix + _LARGEST_SEQUENCE) else cursor.last()
            while more:
                key, value = cursor.item()
                if key[: len(prefix)] != prefix:
                    return
                yield codec.decode_recency_row(key, value)
                more = cursor.prev()
        except lmdb.Error as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> StoreError:
        return StoreError(f"memory file {shown(self._environment.path)}: {error}")


class LmdbSnapshot(View):
    """A read transaction, sharing what is known of its state with others of the same state."""

    __slots__ = ("_committed",)

    def __init__(self, environment: Environment, txn: lmdb.Transaction) -> None:
        self._environment = environment  # not by super(): there is one of these for every read
        self._txn = txn
        committed = environment.committed
        if committed.number != txn.id():
            committed = environment.committed = Committed(txn.id())
        self._committed = committed

    def get(self, identity: bytes) -> Record | None:
        record = self._committed.records.get(identity)
        if record is None:
            record = super().get(identity)
            if record is not None:
                self._committed.keep(identity, record)
        return record

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._environment.env is not None:  # else closed, or inherited over a fork and not ours to end
            self._txn.abort()
        del self._txn  # only then LMDB frees the reader's slot

    def _first_own(self) -> int:
        first = self._committed.first_own
        if first is None:
            first = self._committed.first_own = super()._first_own()
        return first

    def _first_follower(self) -> int:
        first = self._committed.first_follower
        if first is None:
            first = self._committed.first_follower = super()._first_follower()
        return first
