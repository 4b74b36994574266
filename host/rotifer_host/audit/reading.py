"""What stands in a log, sound or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from rotifer_host.errors import AuditError

__all__ = ["FoundLine", "document_of", "read_lines", "scan"]

_decoder: Final = msgspec.json.Decoder(dict[str, Any])


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

    Raises `AuditError` for a file that cannot be read and for a line that is not a
    JSON object.
    """
    for line in scan(path):
        if line.document is not None:
            yield line.document
        elif line.whole:
            message = f"line {line.number} of {path} is not a JSON object"
            raise AuditError(message)


def document_of(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a line is, None when it is none."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
