"""`rotifer list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import click

from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.output import print_document, print_note, working
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.errors import GeneError

if TYPE_CHECKING:
    from rotifer_host import Gene

__all__ = ["gene_states", "list_"]

_STATES: Final = {"GENE_NOT_COMPILED": "not compiled", "GENE_STALE": "stale"}


class GeneState(NamedTuple):
    """One gene, and whether it can run."""

    name: str
    domain: str | None
    version: str | None
    gene_id: str | None
    state: str
    """`ready`, `not compiled`, `stale` or `broken`."""
    problem: str | None
    help: str | None


@click.command("list", cls=Command, examples=["rotifer list", "rotifer list --json"])
@click.pass_obj
def list_(session: Session) -> None:
    """List the genes of the project, and whether they are ready to run."""
    project = session.project()
    with working("looking at the genes"):
        states = gene_states(project.genes())
    if session.json:
        print_document(
            {
                "genes": [
                    {
                        "name": gene.name,
                        "domain": gene.domain,
                        "version": gene.version,
                        "geneId": gene.gene_id,
                        "state": gene.state,
                        "problem": gene.problem,
                    }
                    for gene in states
                ]
            }
        )
        return
    if not states:
        print_note(f"no genes yet: put one into {project.genes_path}")
        return
    print_table(
        ("gene", "domain", "version", "state", "gene id (v2)"),
        [
            (
                gene.name,
                gene.domain or "-",
                gene.version or "-",
                Cell(gene.state, "green" if gene.problem is None else "yellow"),
                gene.gene_id or "-",
            )
            for gene in states
        ],
        shorten=("gene id (v2)",),
    )
    for gene in states:
        if gene.problem is not None:
            print_note(f"{gene.name}: {gene.problem}" + (f"; {gene.help}" if gene.help else ""))


def gene_states(genes: list[Gene]) -> list[GeneState]:
    """Look at each gene as a run would."""
    return [_gene_state(gene) for gene in genes]


def _gene_state(gene: Gene) -> GeneState:
    domain = version = gene_id = None
    try:
        domain, version = gene.phenotype.domain, gene.phenotype.version
        gene_id = gene.gene_id(gene.artefact())
    except GeneError as error:
        state = _STATES.get(error.code, "broken")
        return GeneState(gene.name, domain, version, None, state, error.message, error.help)
    return GeneState(gene.name, domain, version, gene_id, "ready", None, None)
