"""Foreign text on its way to a terminal.

Keys, logs, messages and outputs come from guests. Whatever could move the cursor,
colour, hide or reorder what a person reads is shown as the escape JSON would use
for it, so that JSON stays the same JSON.
"""

from __future__ import annotations

import codecs
import json
import re
import unicodedata
from typing import Final

__all__ = ["counted", "encodable", "indented", "is_unicode", "printable", "quoted", "shortened"]

_SUSPECT: Final = re.compile(r"[^\x20-\x7e]+")
_FIRST_ASTRAL: Final = 0x10000


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return `text` with every character that is not plainly visible as `\uXXXX`.

    That is control characters (ESC, CR, the C1 set), format characters (bidirectional
    overrides, zero-width and tag characters), line and paragraph separators, lone
    surrogates, private and unassigned code points; beyond U+FFFF two escapes, as in
    JSON. With `lines`, line feed and tab stay.
    """
    kept = "\n\t" if lines else ""

    def escape(match: re.Match[str]) -> str:
        run = match[0]
        return run if run.isprintable() else "".join(c if c in kept or _is_visible(c) else _escaped(c) for c in run)

    return _SUSPECT.sub(escape, text)


def quoted(text: str) -> str:
    """Return `text` itself when it is short of surprises, else as a JSON string.

    Two different texts never look the same: what has an escape, a quote, a backslash
    or outer blanks is always quoted.
    """
    shown = printable(text)
    if shown == text and text == text.strip() and text and not set(text) & {'"', "\\"}:
        return text
    return printable(json.dumps(text, ensure_ascii=False))


def indented(text: str, prefix: str) -> str:
    """Return printable `text` with `prefix` before every line, so that no line can pass for the host's own."""
    return "\n".join(prefix + line for line in printable(text, lines=True).removesuffix("\n").split("\n"))


def counted(number: int, one: str, more: str = "") -> str:
    """Return `1 line`, `2 lines`, `1,000 entries`; `more` is the plural of what does not just take an s."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {more or one + 's'}"


def shortened(text: str, most: int) -> str:
    """Return `text`, without what comes after `most` characters: what guests say must not flood a message."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def encodable(text: str, encoding: str) -> str:
    """Return `text` with what `encoding` cannot write as the escapes of `printable`."""
    return text.encode(encoding, _ERRORS).decode(encoding)


def is_unicode(text: str) -> bool:
    """Tell whether `text` can be written in UTF-8: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_escaped, error.object[error.start : error.end])), error.end


_ERRORS: Final = "rotifer-escape"
codecs.register_error(_ERRORS, _escape_unencodable)


def _is_visible(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escaped(character: str) -> str:
    code = ord(character)
    if code < _FIRST_ASTRAL:
        return f"\\u{code:04x}"
    high, low = divmod(code - _FIRST_ASTRAL, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
