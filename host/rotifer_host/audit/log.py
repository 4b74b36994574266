"""The file that audit lines are written to."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn, Protocol

import msgspec

from rotifer_host import contract
from rotifer_host.audit.line import Written, decode_line, link
from rotifer_host.audit.reading import document_of, hash_before, hash_of, last_hash, tail
from rotifer_host.errors import AuditError
from rotifer_host.files import size_if_at, sync_folder
from rotifer_host.lock import FileLock, Patience

__all__ = ["AuditLog", "AuditSink"]

_MAX_TORN_BYTES: Final = contract.MIB
"""More than this without a line end was not written by any host."""


class AuditSink(Protocol):
    """Where audit lines go: the project's log, or a list in a test."""

    def append(
        self,
        lines: Sequence[bytes],
        patience: Patience,
        *,
        after: bytes | None = None,
        durable: bool,
        held: bool = False,
    ) -> Written:
        """Write all lines, at least one, or none; with `durable` they are on disk when this returns.

        Each is a JSON object without a line end, to which `link` adds what it says of the
        lines before it. `held` says that earlier lines of the same transaction are in the
        log already. Raises `AuditError`, or `LockTimeoutError` when the log stays locked.
        """
        ...

    def sync(self) -> None:
        """Bring every line written so far to the disk. Raises `AuditError`."""
        ...

    def witness(self, patience: Patience) -> bytes:
        """Return the hash of the last line there is, by now on the disk; empty when there is none.

        Raises what `append` does.
        """
        ...


class AuditLog:
    """The project's log file, shared by all its processes and threads.

    Lines are appended under one project-wide lock, the file beside it with the ending
    `.lock`, by one write. A last line that a crash or a full disk left torn is sealed
    first: its text becomes the `torn` of a line `{"v", "ts", "action": "audit.seal",
    "torn", "above"}`, so that every line of the file parses. The log may be moved away or
    deleted at any time: the next line starts a new one (mode 0600).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._shown = path.name  # in messages: a guest sees them, and need not see where the project lies
        self._lock = FileLock(path.with_suffix(".lock"))
        self._open: _OpenFile | None = None

    def append(
        self,
        lines: Sequence[bytes],
        patience: Patience,
        *,
        after: bytes | None = None,
        durable: bool,
        held: bool = False,
    ) -> Written:
        """Write all lines, at least one, or none; with `durable` they are on disk when this returns.

        Each is a JSON object without a line end, to which `link` adds what it says of the
        lines before it. Lines that a `held` transaction adds go to the file in use, moved
        away or not: the one its first lines went to, or one that others began since.
        Raises `AuditError`, or `LockTimeoutError` when the log stays locked. Only when
        bringing them to the disk is what failed may the lines be in the file all the same.
        """
        try:
            self._lock.acquire(patience)
            try:
                file = self._open
                if held and file is not None:
                    end = os.lseek(file.fd, 0, os.SEEK_END)
                else:
                    file, end = self._current()
                written = self._append(file, end, lines, after)
            finally:
                self._lock.release()
        except OSError as error:
            self._fail(error)
        if durable:
            # outside the lock: agents that sync at the same time share one flush of the disk
            self._sync(file, written.lines)
        return written

    def sync(self) -> None:
        """Bring every line this object wrote to the disk. Raises `AuditError`."""
        file = self._open
        if file is not None:
            self._sync(file)

    def witness(self, patience: Patience) -> bytes:
        """Return the hash of the last line in the file this object wrote to, by now on the disk; empty without one.

        Raises what `append` does.
        """
        file = self._open
        if file is None:
            return b""
        try:
            with self._lock.held(patience):
                end = os.lseek(file.fd, 0, os.SEEK_END)
                last = file.last if end == file.end else hash_before(file.fd, end, _MAX_TORN_BYTES)
        except OSError as error:
            self._fail(error)
        self._sync(file)
        return last

    def last_hash(self) -> bytes:
        """Return the hash of the last whole line of the file at the path, empty where there is none to read."""
        return last_hash(self.path)

    def close(self) -> None:
        """Close the files; the next `append` opens them again."""
        self._open = None
        self._lock.close()

    def _sync(self, file: _OpenFile, lines: Sequence[bytes] = ()) -> None:
        try:
            os.fdatasync(file.fd)
        except OSError as error:
            self._fail(error, lines)

    def _append(self, file: _OpenFile, end: int, lines: Sequence[bytes], after: bytes | None) -> Written:
        last = file.last
        if end != file.end:
            line, start = tail(file.fd, end, _MAX_TORN_BYTES)
            if line and not line.endswith(b"\n"):
                line = self._seal(file, line, start, decode_line(lines[0]).ts)
                end = start + len(line)
            last = hash_of(line)
        written = link(lines, after=after, above=last)
        data = b"\n".join([*written.lines, b""])
        count = os.write(file.fd, data)
        if count != len(data):
            file.end = -1
            with contextlib.suppress(OSError):  # else the next append seals what is left
                os.ftruncate(file.fd, end)
            raise self._no_room(f"only {count} of {len(data)} bytes fit")
        file.end, file.last = end + count, written.last
        return written

    def _current(self) -> tuple[_OpenFile, int]:
        """Return the file that is at the path now, and its size."""
        file = self._open
        if file is not None:
            size = size_if_at(self._name, file.identity)
            if size >= 0:
                return file, size
            os.fdatasync(file.fd)  # `sync` will not see it again
        self._open = file = _OpenFile(self._name)
        return file, os.lseek(file.fd, 0, os.SEEK_END)

    def _seal(self, file: _OpenFile, torn: bytes, start: int, ts: str) -> bytes:
        """Make the torn last line, which begins at `start`, a whole one; return it with its line end."""
        if len(torn) > _MAX_TORN_BYTES:
            message = f"the last line of {self._shown} is longer than {_MAX_TORN_BYTES} bytes: not an audit log"
            raise AuditError(message, help="move the file away; a new one will be started")
        seal = torn
        if document_of(torn) is None:
            line = {
                "v": contract.FORMAT_VERSION,
                "ts": ts,
                "action": "audit.seal",
                "torn": torn.decode(errors="replace"),
            }
            (seal,) = link(
                [msgspec.json.encode(line)], after=None, above=hash_before(file.fd, start, _MAX_TORN_BYTES)
            ).lines
        seal += b"\n"
        # The seal is longer than what it covers and goes over it in place: at no moment are the torn bytes lost.
        with os.fdopen(os.open(self._name, os.O_WRONLY | os.O_CLOEXEC), "wb", buffering=0) as over:
            if not os.path.sameopenfile(over.fileno(), file.fd):
                raise OSError(errno.ESTALE, "it was moved away at this moment")
            if os.pwrite(over.fileno(), seal, start) != len(seal):
                os.pwrite(over.fileno(), torn, start)
                os.ftruncate(file.fd, start + len(torn))
                raise self._no_room("no room to close its torn last line")
        return seal

    def _no_room(self, what: str) -> AuditError:
        message = f"cannot write the audit log {self._shown}: {what}"
        return AuditError(message, help="make room on the disk; what the line was for has not been done")

    def _fail(self, error: OSError, written: Sequence[bytes] = ()) -> NoReturn:
        message = f"cannot write the audit log {self._shown}: {error.strerror or error}"
        failure = AuditError(message, help="what the line was for has not been done")
        failure.written = written
        raise failure from error


class _OpenFile:
    """A descriptor that lives as long as anybody uses it, so that no thread syncs a number that means another file."""

    __slots__ = ("end", "fd", "identity", "last")

    def __init__(self, name: str) -> None:
        self.fd = -1
        self.end = -1
        """Size of the file after this object's last line; while it has it, `last` is the hash of its last line."""
        self.last = b""
        self.fd = os.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        found = os.fstat(self.fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        self.identity = (found.st_dev, found.st_ino)
        sync_folder(Path(name).parent)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
