"""How a table is laid out on a terminal: no word and no number of it is ever broken, however narrow that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Final

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.style import Style

__all__ = ["Column", "lay_out"]

_GAP: Final = "  "
_HANG: Final = "    "
_LEAST_TEXT: Final = 20
"""Columns of the terminal that text of several words gets at least, if it has so many."""
_LONG: Final = 40
"""What is longer is no name, number or state."""
_LEAST_ID: Final = len("v2:01234567…")
_HEAD: Final = "bold"

_Word = tuple[str, str]
"""What stands together, and its style."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its head, and the text and style of its cells, printable."""

    head: str
    cells: Sequence[tuple[str, str]]
    right: bool
    """Whether it is justified to the right; such a cell is a figure, and stays on one line."""
    shorten: bool
    """Whether its texts may be cut to their beginning."""
    last: bool
    """Whether nothing is beside it, so that a path or the like may stick out."""

    def words(self, row: int, width: int) -> list[_Word]:
        """Return what of a cell stands together, cut to `width` where that is allowed."""
        text, style = self.cells[row]
        if self.shorten:
            text = _shortened(text, width)
        return [(word, style) for word in ([text] if self.right else text.split(" "))]

    @property
    def natural(self) -> int:
        """The width at which nothing is cut or wrapped."""
        return max(map(cell_len, (self.head, *(text for text, _ in self.cells))))

    @property
    def least(self) -> int:
        """The width below which it cannot be read."""
        words = self.head.split(" ")
        for row in range(len(self.cells)):
            words += [word for word, _ in self.words(row, _LEAST_ID)]
        longest = max((size for size in map(cell_len, words) if not (self.last and size > _LONG)), default=0)
        return longest if self.right or self.shorten else max(longest, min(self.natural, _LEAST_TEXT))


def lay_out(columns: Sequence[Column], width: int, *, keys: int, coloured: bool) -> list[str]:
    """Return the lines of a table for a terminal of that width, in the first of these ways that fits.

    As a table whose ids are cut and whose texts are wrapped as far as they must; with
    `keys`, as several tables that all begin with so many columns; each row as a list,
    in which only a word that is wider than the terminal exceeds it. In the last column
    of a table that holds for words of more than 40 characters.
    """
    parts = [columns] if _fits(columns, width) else _parts(columns, width, keys)
    if not parts:
        lines = _lists(columns, width)
    else:
        lines = []
        for part in parts:
            lines += [[], *_table(part, width)] if lines else _table(part, width)
    return [_rendered(line, coloured=coloured) for line in lines]


def _fits(columns: Sequence[Column], width: int) -> bool:
    return sum(column.least for column in columns) + len(_GAP) * (len(columns) - 1) <= width


def _parts(columns: Sequence[Column], width: int, keys: int) -> list[list[Column]]:
    """Return the table in parts that fit; none when it cannot be had so."""
    first = list(columns[:keys])
    parts: list[list[Column]] = []
    for column in columns[keys:]:
        if parts and (not column.head or _fits([*parts[-1], column], width)):  # a column without head goes on with one
            parts[-1].append(column)
        else:
            parts.append([*first, column])
    return parts if keys and all(_fits(part, width) for part in parts) else []


def _table(columns: Sequence[Column], width: int) -> list[list[_Word]]:
    widths = _widths(columns, width)
    heads = [[(word, _HEAD) for word in column.head.split(" ")] for column in columns]
    lines: list[list[_Word]] = []
    if any(column.head for column in columns):
        lines += _row(heads, columns, widths)
    for row in range(len(columns[0].cells)):
        words = [column.words(row, size) for column, size in zip(columns, widths, strict=True)]
        lines += _row(words, columns, widths)
    return lines


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """Share out what is left over the least widths: text comes first, then ids; who needs little gets it all."""
    widths = [column.least for column in columns]
    left = width - sum(widths) - len(_GAP) * (len(columns) - 1)
    missing = [column.natural - size for column, size in zip(columns, widths, strict=True)]
    for shorten in (False, True):
        wanting = sorted(
            (at for at, column in enumerate(columns) if column.shorten == shorten), key=missing.__getitem__
        )
        for others, at in zip(range(len(wanting), 0, -1), wanting, strict=True):
            given = min(missing[at], left // others)
            widths[at] += given
            left -= given
    return widths


def _row(cells: Sequence[list[_Word]], columns: Sequence[Column], widths: Sequence[int]) -> Iterator[list[_Word]]:
    """Yield the lines of one row."""
    wrapped = [_wrapped(words, size) for words, size in zip(cells, widths, strict=True)]
    for pieces in zip_longest(*wrapped, fillvalue=[]):
        line: list[_Word] = []
        for column, size, piece in zip(columns, widths, pieces, strict=True):
            room = [(" " * (size - _length(piece)), "")]
            line += [*([(_GAP, "")] if line else []), *(room + piece if column.right else piece + room)]
        yield line


def _lists(columns: Sequence[Column], width: int) -> list[list[_Word]]:
    """Return each row as a list of heads and texts; where there are no heads, as a line that is wrapped."""
    label = max(cell_len(column.head) for column in columns)
    hang = " " * (label + len(_GAP)) if label else _HANG
    lines: list[list[_Word]] = []
    for row in range(len(columns[0].cells)):
        if lines and label:
            lines.append([])
        items: list[tuple[str, list[_Word]]] = []
        for column in columns:
            words = column.words(row, max(_LEAST_ID, width - len(hang)))
            if column.head or not items:
                items.append((column.head, words))
            elif column.cells[row][0]:  # what has no head goes on with the text before it
                items[-1][1].extend([("", ""), *words])
        for head, words in items:
            if not any(word for word, _ in words):
                continue
            for number, piece in enumerate(_wrapped(words, width - len(hang))):
                named = [(head, _HEAD), (" " * (label - cell_len(head)) + _GAP, "")] if label else []
                lines.append([*([(hang, "")] if number else named), *piece])
    return lines


def _wrapped(words: Sequence[_Word], width: int) -> list[list[_Word]]:
    """Break words into lines, with the blanks between them; a word that is too wide has a line of its own."""
    lines: list[list[_Word]] = [[]]
    for word in words:
        if lines[-1] and _length(lines[-1]) + 1 + cell_len(word[0]) > width:
            lines.append([word])
        else:
            style = word[1] if lines[-1] and lines[-1][-1][1] == word[1] else ""
            lines[-1] += [(" ", style), word] if lines[-1] else [word]
    return lines


def _length(words: Sequence[_Word]) -> int:
    return sum(cell_len(text) for text, _ in words)


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _rendered(line: Sequence[_Word], *, coloured: bool) -> str:
    system = ColorSystem.STANDARD if coloured else None
    return "".join(
        Style.parse(style).render("".join(text for text, _ in words), color_system=system)
        for style, words in groupby(line, key=lambda word: word[1])
    )
