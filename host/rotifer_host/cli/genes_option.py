"""`--genes`, of the commands that say what an agent is made of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import click

from rotifer_host.cli.common import Command, names_in
from rotifer_host.errors import UsageError
from rotifer_host.text import quoted

__all__ = ["GenesCommand", "gene_names"]


class GenesCommand(Command):
    """A command whose --genes takes one or more arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, with the option repeated for each of its arguments."""
        spread = _repeat_option("--genes", args)
        try:
            return super().parse_args(ctx, list(spread))  # which click empties
        except click.MissingParameter as error:
            if error.param is None or error.param.name != "name" or "--genes" not in args:
                raise
            taken = " ".join(quoted(value) for option, value in pairwise(spread) if option == "--genes")
            message = f"Missing argument 'NAME': --genes took all that follows it: {taken}"
            raise click.UsageError(message, ctx) from error

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the order that works: a NAME after --genes would be taken for a gene."""
        del ctx
        return ["NAME", "--genes GENE...", "[OPTIONS]"]


def gene_names(genes: Sequence[str]) -> list[str]:
    """Return the names in what the option was given. Raises `UsageError` where one is empty."""
    empty = UsageError("--genes was given an empty name", help="`rotifer list` shows the genes of this project")
    return names_in(genes, empty)


def _repeat_option(option: str, args: Sequence[str]) -> list[str]:
    """Return `--genes a b --x` as `--genes a --genes b --x`: click's options take a fixed number of values."""
    spread: list[str] = []
    values = None  # how many the option in progress has got
    for index, arg in enumerate(args):
        if arg == "--":
            return [*spread, *args[index:]]
        if arg == option:
            values = 0
            continue
        if arg.startswith("-"):
            values = 1 if arg.startswith(f"{option}=") else None
        elif values is not None:
            values += 1
            spread.append(option)
        spread.append(arg)
    return spread
