"""`rotifer conformance gene`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.conformance import show_report
from rotifer_host.cli.output import working
from rotifer_host.cli.run_input import read_input
from rotifer_host.errors import RotiferError, UsageError

if TYPE_CHECKING:
    from rotifer_host import Gene

__all__ = ["gene"]

_SUFFIXES = (".wasm", ".wat")


@click.command(
    "gene",
    cls=Command,
    examples=[
        "rotifer conformance gene hello",
        "rotifer conformance gene genes/hello/gene.wat --brief",
        """rotifer conformance gene hello --input '{"name": "Ada"}' --input '{}' --json""",
    ],
)
@click.argument("target", metavar="FILE|GENE")
@click.option(
    "--input",
    "sources",
    multiple=True,
    metavar="JSON",
    help="An example input: JSON text, @FILE for a file, or - for standard input; may be given again. Without it "
    "those of testsuite.json beside the module, else ones made from its phenotype's inputSchema, else {}.",
)
@click.option("--random", is_flag=True, help="The output is meant to differ from run to run: do not ask for the same.")
@click.option("--brief", is_flag=True, help="Leave out the points that passed.")
@click.pass_obj
def gene(session: Session, target: str, *, sources: Sequence[str], random: bool, brief: bool) -> int:
    """Test whether a module, or a gene of this project, keeps the guest ABI.

    Looks at the module, then runs it on a host that answers its memory calls in every
    way the ABI knows. Nothing is stored. Exits 1 when a point fails.
    """
    # Only here: it loads the engine.
    from rotifer_host.conformance.gene_subject import check_file, check_project_gene  # noqa: PLC0415

    inputs = [read_input(session, source) for source in sources]
    with working(f"testing {target}"):
        if Path(target).suffix in _SUFFIXES:
            report = check_file(session.directory / target, inputs, random=random)
        else:
            report = check_project_gene(_gene(session, target), inputs, random=random)
    return show_report(session, report, brief=brief)


def _gene(session: Session, target: str) -> Gene:
    """Return the gene of that name. Raises `UsageError` for what is a file or a folder, and no gene."""
    try:
        return session.project().gene(target)
    except RotiferError as error:
        if not os.path.lexists(session.directory / target):
            raise
        message = f"{target} is neither a .wasm or .wat file nor the name of a gene"
        raise UsageError(
            message, help="give a module or its text by its file, or a gene of the project by its name"
        ) from error
