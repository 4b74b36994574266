"""Bytes as the vectors write them.

A string stands for its UTF-8; `{"hex": "00ff"}` for bytes that are none;
`{"times": n, "of": BYTES}` for a repetition; an array for its parts one after another.
So a value of 1 MiB takes a line, and a reader sees what it is.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Bytes", "expand", "hexed", "times", "written"]

Bytes = Any
"""A JSON value in the notation."""


def expand(notation: Bytes) -> bytes:
    """Return the bytes that a notation stands for. Raises `ValueError` for what is none."""
    match notation:
        case str():
            return notation.encode()
        case list():
            return b"".join(map(expand, notation))
        case {"hex": str(digits), **rest} if not rest:
            return bytes.fromhex(digits)
        case {"times": int(count), "of": part, **rest} if not rest:
            return expand(part) * count
    message = f"not bytes in the notation of the vectors: {notation!r}"
    raise ValueError(message)


def hexed(data: bytes) -> Bytes:
    """Return the notation of bytes that are no text."""
    return {"hex": data.hex()}


def times(count: int, part: Bytes) -> Bytes:
    """Return the notation of a repetition."""
    return {"times": count, "of": part}


def written(data: bytes) -> Bytes:
    """Return bytes as text where they are text, else in hex."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return hexed(data)
