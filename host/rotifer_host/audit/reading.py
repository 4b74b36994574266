"""What stands in a log, sound or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from rotifer_host import contract
from rotifer_host.audit.line import line_hash
from rotifer_host.errors import AuditError

__all__ = ["FoundLine", "document_of", "is_begin", "is_line", "last_hash", "read_lines", "scan"]

_decoder: Final = msgspec.json.Decoder(dict[str, Any])
_BEGIN: Final = b'{"v":%d,' % contract.FORMAT_VERSION
_TAIL_BYTES: Final = 64 * contract.KIB


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
            end, wanted = file.seek(0, 2), _TAIL_BYTES
            while True:
                start = file.seek(max(end - wanted, 0))
                lines = file.read(end - start).split(b"\n")[:-1]
                if len(lines) > 1 or (lines and not start):
                    return line_hash(lines[-1]).digest()
                if not start:
                    return b""
                wanted *= 16
    except OSError:
        return b""


def document_of(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a line is, None when it is none."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
