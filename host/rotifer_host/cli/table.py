"""Tables on standard output."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from rotifer_host.cli.output import colours, print_styled
from rotifer_host.text import printable

__all__ = ["Cell", "print_table"]

_GAP: Final = "  "


class Cell(NamedTuple):
    """Text of a cell and its rich style; foreign text may go in as it is."""

    text: str
    style: str = ""


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[str | Cell]], *, shorten: Sequence[str] = (), keys: int = 0
) -> None:
    """Print rows under their heads, if these have any text; a head ending in `>` justifies its column to the right.

    On a terminal that is too narrow the ids in columns named in `shorten` are cut, then
    text is wrapped between words. Where that is not enough the table comes in several
    parts, its first `keys` columns in each, or each row as a list. Elsewhere nothing is
    cut or wrapped.
    """
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    if sys.stdout is not None and sys.stdout.isatty():
        from rotifer_host.cli.terminal_table import Column, lay_out  # noqa: PLC0415 - loading rich takes longer than a run

        columns = [
            Column(
                name := head.removesuffix(">"),
                [(printable(row[at].text), row[at].style) for row in cells],
                right=head.endswith(">"),
                shorten=name in shorten,
                last=at == len(heads) - 1,
            )
            for at, head in enumerate(heads)
        ]
        lines = lay_out(columns, shutil.get_terminal_size().columns, keys=keys, coloured=colours(sys.stdout))
    else:
        lines = _aligned(heads, cells)
    print_styled("\n".join(line.rstrip(" ") for line in lines))


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[str]:
    """Lay a table out for a file or another program."""
    texts = [[head.removesuffix(">") for head in heads], *([printable(cell.text) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [
        _GAP.join(
            text.rjust(width) if head.endswith(">") else text.ljust(width)
            for text, width, head in zip(row, widths, heads, strict=True)
        )
        for row in texts
    ]
    return lines if any(heads) else lines[1:]
