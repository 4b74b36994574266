"""From WebAssembly text to a module, and where a text stops being one."""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate
from typing import Final

import wasmtime
from wasmtime import WasmtimeError

from rotifer_host.errors import BadModuleError
from rotifer_host.text import printable, shortened

__all__ = ["assemble"]

_PLACE: Final = re.compile(r"(?:\n +--> | at )<anon>:(?P<line>\d+):(?P<column>\d+)(?:\n|\Z)")
"""How the engine says where, the second way on a long line; its columns are those of a terminal."""
_SHOWN: Final = 100
"""Characters of a line on either side of the place."""
_LONGEST_REASON: Final = 500
_WIDTHS: Final = {"W": 2, "F": 2}
_NO_WIDTH: Final = ("Mn", "Me", "Cf")


def assemble(wat: str | bytes, *, name: str = "text") -> bytes:
    """Turn WebAssembly text into a binary module; `name` is what errors call the text.

    Raises `BadModuleError`: `NAME:LINE:COLUMN: …`, both from 1 and in characters, and
    below it the line with a caret under the place.
    """
    try:
        return bytes(wasmtime.wat2wasm(wat))
    except (WasmtimeError, UnicodeError) as error:
        raise BadModuleError(_explained(str(error), wat, name)) from None


def _explained(said: str, wat: str | bytes, name: str) -> str:
    found = _PLACE.search(said)
    reason = shortened(" ".join(said[: found.start() if found else None].split()), _LONGEST_REASON)
    if found is None:
        return f"{name}: not WebAssembly text: {reason}"
    number = int(found["line"])
    line = (wat if isinstance(wat, str) else wat.decode()).split("\n")[number - 1]
    ends = accumulate(map(_width, line))  # not all of the line's: it may be long
    at = next((n for n, end in enumerate(ends) if end >= int(found["column"])), len(line))
    before, after = line[:at], line[at:]
    left, right = (printable(part.replace("\t", " ")) for part in (before[-_SHOWN:], after[:_SHOWN].rstrip("\r")))
    left = left if len(before) <= _SHOWN else f"...{left}"
    right = right if len(after) <= _SHOWN else f"{right}..."
    gutter = " " * len(str(number))
    place = f"{name}:{number}:{at + 1}"
    return f"{place}: not WebAssembly text: {reason}\n{number} | {left}{right}\n{gutter} | {' ' * _width(left)}^"


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    seen = (character for character in text if unicodedata.category(character) not in _NO_WIDTH)
    return sum(_WIDTHS.get(unicodedata.east_asian_width(character), 1) for character in seen)
