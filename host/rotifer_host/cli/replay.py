"""`rotifer replay`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

import rotifer_host
from rotifer_host import contract
from rotifer_host.cli.common import Command, FileName, Session
from rotifer_host.cli.output import print_document, print_text, working
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.errors import UsageError
from rotifer_host.text import indented

if TYPE_CHECKING:
    from rotifer_host import Replay
    from rotifer_host.record import Difference

__all__ = ["replay"]

_HOST: Final = "cmd:"
_PATHS: Final = ("native", "raw", "plain", "auto")
_PLACES: Final = f"a call path, {', '.join(_PATHS)}, or another host as cmd:PROGRAM"


@click.command(
    cls=Command,
    examples=[
        "rotifer replay echo.rec",
        "rotifer replay echo.rec --against raw --against plain",
        "rotifer replay echo.rec --against cmd:./my-host",
        "rotifer replay small.rec --wasm genes/echo/gene.ir.wasm --json",
    ],
)
@click.argument("file", type=FileName())
@click.option(
    "--against",
    multiple=True,
    metavar="PATH|HOST",
    help=f"What to run on: {_PLACES}, which speaks the protocol of abi/vectors and can replay. May be given again, for"
    " one run on each.",
)
@click.option(
    "--wasm",
    multiple=True,
    type=FileName(),
    metavar="FILE",
    help="A module that the recording was made without; may be given again.",
)
@click.pass_obj
def replay(session: Session, file: Path, *, against: Sequence[str], wasm: Sequence[Path]) -> int:
    """Run the recorded run FILE again with the recorded answers, and show where it first differs.

    Needs no project, and changes no agent's memory. Exits 0 when every gene did the
    same, 1 when one did not. Fuel is shown, not compared: versions of the engine count differently.
    """
    modules = [session.directory / path for path in wasm]
    with working(f"replaying {file}"):
        replays = [
            rotifer_host.replay(session.directory / file, modules=modules, **_place(where))
            for where in against or (None,)
        ]
    same = all(each.same for each in replays)
    if session.json:
        print_document({"file": str(file), "same": same, "replays": [_document(each) for each in replays]})
    else:
        _show(replays)
    return contract.EXIT_OK if same else contract.EXIT_FAILED


def _place(against: str | None) -> dict[str, str | None]:
    if against is not None and against.startswith(_HOST):
        return {"host": against.removeprefix(_HOST)}
    if against is not None and against not in _PATHS:
        raise UsageError(f"--against takes {_PLACES}, not {against!r}")
    return {"call_path": against}


def _show(replays: Sequence[Replay]) -> None:
    print_table(
        ("on", "gene", "verdict", "host calls>", "fuel>", "recorded>"),
        [
            (
                each.call_path,
                part.gene,
                Cell("same", "green") if part.difference is None else Cell("differs", "bold red"),
                f"{part.calls:,}",
                f"{part.fuel:,}" if part.fuel else "-",
                f"{part.fuel_recorded:,}" if part.fuel_recorded else "-",
            )
            for each in replays
            for part in each.parts
        ],
    )
    for each in replays:
        if each.difference is not None:
            print_text(f"\n{each.call_path}: {each.difference}")
            print_text(f"  recorded\n{indented(each.difference.recorded, '  | ')}")
            print_text(f"  now\n{indented(each.difference.now, '  | ')}")


def _document(each: Replay) -> dict[str, object]:
    return {
        "callPath": each.call_path,
        "same": each.same,
        "difference": None if each.difference is None else _difference(each.difference),
        "parts": [
            {
                "gene": part.gene,
                "same": part.difference is None,
                "hostCalls": part.calls,
                "fuel": part.fuel or None,
                "fuelRecorded": part.fuel_recorded or None,
            }
            for part in each.parts
        ],
    }


def _difference(difference: Difference) -> dict[str, object]:
    return asdict(difference)
