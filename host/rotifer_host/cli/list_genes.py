"""`rotifer list`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from rotifer_host import contract
from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.output import print_document, print_note, working
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.errors import GeneError
from rotifer_host.text import counted

if TYPE_CHECKING:
    from rotifer_host import Gene

__all__ = ["gene_states", "list_"]

_STATES: Final = {"GENE_NOT_COMPILED": "not compiled", "GENE_STALE": "stale", "NODE": "no node"}
_CHOICES: Final = ("ready", "not-compiled", "stale", "no-node", "broken")


class GeneState(NamedTuple):
    """One gene, and whether it can run."""

    name: str
    domain: str | None
    version: str | None
    gene_id: str | None
    fidelity: str | None
    """What its phenotype says; None when that says nothing."""
    state: str
    """`ready`, `not compiled`, `stale`, `no node` (none that runs it) or `broken`."""
    problem: str | None
    help: str | None


@click.command(
    "list",
    cls=Command,
    examples=["rotifer list", "rotifer list --domain greeting --state ready", "rotifer list --name 'he*' --json"],
)
@click.option("--name", "pattern", metavar="PATTERN", help="Only names like this; * and ? stand for anything.")
@click.option("--domain", metavar="DOMAIN", help="Only genes of this domain, or of one below it.")
@click.option("--fidelity", type=click.Choice(contract.FIDELITIES), help="Only genes that say so of themselves.")
@click.option("--state", type=click.Choice(_CHOICES), help="Only genes in this state.")
@click.pass_obj
def list_(
    session: Session, *, pattern: str | None, domain: str | None, fidelity: str | None, state: str | None
) -> None:
    """List the genes of the project, and whether they are ready to run.

    With several filters, those that pass all of them.
    """
    project = session.project()
    with working("looking at the genes"):
        found = gene_states(project.genes())
    states = [
        gene
        for gene in found
        if (pattern is None or fnmatchcase(gene.name, pattern))
        and (domain is None or f"{gene.domain or ''}.".startswith(f"{domain}."))
        and fidelity in {None, gene.fidelity}
        and state in {None, gene.state.replace(" ", "-")}
    ]
    if session.json:
        print_document(
            {
                "genes": [
                    {
                        "name": gene.name,
                        "domain": gene.domain,
                        "version": gene.version,
                        "geneId": gene.gene_id,
                        "fidelity": gene.fidelity,
                        "state": gene.state,
                        "problem": gene.problem,
                    }
                    for gene in states
                ]
            }
        )
        return
    if not states:
        print_note(
            f"none of {counted(len(found), 'gene')} passes the filters"
            if found
            else f"no genes yet: put one into {project.genes_path}"
        )
        return
    print_table(
        ("gene", "domain", "version", "fidelity", "state", "gene id (v2)"),
        [
            (
                gene.name,
                gene.domain or "-",
                gene.version or "-",
                gene.fidelity or "-",
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
    domain = version = gene_id = fidelity = None
    try:
        domain, version = gene.phenotype.domain, gene.phenotype.version
        said = gene.phenotype.fields.get("fidelity")
        fidelity = said if isinstance(said, str) else None
        script = gene.script()
        if script is None:
            gene_id = gene.gene_id(gene.artefact())
        else:
            from rotifer_host.node.bundle import bundler  # noqa: PLC0415 - `rotifer --help` needs neither
            from rotifer_host.node.program import find_node  # noqa: PLC0415

            bundler(script, find_node(), gene.path, gene.project)
            gene_id = gene.script_id(script)
    except GeneError as error:
        state = _STATES.get(error.code, "broken")
        return GeneState(gene.name, domain, version, None, fidelity, state, error.message, error.help)
    return GeneState(gene.name, domain, version, gene_id, fidelity, "ready", None, None)
