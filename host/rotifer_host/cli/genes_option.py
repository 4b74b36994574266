"""`--genes`, of the commands that say what an agent is made of."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rotifer_host.cli.common import Command

__all__ = ["GenesCommand", "gene_names"]


class GenesCommand(Command):
    """A command whose --genes takes one or more arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, with the option repeated for each of its arguments."""
        return super().parse_args(ctx, _repeat_option("--genes", args))

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the order that works: a NAME after --genes would be taken for a gene."""
        del ctx
        return ["NAME", "--genes GENE...", "[OPTIONS]"]


def gene_names(genes: Sequence[str]) -> list[str]:
    """Return the names in what the option was given."""
    return [gene for part in genes for gene in part.replace(",", " ").split()]


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
