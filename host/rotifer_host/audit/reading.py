"""What stands in a log, sound or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from rotifer_host import contract
from rotifer_host.audit.line import line_hash
from rotifer_host.errors import AuditError

__all__ = [
    "FoundLine",
    "document_of",
    "hash_before",
    "hash_of",
    "is_begin",
    "is_line",
    "last_hash",
    "read_lines",
    "scan",
    "tail",
]

_decoder: Final = msgspec.json.Decoder(dict[str, Any])
_BEGIN: Final = b'{"v":%d,' % contract.FORMAT_VERSION
_TAIL_BYTES: Final = 4 * contract.KIB
"""Nearly all last lines are shorter."""


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
                yield FoundLine(number, text, document_of(text), len(text) < len(line))
    except FileNotFoundError:
        return
    except OSError as error:
        message = f"cannot read the audit log {path}: {error.strerror}"
        raise AuditError(message) from error


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a log, oldest first; none for a missing file, and not a torn last one.

    Raises `AuditError` for a file that cannot be read and for what is no audit line.
    """
    for line in scan(path):
        if line.document is not None and is_line(line.document):
            yield line.document
        elif not is_begin(line):
            message = f"line {line.number} of {path} is not an audit line"
            raise AuditError(message, help="`rotifer audit verify` names all such lines")


def is_line(document: dict[str, Any]) -> bool:
    """Tell whether a JSON object is a line of this format, as far as every line is alike."""
    version = document.get("v")
    return type(version) is int and version == contract.FORMAT_VERSION and isinstance(document.get("action"), str)


def is_begin(line: FoundLine) -> bool:
    """Tell whether what stands at the end of a file can be what a crash, or a write going on, has left of a line.

    A power cut may leave zeros in the place of anything.
    """
    text = line.text.partition(b"\0")[0]
    return line.document is None and not line.whole and text[: len(_BEGIN)] == _BEGIN[: len(text)]


def last_hash(path: Path) -> bytes:
    """Return the hash of a log's last whole line, empty where there is none or it cannot be read."""
    try:
        with path.open("rb") as file:
            return hash_before(file.fileno(), os.fstat(file.fileno()).st_size)
    except OSError:
        return b""


def hash_before(fd: int, end: int, longest: int | None = None) -> bytes:
    """Return the hash of the last whole line before `end`; empty when there is none. Raises `OSError`."""
    text, start = tail(fd, end, longest)
    if text and not text.endswith(b"\n"):
        text, _ = tail(fd, start, longest)
    return hash_of(text)


def tail(fd: int, end: int, longest: int | None = None) -> tuple[bytes, int]:
    """Return what stands from the begin of the last line up to `end`, and where that is.

    Of a line without an end that is longer than `longest` only a part that is, too. Raises `OSError`.
    """
    size = _TAIL_BYTES
    while True:
        start = max(end - size, 0)
        text = os.pread(fd, end - start, start)
        cut = text.rfind(b"\n", 0, max(len(text) - 1, 0)) + 1
        if cut or not start or (longest is not None and size > longest and not text.endswith(b"\n")):
            return text[cut:], start + cut
        size *= 16


def hash_of(line: bytes) -> bytes:
    """Return the hash of a line, with its end or without; empty of no line."""
    return line_hash(line.removesuffix(b"\n")).digest() if line else b""


def document_of(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a line is, None when it is none."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
