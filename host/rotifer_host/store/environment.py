"""The LMDB environment of a memory file: opened once per process, shared, never carried over a fork.

LMDB must not open one file twice in a process, and an environment must not be used
in a forked child. So environments are shared by the file's inode, and a child starts
with none: stores opened before the fork are of no use in it, but it can open the same
file again. (Only where another thread was inside a transaction at the moment of the
fork it cannot: closing the inherited environment would release that transaction's
locks, which are its parent's.)
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import lmdb
import msgspec

from rotifer_host import contract
from rotifer_host.errors import StoreError
from rotifer_host.files import sync_folder
from rotifer_host.lock import FileLock, Wait
from rotifer_host.memory.entry import Record
from rotifer_host.memory.quota import entry_limit
from rotifer_host.store import codec
from rotifer_host.store.pages import DAMAGED_HELP, check_pages, read_metas, shown
from rotifer_host.store.protocol import Chain, Totals
from rotifer_host.store.seal import is_sealed, seal, was_sealed
from rotifer_host.store.version import map_version_page, version_cell

__all__ = ["Committed", "Environment", "failure", "map_size", "mapped", "registry"]

_FORMAT: Final = str(contract.FORMAT_VERSION).encode()
_MAX_READERS: Final = 1024
_LARGEST_KEPT_BODY: Final = 4 * contract.KIB
_MOST_KEPT_RECORDS: Final = 256

_LARGEST_MAP_BYTES: Final = 8 << 40
_MAP_BYTES_PER_QUOTA_BYTE: Final = 16
_MAP_BYTES_PER_ENTRY: Final = 16 * contract.KIB
_MAP_BYTES_PER_DOCUMENT_BYTE: Final = 4
_MAP_SPARE_BYTES: Final = 64 * contract.MIB


def map_size(quota: int) -> int:
    """Return the bytes of address space to map for a memory with this quota; the file stays as small as it is.

    A byte of a key takes at most 7 in an entry's JSON and msgpack, an entry at most two
    pages beside what it holds, and copy-on-write needs as much again. 8 TiB is what
    several agents can map side by side; only a quota in the hundreds of gigabytes that
    is full of the tiniest entries would need more.
    """
    needed = quota * _MAP_BYTES_PER_QUOTA_BYTE + entry_limit(quota) * _MAP_BYTES_PER_ENTRY
    needed += contract.MAX_DOCUMENTS_BYTES * _MAP_BYTES_PER_DOCUMENT_BYTE + _MAP_SPARE_BYTES
    return min(needed, _LARGEST_MAP_BYTES)


@contextmanager
def mapped(path: Path, doing: str) -> Iterator[None]:
    """Turn what LMDB and the operating system raise into a `StoreError` naming the file."""
    try:
        yield
    except (lmdb.Error, OSError) as error:
        raise failure(path, doing, error) from error


def failure(path: Path, doing: str, error: Exception) -> StoreError:
    """Return what `mapped` raises for what LMDB or the operating system raised."""
    reason = str(error).replace(os.fspath(path), shown(path))
    if isinstance(error, OSError) and error.strerror:
        where = path if error.filename is None else Path(os.fsdecode(error.filename))
        reason = error.strerror if where == path else f"{where.name}: {error.strerror}"
    return StoreError(f"cannot {doing} {shown(path)}: {reason}")


class Committed(msgspec.Struct):
    """What is known of the state one transaction committed, which never changes again."""

    number: int
    """LMDB's id of the transaction."""
    first_own: int | None = None
    """First second in which an entry with a policy of its own expires."""
    first_follower: int | None = None
    """First second in which one that follows the data policy was changed."""
    records: dict[bytes, Record] = {}
    """A few small records that were read."""
    totals: Totals | None = None
    chain: Chain | None = None
    follows: bool | None = None
    """Whether there are rows for the entries that follow the data policy."""

    def keep(self, identity: bytes, record: Record) -> Record:
        """Remember a record that was read, if it is small, and return it."""
        if len(record.body) <= _LARGEST_KEPT_BODY and len(self.records) < _MOST_KEPT_RECORDS:
            self.records[identity] = record
        return record


class Environment:
    """An open memory file with its writers' lock."""

    def __init__(  # noqa: PLR0913 - keywords: what is known of the file
        self,
        path: Path,
        agent_id: str,
        quota: int,
        *,
        created: bool,
        distrusted: bool,
        last_line: Callable[[], bytes],
    ) -> None:
        self.path = path
        self.agent_id = agent_id
        self.users = 0
        self.lock = FileLock(path.with_name(f"{path.name}.lock"))
        self.committed = Committed(-1)
        self.begun_below = b""
        """Hash of the last line of the audit log when the file was made; empty where none was known."""
        self._sound = not distrusted and is_sealed(path, self.lock.path)
        if not self._sound:
            metas = read_metas(path)  # LMDB maps what these say, whatever it is
            if not metas and not created and was_sealed(path, self.lock.path):
                raise StoreError(f"{shown(path)} is empty, and was not when it was closed", help=DAMAGED_HELP)
        cell = map_version_page(path)
        self._map_size = map_size(quota)
        self.env: lmdb.Environment | None = self._open()
        try:
            self.env.reader_check()
            self._check_pages()
            if _is_empty(self.env):
                with self.lock.held(Wait()):
                    sync_folder(path.parent)  # before the file counts as made: else nobody would try again
                    self._initialise(self.env, last_line)
            self._check(self.env)
            self.version = version_cell(cell, self.env)
            self.newest = None if self.version is None else self.version.cast("Q")
            """The same as a number, `newest[0]`."""
        except BaseException:
            self.close()
            raise
        self._idle_references = sys.getrefcount(self.env)

    @property
    def idle(self) -> bool:
        """Whether no transaction of this process exists: each would hold a reference to the environment."""
        return sys.getrefcount(self.env) == self._idle_references

    def reopen(self) -> None:
        """Close the file and open it again, where no transaction of this process is in the way."""
        if self.idle:
            env, self.env = self.env, None
            if env is not None:
                env.close()
            del env
            self.env = self._open()
            self._idle_references = sys.getrefcount(self.env)

    def close(self) -> None:
        """Close the file; stores that still use it raise `StoreError` from now on."""
        env, self.env = self.env, None
        if env is not None:
            env.close()
            if self._sound:
                seal(self.path, self.lock.path)
        self.lock.close()

    def _open(self) -> lmdb.Environment:
        return lmdb.open(
            os.fspath(self.path), map_size=self._map_size, subdir=False, mode=0o600, max_readers=_MAX_READERS
        )

    def distrust(self) -> None:
        """Look through all pages of the open file; raises `StoreError` for any damage, which is not sealed then."""
        self._sound = False
        self._check_pages()

    def _check_pages(self) -> None:
        while not self._sound and self.env is not None:
            with self.env.begin() as txn:
                self._sound = check_pages(self.path, txn.id())

    def _initialise(self, env: lmdb.Environment, last_line: Callable[[], bytes]) -> None:
        with env.begin(write=True) as txn:
            if txn.get(codec.FORMAT_KEY) is None:  # else another process was faster
                txn.put(codec.FORMAT_KEY, _FORMAT)
                txn.put(codec.AGENT_KEY, self.agent_id.encode())
                txn.put(codec.TOTALS_KEY, codec.encode_totals(Totals()))
                txn.put(codec.CHAIN_KEY, codec.encode_chain(Chain()))
                if above := last_line():
                    txn.put(codec.BEGUN_KEY, above)

    def _check(self, env: lmdb.Environment) -> None:
        with env.begin() as txn:
            version, owner = txn.get(codec.FORMAT_KEY), txn.get(codec.AGENT_KEY)
            self.begun_below = bytes(txn.get(codec.BEGUN_KEY, b""))
        if version != _FORMAT:
            found = "no format" if version is None else f"format {ascii(version)[2:-1]}"
            message = f"{shown(self.path)} has {found} of memory, this version reads {contract.FORMAT_VERSION}"
            raise StoreError(message)
        if owner != self.agent_id.encode():
            message = f"{shown(self.path)} is the memory of another agent"
            raise StoreError(message)


class _Registry:
    """The environments open in this process, by device and inode of their file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[int, int], Environment] = {}
        self._unclosable: list[lmdb.Environment] = []
        os.register_at_fork(after_in_child=self._after_fork)

    def acquire(
        self, path: Path, agent_id: str, quota: int, *, distrusted: bool, last_line: Callable[[], bytes]
    ) -> Environment:
        """Open the file, made when it is missing, or share what is open; raises `StoreError` or `LockTimeoutError`."""
        with self._lock, mapped(path, "open"):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            created = not path.exists()
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                status = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise StoreError(f"cannot open {shown(path)}: it is no file")
            identity = (status.st_dev, status.st_ino)
            environment = self._open.get(identity)
            if environment is None or environment.env is None:  # None where it could not be reopened
                environment = Environment(
                    path.resolve(), agent_id, quota, created=created, distrusted=distrusted, last_line=last_line
                )
                self._open[identity] = environment
            elif environment.agent_id != agent_id:
                message = f"{shown(path)} is the memory of another agent"
                raise StoreError(message)
            elif distrusted:
                environment.distrust()
            environment.users += 1
            return environment

    def reopen(self, environment: Environment) -> lmdb.Environment:
        """Open a file again that LMDB has given up, and return what is open now; raises `StoreError`.

        After a write of its meta page failed, an LMDB environment answers MDB_PANIC to
        everything, disk repaired or not.
        """
        with self._lock, mapped(environment.path, "open"):
            environment.reopen()
            if environment.env is None:
                message = "this memory is closed here"
                raise StoreError(message)
            return environment.env

    def release(self, environment: Environment) -> None:
        """Give one use back; the last one closes the file."""
        with self._lock:
            environment.users -= 1
            if environment.users == 0 and environment.env is not None:
                self._open = {key: value for key, value in self._open.items() if value is not environment}
                environment.close()

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        inherited, self._open = self._open, {}
        for environment in inherited.values():
            idle = environment.idle
            env, environment.env = environment.env, None
            if env is not None and idle:
                env.close()
            elif env is not None:
                self._unclosable.append(env)


def _is_empty(env: lmdb.Environment) -> bool:
    """Answer as a transaction sees it: `env.stat` tells of a commit before transactions may, and while it is synced."""
    with env.begin() as txn, txn.cursor() as cursor:
        return not cursor.first()


registry: Final = _Registry()
