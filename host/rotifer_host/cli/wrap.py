"""`rotifer wrap`."""

from __future__ import annotations

import click

from rotifer_host import contract
from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.output import print_document, print_note, print_text

__all__ = ["wrap"]


@click.command(
    cls=Command,
    examples=["rotifer wrap hello", "rotifer wrap hello --domain greeting.people", "rotifer wrap hello --json"],
)
@click.argument("gene")
@click.option("-d", "--domain", metavar="DOMAIN", help="Its functional domain; general for a new phenotype.")
@click.option(
    "--fidelity",
    metavar="KIND",
    help=f"Of a new phenotype, one of {', '.join(contract.FIDELITIES)}; without it Native where there is a module, else"
    " Wrapped.",
)
@click.pass_obj
def wrap(session: Session, gene: str, *, domain: str | None, fidelity: str | None) -> None:
    """Make GENE's phenotype.json, or check the one it has, and print its v2 id.

    Of a phenotype that is there only the domain is changed, and only if one is given.
    All that is wrong with it is told at once.
    """
    result = session.project().wrap(gene, domain=domain, fidelity=fidelity)
    for warning in result.warnings:
        print_note(f"warning: {warning}")
    if session.json:
        print_document(
            {
                "gene": result.gene,
                "geneId": result.gene_id,
                "domain": result.domain,
                "fidelity": result.fidelity,
                "phenotype": str(result.phenotype),
                "change": result.change,
                "warnings": list(result.warnings),
            }
        )
        return
    print_text(
        f"wrapped {result.gene}\n"
        f"  Gene ID (v2): {result.gene_id or 'none yet'}\n"
        f"  Domain:       {result.domain}\n"
        f"  Fidelity:     {result.fidelity or '-'}\n"
        f"  Phenotype:    {result.phenotype}, {result.change}"
    )
    print_note(f"next: {result.next}")
