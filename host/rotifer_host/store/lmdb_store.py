"""The store agents use: one LMDB file each.

Readers never wait, and see the latest committed state of all processes. Writers wait
for a `FileLock`, which can time out, before they take LMDB's own lock, which cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import lmdb

from rotifer_host import contract
from rotifer_host.errors import StoreError
from rotifer_host.lock import Patience
from rotifer_host.memory.entry import DataPolicy, Record
from rotifer_host.store import codec
from rotifer_host.store.change import LmdbChange
from rotifer_host.store.environment import Environment, failure, registry
from rotifer_host.store.pages import shown
from rotifer_host.store.view import LmdbSnapshot

__all__ = ["LmdbStore", "open_store"]


class LmdbStore:
    """All entries of one agent, in one LMDB file."""

    def __init__(self, environment: Environment) -> None:
        self._environment: Environment | None = environment

    @property
    def begun_below(self) -> bytes:
        """SHA-256 of the last line of the audit log when this memory was made, empty where none was known."""
        return b"" if self._environment is None else self._environment.begun_below

    @property
    def version(self) -> memoryview | None:
        """Eight bytes that hold another number after every commit; None where LMDB does not show it."""
        return None if self._environment is None else self._environment.version

    def peek(self, identity: bytes, now_s: int, policy: DataPolicy) -> Record | None:
        """Return a record of the state that is the committed one, when all else is known of it; see `Store`."""
        environment = self._environment
        env = None if environment is None else environment.env
        if environment is None or env is None:
            return None
        committed = environment.committed
        soonest, days = committed.first_own, policy.maxRetentionDays
        if soonest is not None and days is not None:
            changed = committed.first_follower
            soonest = None if changed is None else min(soonest, changed + days * contract.SECONDS_PER_DAY)
        if soonest is None or soonest <= now_s:
            return None
        known = committed.records.get(identity)
        if known is not None and environment.newest is not None and committed.number == environment.newest[0]:
            return known
        try:
            txn = env.begin()
        except lmdb.Error:  # what it is, a view tells
            return None
        try:
            raw = txn.get(codec.ENTRIES + identity) if txn.id() == committed.number else None
            return None if raw is None else committed.keep(identity, codec.decode_record(raw))
        except lmdb.Error:
            return None
        finally:
            txn.abort()

    def snapshot(self) -> LmdbSnapshot:
        """Open a view of the latest committed state; raises `StoreError`."""
        environment = self._environment
        env = None if environment is None else environment.env
        if environment is None or env is None:
            raise _closed()
        try:
            try:
                txn = env.begin()
            except lmdb.ReadersFullError:
                env.reader_check()  # frees the slots of processes that were killed
                txn = env.begin()
            except lmdb.PanicError:
                txn = None
            if txn is None:  # not in the clause above: there the error, by its traceback, may still use `env`
                del env
                txn = registry.reopen(environment).begin()
        except lmdb.Error as error:
            message = f"cannot read {shown(environment.path)}: {error}"
            raise StoreError(message) from error
        return LmdbSnapshot(environment, txn)

    def begin(self, patience: Patience) -> LmdbChange:
        """Start a change, waiting as long as `patience` allows; raises `StoreError` or `LockTimeoutError`."""
        environment = self._environment
        if environment is None or environment.env is None:
            raise _closed()
        try:
            environment.lock.acquire(patience)
            try:
                return _begin(environment)
            except BaseException:
                environment.lock.release()
                raise
        except (lmdb.Error, OSError) as error:
            raise failure(environment.path, "change", error) from error

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


def open_store(
    path: Path, *, agent_id: str, quota: int, distrusted: bool = False, last_line: Callable[[], bytes] = bytes
) -> LmdbStore:
    """Open an agent's memory file, made (mode 0600) when it is missing.

    A new one keeps the hash of the audit log's `last_line`: what stands above it is not of this memory.
    All pages of a `distrusted` file are looked through first, though it is what it was
    when it was closed in order; otherwise only those of a file that is not.
    Every store that a process opens on one file shares one LMDB environment. Raises
    `StoreError` when the file cannot be opened, has another format or belongs to
    another agent, `LockTimeoutError` when another process holds a new file too long.
    """
    return LmdbStore(registry.acquire(path, agent_id, quota, distrusted=distrusted, last_line=last_line))


def _begin(environment: Environment) -> LmdbChange:
    if environment.env is None:
        raise _closed()
    try:
        txn = environment.env.begin(write=True)
    except lmdb.PanicError:
        txn = None
    if txn is None:
        txn = registry.reopen(environment).begin(write=True)
    try:
        return LmdbChange(environment, txn)
    except BaseException:
        txn.abort()  # not left to whoever keeps the error, and its traceback
        raise


def _closed() -> StoreError:
    return StoreError("this memory is closed here; open it again, also in a process forked after it was opened")
