"""The audit log: one JSON line for every change to memory and every refusal.

memory-api.en.md, "What gets recorded". A line is in the file before its change is
saved; when it cannot be written, the change is not made.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, NoReturn, Protocol

import msgspec

from rotifer_host import contract
from rotifer_host.errors import AuditError
from rotifer_host.lock import FileLock, Patience

__all__ = [
    "Action",
    "Actor",
    "AuditLine",
    "AuditLog",
    "AuditSink",
    "FoundLine",
    "decode_line",
    "encode_line",
    "line_hash",
    "read_lines",
    "scan",
]

_MAX_TORN_BYTES: Final = contract.MIB
"""More than this without a line end was not written by any host."""

Actor = Literal["gene", "deployer", "host"]
Action = Literal[
    "memory.create",
    "memory.update",
    "memory.delete",
    "memory.evict",
    "memory.expire",
    "memory.reject",
    "memory.deny",
    "memory.abort",
]


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line, its members in this order; never holds a value, only its size."""

    v: int = contract.FORMAT_VERSION
    ts: str
    """RFC 3339, UTC, milliseconds."""
    agentId: str | None  # noqa: N815 - the names in the file
    """None for a gene that ran outside an agent."""
    agent: str | None
    """The agent's name."""
    actor: Actor
    geneId: str | None  # noqa: N815
    """The calling gene, also of the call that caused a `host` action; None for the deployer."""
    domain: str | None
    action: Action
    key: str | None
    entryId: str | None  # noqa: N815
    category: str | None
    bytes: int | None
    """Raw bytes of the value concerned."""
    code: str | msgspec.UnsetType = msgspec.UNSET
    """The MEMORY_… code of a refusal."""
    reason: str | msgspec.UnsetType = msgspec.UNSET
    seq: int | msgspec.UnsetType = msgspec.UNSET
    """Of a change: its number among the agent's changes, from 1."""
    prev: str | msgspec.UnsetType | None = msgspec.UNSET
    """Hash of the agent's line before this one, None where there is none; absent outside an agent's memory."""


class AuditSink(Protocol):
    """Where audit lines go: the project's log, or a list in a test."""

    def append(self, lines: Sequence[bytes], patience: Patience, *, durable: bool, held: bool = False) -> None:
        """Write all lines, encoded and without line ends, or none; with `durable` they are on disk when this returns.

        `held` says that earlier lines of the same transaction are in the log already.
        Raises `AuditError`, or `LockTimeoutError` when the log stays locked.
        """
        ...

    def sync(self) -> None:
        """Bring every line written so far to the disk. Raises `AuditError`."""
        ...


_decoder: Final = msgspec.json.Decoder(dict[str, Any])
_encode: Final = msgspec.json.Encoder().encode
_decode_audit_line: Final = msgspec.json.Decoder(AuditLine).decode
line_hash: Final = hashlib.sha256
"""`prev` is its hex digest over a line's bytes without the line end."""


def encode_line(line: AuditLine) -> bytes:
    """Return a line as `AuditSink.append` takes it; raises `AuditError` for a text that is not Unicode."""
    try:
        return _encode(line)
    except UnicodeEncodeError as error:
        message = f"cannot write the audit log: a text is not Unicode: {error.reason}"
        raise AuditError(message) from error


def decode_line(line: bytes) -> AuditLine:
    """Return what `encode_line` was given."""
    return _decode_audit_line(line)


class AuditLog:
    """The project's log file, shared by all its processes and threads.

    Lines are appended under one project-wide lock, the file beside it with the ending
    `.lock`, by one write. A last line that a crash or a full disk left torn is sealed
    first: its text becomes the `torn` of a line `{"v", "ts", "action": "audit.seal",
    "torn"}`, so that every line of the file parses. The log may be moved away or
    deleted at any time: the next line starts a new one (mode 0600).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._shown = path.name  # in messages: a guest sees them, and need not see where the project lies
        self._lock = FileLock(path.with_suffix(".lock"))
        self._open: _OpenFile | None = None

    def append(self, lines: Sequence[bytes], patience: Patience, *, durable: bool, held: bool = False) -> None:
        """Write all lines, encoded and without line ends, or none; with `durable` they are on disk when this returns.

        Lines that a `held` transaction adds go to the file its first ones went to, moved
        away or not. Raises `AuditError`, or `LockTimeoutError` when the log stays locked.
        Only when bringing them to the disk is what failed may the lines be in the file
        all the same.
        """
        if not lines:
            return
        try:
            data = b"%b\n" % b"\n".join(lines)
            self._lock.acquire(patience, checked=held)
            try:
                file = self._append(data, held=held)
            finally:
                self._lock.release()
            if durable:
                # outside the lock: agents that sync at the same time share one flush of the disk
                self._sync(file)
        except OSError as error:
            self._fail(error)

    def sync(self) -> None:
        """Bring every line this object wrote to the disk. Raises `AuditError`."""
        file = self._open
        if file is not None:
            self._sync(file)

    def close(self) -> None:
        """Close the files; the next `append` opens them again."""
        self._open = None
        self._lock.close()

    def _sync(self, file: _OpenFile) -> None:
        try:
            os.fdatasync(file.fd)
        except OSError as error:
            self._fail(error, written=True)

    def _append(self, data: bytes, *, held: bool) -> _OpenFile:
        file = self._open if held and self._open is not None else self._current()
        end = os.lseek(file.fd, 0, os.SEEK_END)
        if end != file.end and end and os.pread(file.fd, 1, end - 1) != b"\n":
            end = self._seal(file, end, decode_line(data.partition(b"\n")[0]).ts)
        written = os.write(file.fd, data)
        file.end = end + written
        if written != len(data):
            file.end = -1
            with contextlib.suppress(OSError):  # else the next append seals what is left
                os.ftruncate(file.fd, end)
            raise self._no_room(f"only {written} of {len(data)} bytes fit")
        return file

    def _current(self) -> _OpenFile:
        """Return the file that is at the path now."""
        file = self._open
        if file is not None:
            try:
                found = os.stat(self._name)  # noqa: PTH116 - every line comes here
            except FileNotFoundError:
                pass
            else:
                if file.identity == (found.st_dev, found.st_ino):
                    return file
            os.fdatasync(file.fd)  # `sync` will not see it again
        self._open = file = _OpenFile(self._name)
        return file

    def _seal(self, file: _OpenFile, end: int, ts: str) -> int:
        """Make the torn last line a whole one; return the new size."""
        start = max(end - _MAX_TORN_BYTES, 0)
        tail = os.pread(file.fd, end - start, start)
        cut = tail.rfind(b"\n") + 1
        if start and not cut:
            message = f"the last line of {self._shown} is longer than {_MAX_TORN_BYTES} bytes: not an audit log"
            raise AuditError(message, help="move the file away; a new one will be started")
        torn, start = tail[cut:], start + cut
        if _decode(torn) is not None:
            seal = torn + b"\n"
        else:
            line = {
                "v": contract.FORMAT_VERSION,
                "ts": ts,
                "action": "audit.seal",
                "torn": torn.decode(errors="replace"),
            }
            seal = msgspec.json.encode(line) + b"\n"
        # The seal is longer than what it covers and goes over it in place: at no moment are the torn bytes lost.
        with os.fdopen(os.open(self._name, os.O_WRONLY | os.O_CLOEXEC), "wb", buffering=0) as over:
            if not os.path.sameopenfile(over.fileno(), file.fd):
                raise OSError(errno.ESTALE, "it was moved away at this moment")
            if os.pwrite(over.fileno(), seal, start) != len(seal):
                os.pwrite(over.fileno(), torn, start)
                os.ftruncate(file.fd, end)
                raise self._no_room("no room to close its torn last line")
        return start + len(seal)

    def _no_room(self, what: str) -> AuditError:
        message = f"cannot write the audit log {self._shown}: {what}"
        return AuditError(message, help="make room on the disk; what the line was for has not been done")

    def _fail(self, error: OSError, *, written: bool = False) -> NoReturn:
        message = f"cannot write the audit log {self._shown}: {error.strerror or error}"
        failure = AuditError(message, help="what the line was for has not been done")
        failure.written = written
        raise failure from error


class _OpenFile:
    """A descriptor that lives as long as anybody uses it, so that no thread syncs a number that means another file."""

    __slots__ = ("end", "fd", "identity")

    def __init__(self, name: str) -> None:
        self.fd = -1
        self.end = -1
        """Size of the file after this object's last line; while it has it, its last line is a whole one."""
        self.fd = os.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        found = os.fstat(self.fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        self.identity = (found.st_dev, found.st_ino)
        folder = os.open(Path(name).parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


class FoundLine(NamedTuple):
    """A line of a log as it stands there."""

    number: int
    """From 1."""
    text: bytes
    """Without the line end."""
    document: dict[str, Any] | None
    """None where the text is not a JSON object."""
    whole: bool
    """Whether it has a line end."""


def scan(path: Path) -> Iterator[FoundLine]:
    """Yield what stands in a log, sound or not, oldest first; nothing for a missing file. Raises `AuditError`.

    Reads beside writers without a lock.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.removesuffix(b"\n")
                yield FoundLine(number, text, _decode(text), len(text) < len(line))
    except FileNotFoundError:
        return
    except OSError as error:
        message = f"cannot read the audit log {path}: {error.strerror}"
        raise AuditError(message) from error


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a log, oldest first; none for a missing file, and not a torn last one.

    Raises `AuditError` for a file that cannot be read and for a line that is not a
    JSON object.
    """
    for line in scan(path):
        if line.document is not None:
            yield line.document
        elif line.whole:
            message = f"line {line.number} of {path} is not a JSON object"
            raise AuditError(message)


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
