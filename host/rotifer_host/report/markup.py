"""HTML in which only what is marked as such is markup.

Keys, values, logs and messages come from guests: text is escaped where it becomes part
of an element, and nowhere else, so that no place can forget to.
"""

from __future__ import annotations

import html
from typing import Final

from rotifer_host.text import printable

__all__ = ["Markup", "element", "joined"]

_VOID: Final = ("br", "meta")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | None) -> Markup:
    """Return an element; children that are no `Markup` are escaped, and attributes that are None left out.

    `class_` and `http_equiv` stand for attributes whose names Python has no room for.
    """
    opened = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Markup(f"<{tag}{opened}>")
    return Markup(f"<{tag}{opened}>{joined(*children)}</{tag}>")


def joined(*children: str) -> Markup:
    """Return children one after another."""
    return Markup("".join(child if isinstance(child, Markup) else _escaped(child) for child in children))


def _escaped(text: str) -> str:
    """Return text as HTML, with what would hide or reorder other text as the escapes of `printable`."""
    return html.escape(printable(text, lines=True))
