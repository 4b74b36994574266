"""The store agents use: one LMDB file each.

Readers never wait, and see the latest committed state of all processes. Writers wait
for a `FileLock`, which can time out, before they take LMDB's own lock, which cannot.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self, get_args

import lmdb

from rotifer_host import contract
from rotifer_host.errors import StoreError
from rotifer_host.lock import Patience
from rotifer_host.memory.entry import Category, DataPolicy, Record
from rotifer_host.store import codec
from rotifer_host.store.environment import Committed, Environment, mapped, registry
from rotifer_host.store.protocol import Expiry, Index, Totals

__all__ = ["LmdbStore", "open_store"]

_LARGEST_SEQUENCE: Final = b"\xff" * 8
_NEVER: Final = 1 << 62
_LARGEST_KEPT_BODY: Final = 4 * contract.KIB
_MOST_KEPT_RECORDS: Final = 256


class _View:
    """What snapshots and changes have in common."""

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

    def totals(self) -> Totals:
        try:
            return codec.decode_totals(self._txn.get(codec.TOTALS_KEY))
        except lmdb.Error as error:
            raise self._failure(error) from error

    def newest(self, category: Category | None) -> Iterator[Index]:
        if category is not None:
            return self._newest_of(category)
        walks = map(self._newest_of, get_args(Category))
        return heapq.merge(*walks, reverse=True)

    def oldest(self, category: Category) -> Iterator[Index]:
        for key, value in self._rows(codec.recency_prefix(category)):
            yield codec.decode_recency_row(key, value)

    def with_prefix(self, prefix: str) -> Iterator[Index]:
        cut = len(prefix.encode()) > codec.CUT_KEY_BYTES
        # Values start with the sequence number; kept packed, they are small and sort by it.
        found = [(bytes(value), bytes(key)) for key, value in self._rows(codec.key_prefix(prefix))]
        found.sort(reverse=True)
        for value, key in found:
            index = codec.decode_key_row(key, value)
            if cut:
                record = self.get(index.identity)
                if record is not None and not record.key.startswith(prefix):
                    continue
            yield index

    def expired(self, now_s: int, policy: DataPolicy, limit: int) -> list[Expiry]:
        days = policy.maxRetentionDays
        kept_s = 0 if days is None else days * contract.SECONDS_PER_DAY
        due = self._due(codec.OWN, now_s, 0, limit)
        if days is not None:
            due += self._due(codec.FOLLOWS, now_s, kept_s, limit)
        return sorted(due)[:limit]

    def has_expired(self, now_s: int, policy: DataPolicy) -> bool:
        own, follows = self._first_expiries()
        days = policy.maxRetentionDays
        return own <= now_s or (days is not None and follows + days * contract.SECONDS_PER_DAY <= now_s)

    def _first_expiries(self) -> tuple[int, int]:
        """Return the first second of each kind in `expiry`."""
        return self._first_expiry(codec.OWN), self._first_expiry(codec.FOLLOWS)

    def _first_expiry(self, kind: int) -> int:
        for key, _ in self._rows(codec.expiry_prefix(kind)):
            return codec.decode_expiry(key)[0]
        return _NEVER

    def _due(self, kind: int, now_s: int, kept_s: int, limit: int) -> list[Expiry]:
        due: list[Expiry] = []
        for key, _ in self._rows(codec.expiry_prefix(kind)):
            second, identity = codec.decode_expiry(key)
            if second + kept_s > now_s or len(due) == limit:
                break
            due.append(Expiry(second + kept_s, identity))
        return due

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
        return StoreError(f"memory file {self._environment.path.name}: {error}")


class _LmdbSnapshot(_View):
    def __init__(self, environment: Environment, txn: lmdb.Transaction) -> None:
        self._environment = environment  # not by super(): there is one of these for every read
        self._txn = txn
        committed = environment.committed
        if committed.number != txn.id():
            committed = environment.committed = Committed(txn.id())
        self._committed = committed

    def get(self, identity: bytes) -> Record | None:
        known = self._committed.records
        record = known.get(identity)
        if record is None:
            record = super().get(identity)
            if record is not None and len(record.body) <= _LARGEST_KEPT_BODY and len(known) < _MOST_KEPT_RECORDS:
                known[identity] = record
        return record

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._environment.env is not None:  # else closed, or inherited over a fork and not ours to end
            self._txn.abort()
        del self._txn  # only then LMDB frees the reader's slot

    def _first_expiries(self) -> tuple[int, int]:
        first = self._committed.first_expiries
        if first is None:
            first = self._committed.first_expiries = super()._first_expiries()
        return first


class _LmdbChange(_View):
    def __init__(self, environment: Environment, txn: lmdb.Transaction) -> None:
        super().__init__(environment, txn)
        self._totals = super().totals()
        self._known_expiries: tuple[int, int] | None = None
        self._changed = False
        self._open = True

    def totals(self) -> Totals:
        return self._totals

    def put(self, identity: bytes, record: Record) -> None:
        txn = self._txn
        old = self.get(identity)
        try:
            if old is not None:
                self._remove_rows(identity, old)
            txn.put(codec.ENTRIES + identity, codec.encode_record(record))
            txn.put(*codec.recency_row(identity, record))
            txn.put(*codec.key_row(identity, record))
            if (expiry := codec.expiry_key(identity, record)) is not None:
                txn.put(expiry, b"")
        except lmdb.Error as error:
            raise self._failure(error) from error
        self._totals = self._totals.plus(record)
        self._touch()

    def remove(self, identity: bytes) -> None:
        old = self.get(identity)
        if old is None:
            message = f"there is no entry {identity.hex()} to remove"
            raise StoreError(message)
        try:
            self._remove_rows(identity, old)
            self._txn.delete(codec.ENTRIES + identity)
        except lmdb.Error as error:
            raise self._failure(error) from error
        self._touch()

    def commit(self) -> None:
        if not self._open or self._environment.env is None:
            message = "this change has already ended, or was begun before a fork"
            raise StoreError(message)
        try:
            if self._changed:
                self._txn.put(codec.TOTALS_KEY, codec.encode_totals(self._totals))
            self._txn.commit()
        except lmdb.Error as error:
            raise self._failure(error) from error
        finally:
            self.abort()

    def abort(self) -> None:
        was_open, self._open = self._open, False
        if was_open and self._environment.env is not None:  # after a fork it is the parent's to end
            try:
                self._txn.abort()
            finally:
                self._environment.lock.release()

    def _touch(self) -> None:
        self._changed = True
        self._known_expiries = None

    def _remove_rows(self, identity: bytes, old: Record) -> None:
        self._txn.delete(codec.recency_row(identity, old)[0])
        self._txn.delete(codec.key_row(identity, old)[0])
        if (expiry := codec.expiry_key(identity, old)) is not None:
            self._txn.delete(expiry)
        self._totals = self._totals.minus(old)

    def _first_expiries(self) -> tuple[int, int]:
        if self._known_expiries is None:
            self._known_expiries = super()._first_expiries()
        return self._known_expiries


class LmdbStore:
    """All entries of one agent, in one LMDB file."""

    def __init__(self, environment: Environment) -> None:
        self._environment: Environment | None = environment

    def snapshot(self) -> _LmdbSnapshot:
        """Open a view of the latest committed state; raises `StoreError`."""
        environment = self._environment
        env = None if environment is None else environment.env
        if environment is None or env is None:
            raise _closed()
        try:
            try:
                txn = env.begin(buffers=True)
            except lmdb.ReadersFullError:
                env.reader_check()  # frees the slots of processes that were killed
                txn = env.begin(buffers=True)
        except lmdb.Error as error:
            message = f"cannot read {environment.path.name}: {error}"
            raise StoreError(message) from error
        return _LmdbSnapshot(environment, txn)

    def begin(self, patience: Patience) -> _LmdbChange:
        """Start a change, waiting as long as `patience` allows; raises `StoreError` or `LockTimeoutError`."""
        environment = self._environment
        if environment is None or environment.env is None:
            raise _closed()
        with mapped(environment.path, "change"):
            environment.lock.acquire(patience)
            try:
                return _LmdbChange(environment, environment.env.begin(write=True, buffers=True))
            except BaseException:
                environment.lock.release()
                raise

    def close(self) -> None:
        """Give the file back; closed for good when no other store of this process uses it."""
        environment, self._environment = self._environment, None
        if environment is not None:
            registry.release(environment)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(path: Path, *, agent_id: str, quota: int) -> LmdbStore:
    """Open an agent's memory file, made (mode 0600) when it is missing.

    Every store that a process opens on one file shares one LMDB environment. Raises
    `StoreError` when the file cannot be opened, has another format or belongs to
    another agent, `LockTimeoutError` when another process holds a new file too long.
    """
    return LmdbStore(registry.acquire(path, agent_id, quota))


def _closed() -> StoreError:
    return StoreError("this memory is closed here; open it again, also in a process forked after it was opened")
