"""`--input`: JSON text, `@FILE`, or `-` for standard input."""

from __future__ import annotations

import sys
from typing import Any

from rotifer_host import contract
from rotifer_host.cli.common import Session
from rotifer_host.errors import DocumentError, UsageError
from rotifer_host.limits import format_size
from rotifer_host.text import quoted

__all__ = ["read_bytes", "read_input"]

_HELP = "--input takes JSON text, @FILE for a file, or - for standard input"


def read_input(session: Session, source: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON value `source` stands for.

    Raises `UsageError` for what cannot be read, is over 16 MiB, or is not one JSON
    document; the message says where it stops being one.
    """
    from rotifer_host.sandbox import decode_document  # noqa: PLC0415 - loads the engine

    data = read_bytes(session, source, "the input", _HELP)
    what = f"the input in {quoted(source[1:])}" if source.startswith("@") else "the input"
    if not data:
        raise UsageError(f"{what} is not JSON: it is empty", help=_HELP)
    if len(data) > contract.MAX_INPUT_BYTES:
        raise UsageError(f"{what} is larger than {format_size(contract.MAX_INPUT_BYTES)}")
    try:
        data.decode()  # the JSON library takes other bytes for characters that do not belong there
        return decode_document(data)
    except UnicodeDecodeError as error:
        raise UsageError(f"{what} is not UTF-8: byte {error.start}", help=_HELP) from error
    except DocumentError as error:
        raise UsageError(f"{what} is not JSON: {error.message}", help=_HELP) from error


def read_bytes(session: Session, source: str, what: str, help_text: str | None = None) -> bytes:
    """Return what a text, `@FILE` or `-` stands for, at most one byte more than an input may have.

    Raises `UsageError`, naming `what`.
    """
    most = contract.MAX_INPUT_BYTES + 1
    try:
        if source == "-":
            return b"" if sys.stdin is None else sys.stdin.buffer.read(most)
        if source == "@":
            raise UsageError(f"cannot read {what}: no name follows the @", help=help_text)
        if source.startswith("@"):
            with (session.directory / source[1:]).open("rb") as file:
                return file.read(most)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"cannot read {what} from {'standard input' if source == '-' else quoted(source[1:])}: {reason}"
        raise UsageError(message, help=help_text) from error
    return source.encode("utf-8", "surrogateescape")
