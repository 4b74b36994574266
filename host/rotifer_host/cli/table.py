"""Tables on standard output."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rotifer_host.cli.output import colours, print_styled
from rotifer_host.text import printable

if TYPE_CHECKING:
    from rich.console import JustifyMethod

__all__ = ["Cell", "print_table"]

_UNBOUNDED: Final = 1 << 16


class Cell(NamedTuple):
    """Text of a cell and its rich style; foreign text may go in as it is."""

    text: str
    style: str = ""


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str | Cell]], *, shorten: Sequence[str] = ()) -> None:
    """Print rows under their heads, if these have any text; a head ending in `>` justifies its column to the right.

    On a terminal, columns named in `shorten` give way to the others; elsewhere
    nothing is cut or wrapped.
    """
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    terminal = colours(sys.stdout) or (sys.stdout is not None and sys.stdout.isatty())
    lines = _drawn(heads, cells, shorten) if terminal else _aligned(heads, cells)
    print_styled("\n".join(line.rstrip(" ") for line in lines))


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[str]:
    """Lay a table out for a file or another program: loading rich takes longer than running a gene."""
    texts = [[head.removesuffix(">") for head in heads], *([printable(cell.text) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [
        "  ".join(
            text.rjust(width) if head.endswith(">") else text.ljust(width)
            for text, width, head in zip(row, widths, heads, strict=True)
        )
        for row in texts
    ]
    return lines if any(heads) else lines[1:]


def _drawn(heads: Sequence[str], rows: Sequence[Sequence[Cell]], shorten: Sequence[str]) -> list[str]:
    """Lay a table out for a terminal, with its width and colours."""
    from rich.console import Console  # noqa: PLC0415 - see above
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(heads))
    for head in heads:
        name = head.removesuffix(">")
        justify: JustifyMethod = "right" if head.endswith(">") else "left"
        if name in shorten:
            table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis")
        else:
            table.add_column(name, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell.text), cell.style) for cell in row))
    coloured = colours(sys.stdout)
    drawn = io.StringIO()  # not standard output: rich would flush it, and let its errors through
    console = Console(
        file=drawn,
        color_system="standard" if coloured else None,
        force_terminal=coloured,
        width=shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else _UNBOUNDED,
    )
    console.print(table)
    return drawn.getvalue().rstrip("\n").split("\n")
