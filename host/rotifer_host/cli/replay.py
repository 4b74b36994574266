"""`rotifer replay`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

import rotifer_host
from rotifer_host import contract
from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.output import print_document, print_text, working
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.text import indented

if TYPE_CHECKING:
    from rotifer_host import Replay
    from rotifer_host.record import Difference

__all__ = ["replay"]


@click.command(
    cls=Command,
    examples=[
        "rotifer replay echo.rec",
        "rotifer replay echo.rec --against raw --against plain",
        "rotifer replay small.rec --wasm genes/echo/gene.ir.wasm --json",
    ],
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--against",
    multiple=True,
    metavar="PATH",
    help="The call path to run on: native, raw or plain; may be given again, for one run on each.",
)
@click.option(
    "--wasm",
    multiple=True,
    type=click.Path(path_type=Path),
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
            rotifer_host.replay(session.directory / file, call_path=path, modules=modules)
            for path in against or (None,)
        ]
    same = all(each.same for each in replays)
    if session.json:
        print_document({"file": str(file), "same": same, "replays": [_document(each) for each in replays]})
    else:
        _show(replays)
    return contract.EXIT_OK if same else contract.EXIT_FAILED


def _show(replays: Sequence[Replay]) -> None:
    print_table(
        ("call path", "gene", "", "host calls>", "fuel>", "recorded>"),
        [
            (
                each.call_path,
                part.gene,
                Cell("same", "green") if part.difference is None else Cell("differs", "bold red"),
                f"{part.calls:,}",
                f"{part.fuel:,}",
                "-" if part.fuel_recorded is None else f"{part.fuel_recorded:,}",
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
                "fuel": part.fuel,
                "fuelRecorded": part.fuel_recorded,
            }
            for part in each.parts
        ],
    }


def _difference(difference: Difference) -> dict[str, object]:
    return asdict(difference)
