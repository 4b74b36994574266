"""How single things are written on the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from rotifer_host.limits import format_size
from rotifer_host.report.markup import Markup, element
from rotifer_host.text import shortened

__all__ = ["json_text", "milliseconds", "number", "table", "value_cell"]

_LONGEST_DOCUMENT: Final = 20_000
_LONGEST_VALUE: Final = 120
_SHOWN_BYTES: Final = 24


def table(heads: Sequence[str], rows: Sequence[Sequence[Markup]]) -> Markup:
    """Return a table; heads that end in `>` stand over numbers."""
    return element(
        "div",
        element(
            "table",
            element(
                "thead",
                element(
                    "tr",
                    *(
                        element("th", head.removesuffix(">"), class_="number" if head.endswith(">") else None)
                        for head in heads
                    ),
                ),
            ),
            element("tbody", *(element("tr", *row) for row in rows)),
        ),
        class_="scroll",
    )


def number(text: str) -> Markup:
    """Return a cell of a number."""
    return element("td", text, class_="number")


def milliseconds(ms: float) -> str:
    """Return a time as people read it."""
    return f"{ms / 1000:,.2f} s" if ms >= 1000 else f"{ms:.2f} ms"  # noqa: PLR2004 - milliseconds of a second


def json_text(value: object) -> str:
    """Return a JSON value over several lines, what is too long for a page left out."""
    try:
        return shortened(json.dumps(value, ensure_ascii=False, indent=2), _LONGEST_DOCUMENT)
    except RecursionError:
        return "nested too deep to be shown"


def value_cell(value: bytes | None, size: int | None) -> Markup:
    """Return a cell with the beginning of a value, as text where it is text, and with its size."""
    if size is None:
        return element("td")
    if value is None:
        return element("td", element("span", format_size(size), class_="quiet"))
    return element("td", element("code", _text(value, size)), " ", element("span", format_size(size), class_="quiet"))


def _text(value: bytes, size: int) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        # a character cut through at the end is no reason to show bytes
        if size > len(value) and error.start >= len(value) - 3 and error.reason == "unexpected end of data":
            text = value[: error.start].decode()
        else:
            shown = value[:_SHOWN_BYTES].hex(" ")
            return f"{shown} …" if size > _SHOWN_BYTES else shown
    cut = len(text) > _LONGEST_VALUE or size > len(value)
    return f"{text[:_LONGEST_VALUE]}…" if cut else text
