"""`rotifer agent set-genes`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rotifer_host.cli.common import Session
from rotifer_host.cli.composition_options import read_composition_options
from rotifer_host.cli.genes_option import GenesCommand, gene_names
from rotifer_host.cli.output import print_document, print_note, print_text
from rotifer_host.text import counted

__all__ = ["set_genes"]


@click.command(
    "set-genes",
    cls=GenesCommand,
    examples=[
        "rotifer agent set-genes team --genes counter hello",
        "rotifer agent set-genes team --genes hello counter --composition Try",
    ],
)
@click.argument("name")
@click.option(
    "--genes",
    "genes",
    multiple=True,
    required=True,
    metavar="GENE...",
    help="Its genes from now on, in order: separated by spaces or commas, or the option repeated.",
)
@click.option(
    "--composition",
    metavar="KIND|@FILE",
    help="How they work together, as `rotifer agent create` takes it; the agent keeps its composition without it.",
)
@click.pass_obj
def set_genes(session: Session, name: str, *, genes: Sequence[str], composition: str | None) -> None:
    """Give the agent NAME other genes; its memory stays.

    All of its genes are replaced, or none. Entries that only a gene which is gone could
    reach stay too: `rotifer agent memory list` marks them.
    """
    agent = session.project().agent(name)
    composed = read_composition_options(session, composition, merge=None, predicate=None)
    changed = agent.set_genes(gene_names(genes), composition=composed)
    lost = changed.memory().stats().unreachable.entries
    if session.json:
        print_document(
            {
                "agent": changed.name,
                "agentId": changed.id,
                "genes": list(changed.genome),
                "composition": changed.composition,
                "before": list(agent.genome),
                "unreachableEntries": lost,
            }
        )
        return
    print_text(
        f"{changed.name} has other genes\n"
        f"  before       {' '.join(agent.genome)}\n"
        f"  now          {' '.join(changed.genome)}\n"
        f"  composition  {changed.composition_text}"
    )
    if lost:
        entries = counted(lost, "entry", "entries")
        print_note(f"out of the reach of all of them: {entries}; `rotifer agent memory list {name}` marks what is lost")
