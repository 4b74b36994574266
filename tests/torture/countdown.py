"""A seam in which the N-th operation below the memory rules fails.

Everything the store, the locks, the audit log and telemetry ask of the operating
system and of LMDB, and every reading of the clock, counts as one operation. What a
failure looks like is what the real one does: an `OSError`, a short write, an
`lmdb.Error` with the transaction gone, an environment that answers MDB_PANIC until it
is opened anew.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Literal, Self

import lmdb
import pytest

from rotifer_host.files import size_if_at
from rotifer_host.testing import ManualClock

__all__ = ["MODES", "NEVER", "Countdown", "FaultyClock", "Mode"]

Mode = Literal["once", "from then on", "short"]
MODES: Final[tuple[Mode, ...]] = ("once", "from then on", "short")
"""Only the N-th operation fails; it and all later ones; or the N-th write takes half of its bytes."""

NEVER: Final = 1 << 60
"""An operation that no story comes to."""

_ERRORS: Final = {
    "open": errno.EMFILE,
    "stat": errno.EIO,
    "fstat": errno.EIO,
    "pread": errno.EIO,
    "write": errno.ENOSPC,
    "pwrite": errno.ENOSPC,
    "fdatasync": errno.EIO,
    "fsync": errno.EIO,
    "ftruncate": errno.EIO,
    "flock": errno.ENOLCK,
}
_MODULES: Final = ("audit.log", "files", "lock", "telemetry", "store.environment")


class Countdown:
    """Counts operations down while it is armed, all or `only` those of a kind, and says which one fails."""

    def __init__(self, number: int, mode: Mode, only: str | None = None) -> None:
        self.left = number
        self.only = only
        self.mode = mode
        self.hits: Counter[str] = Counter()
        self.panicking = False

    def fails(self, what: str) -> bool:
        """Count an operation; tell whether it must fail."""
        if self.mode == "short" or self.only not in {None, what}:
            return False
        self.left -= 1
        failed = self.left == 0 or (self.left < 0 and self.mode == "from then on")
        if failed:
            self.hits[what] += 1
        return failed

    def shortens(self) -> bool:
        """Count a write; tell whether it must take half of its bytes only."""
        if self.mode != "short":
            return False
        self.left -= 1
        if self.left == 0:
            self.hits["short write"] += 1
        return self.left == 0

    @property
    def passed_untouched(self) -> bool:
        """Whether nothing has failed."""
        return self.hits.total() == 0

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Count, and fail, for the length of a `with` block."""
        system, locks, database = _System(self, os), _System(self, fcntl), _Lmdb(self)
        with pytest.MonkeyPatch.context() as patch:
            for module in _MODULES:
                patch.setattr(f"rotifer_host.{module}.os", system)
            patch.setattr("rotifer_host.lock.fcntl", locks)
            for module in ("audit.log", "lock"):  # looks without `os.stat` where it is built
                patch.setattr(f"rotifer_host.{module}.size_if_at", system.counted("stat", size_if_at))
            patch.setattr("rotifer_host.store.environment.lmdb", database)
            yield


class FaultyClock(ManualClock):
    """A clock whose readings count, too."""

    def __init__(self, countdown: Countdown, start_ms: int) -> None:
        super().__init__()
        self.set(start_ms)
        self._countdown = countdown

    def now_ms(self) -> int:
        """Return the time, or fail."""
        if self._countdown.fails("clock"):
            raise OSError(errno.EIO, "the clock cannot be read")
        return super().now_ms()


class _System:
    """A module of system calls, some of which fail."""

    def __init__(self, countdown: Countdown, module: Any) -> None:
        self._countdown = countdown
        self._module = module

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._module, name)
        return self.counted(name, real) if name in _ERRORS else real

    def counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """Return an operation that counts as one of the name."""

        def call(*arguments: Any, **named: Any) -> Any:
            if self._countdown.fails(name):
                raise OSError(_ERRORS[name], os.strerror(_ERRORS[name]))
            if name in {"fsync", "fdatasync"}:
                return None  # the same
            if name in {"write", "pwrite"} and self._countdown.shortens():
                descriptor, data, *rest = arguments
                return real(descriptor, data[: len(data) // 2], *rest)
            return real(*arguments, **named)

        return call


class _Wrapped:
    def __init__(self, countdown: Countdown, real: Any) -> None:
        self._countdown = countdown
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _count(self, name: str) -> None:
        if self._countdown.fails(f"lmdb {name}"):
            raise lmdb.Error(f"mdb_{name}: {os.strerror(errno.EIO)}")


class _Lmdb(_Wrapped):
    """The module `lmdb`."""

    def __init__(self, countdown: Countdown) -> None:
        super().__init__(countdown, lmdb)

    def open(self, *arguments: Any, **named: Any) -> Any:
        self._count("env_open")
        self._countdown.panicking = False
        named["sync"] = False  # no power is cut here
        return _Env(self._countdown, lmdb.open(*arguments, **named))


class _Env(_Wrapped):
    def begin(self, *arguments: Any, **named: Any) -> Any:
        if self._countdown.panicking:
            raise lmdb.PanicError("mdb_txn_begin")
        self._count("txn_begin")
        return _Txn(self._countdown, self._real.begin(*arguments, **named), self, writes="write" in named)


class _Txn(_Wrapped):
    def __init__(self, countdown: Countdown, real: Any, env: _Env, *, writes: bool) -> None:
        super().__init__(countdown, real)
        self._env = env  # a transaction holds a reference to its environment
        self._writes = writes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._writes:
            self.commit()
        else:
            self._real.abort()

    def get(self, *arguments: Any) -> Any:
        self._count("get")
        return self._real.get(*arguments)

    def put(self, *arguments: Any) -> Any:
        self._count("put")
        return self._real.put(*arguments)

    def delete(self, *arguments: Any) -> Any:
        self._count("del")
        return self._real.delete(*arguments)

    def cursor(self) -> Any:
        self._count("cursor_open")
        return _Cursor(self._countdown, self._real.cursor())

    def commit(self) -> None:
        if self._countdown.fails("lmdb commit"):
            self._real.abort()
            raise lmdb.Error(f"mdb_txn_commit: {os.strerror(errno.ENOSPC)}")
        if self._countdown.fails("lmdb meta page"):
            self._real.abort()
            self._countdown.panicking = True
            raise lmdb.Error(f"mdb_txn_commit: {os.strerror(errno.EIO)}")
        self._real.commit()


class _Cursor(_Wrapped):
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._real.close()

    def __getattr__(self, name: str) -> Any:
        if name in {"first", "set_range", "next", "prev", "last"}:
            self._count("cursor_get")
        return getattr(self._real, name)
