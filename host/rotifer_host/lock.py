"""One lock between the threads of a process and between processes, with a bounded wait.

A `flock` belongs to an open file and not to a thread, so a `FileLock` takes a
thread lock first and the file second. The kernel releases the file when its
process dies: nothing is ever stuck, and nothing has to be cleaned up.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from rotifer_host import contract
from rotifer_host.errors import LockTimeoutError
from rotifer_host.files import size_if_at

__all__ = ["FileLock", "Patience", "Wait"]

_FIRST_PAUSE_S: Final = 0.0002
_LONGEST_PAUSE_S: Final = 0.005


class Patience(Protocol):
    """How long a caller may wait, and whether it still wants to."""

    def remaining_s(self) -> float:
        """Return the seconds left, 0.0 or less when none; raises to end a cancelled wait."""
        ...


class Wait:
    """Patience of a fixed length, from now; by default what commands and the API wait outside a run."""

    __slots__ = ("_until",)

    def __init__(self, seconds: float = contract.LOCK_WAIT_OUTSIDE_RUN_MS / 1000) -> None:
        self._until = time.monotonic() + seconds

    def remaining_s(self) -> float:
        """Return the seconds left, 0.0 or less when none."""
        return self._until - time.monotonic()


class FileLock:
    """An exclusive lock on the file at `path`, which is made (mode 0600) when it is missing.

    Not reentrant. Raises `LockTimeoutError` when patience runs out, `OSError` when
    the file cannot be opened. A forked child starts with its own, free lock and never
    gives its parent's back. When the file is deleted or replaced, the next holder
    locks the new one: two processes never hold "the same" lock on different files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._thread_lock = threading.Lock()
        self._fd = -1
        self._file = (-1, -1)
        _every_lock.add(self)

    def acquire(self, patience: Patience) -> None:
        """Take the lock; tries at least once, even with no patience left."""
        if not self._thread_lock.acquire(False):  # noqa: FBT003 - by name it takes twice as long
            self._wait_for_thread(patience)
        try:
            if self._fd < 0:
                self._reopen()
            while True:
                try:
                    fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self._wait_for_file(patience)
                if size_if_at(self._name, self._file) >= 0:
                    return
                self._reopen()
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Give the lock back; only its holder may, and in a fork of the holder nothing happens."""
        if self._thread_lock.locked():
            try:
                if self._fd >= 0:
                    fcntl.flock(self._fd, fcntl.LOCK_UN)
            except OSError:  # what the holder did is done; closing the file gives the lock back, too
                self.close()
            finally:  # also where a signal's handler raises
                self._thread_lock.release()

    @contextlib.contextmanager
    def held(self, patience: Patience) -> Iterator[None]:
        """Hold the lock for the length of a `with` block."""
        self.acquire(patience)
        try:
            yield
        finally:
            self.release()

    def close(self) -> None:
        """Close the file; the next `acquire` opens it again. Not for use while the lock is held."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            os.close(self._fd)

    def _forget(self) -> None:
        """In a forked child: leave the parent's lock to the parent, whose threads do not exist here."""
        self._thread_lock = threading.Lock()
        self.close()  # closing a shared descriptor does not unlock it

    def _wait_for_thread(self, patience: Patience) -> None:
        while not self._thread_lock.acquire(timeout=min(max(patience.remaining_s(), 0.0), _LONGEST_PAUSE_S)):
            if patience.remaining_s() <= 0:
                raise self._timeout()

    def _wait_for_file(self, patience: Patience) -> None:
        """Lock what is open as soon as others give it back."""
        pause = _FIRST_PAUSE_S
        while True:
            remaining = patience.remaining_s()
            if remaining <= 0:
                raise self._timeout() from None
            time.sleep(min(pause, remaining))
            pause = min(pause * 2, _LONGEST_PAUSE_S)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return

    def _reopen(self) -> None:
        self.close()
        self._fd = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        opened = os.fstat(self._fd)
        self._file = (opened.st_dev, opened.st_ino)

    def _timeout(self) -> LockTimeoutError:
        return LockTimeoutError(
            f"another run or command is holding {self.path.name}",
            help="try again when it has finished",
        )


_every_lock: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _forget_all() -> None:
    for lock in _every_lock:
        lock._forget()  # noqa: SLF001 - the same module


os.register_at_fork(after_in_child=_forget_all)
