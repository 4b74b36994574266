"""Which genes of an agent still get at an entry, after upgrades and swaps.

memory-api.en.md, "Things to know before you deploy".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rotifer_host.errors import RotiferError
from rotifer_host.memory.entry import Caller, Record, Scope
from rotifer_host.memory.policy import may

if TYPE_CHECKING:
    from rotifer_host.project import ProjectFolder

__all__ = ["KnownGene", "know_genes", "reachable"]


class KnownGene(NamedTuple):
    """A gene of a genome as it lies on disk now, as far as it can be told."""

    name: str
    gene_id: str | None
    """None while it is not compiled, stale or broken."""
    domain: str | None
    """None without a valid phenotype."""
    problem: str | None
    """Why one of them is None."""


def know_genes(folder: ProjectFolder, names: Sequence[str]) -> list[KnownGene]:
    """Return what is known of each gene, once each; a gene that is missing or broken is one with a problem."""
    return [_know(folder, name) for name in dict.fromkeys(names)]


def reachable(record: Record, genes: Sequence[KnownGene]) -> bool | None:
    """Tell whether any of the genes may read, change or delete an entry; None when that hangs on an unknown id."""
    scopes = {record.access.readScope, record.access.writeScope}
    answers = {_reaches(gene, scope, record) for gene in genes for scope in scopes}
    return True if True in answers else None if None in answers else False


def _know(folder: ProjectFolder, name: str) -> KnownGene:
    domain = None
    try:
        gene = folder.gene(name)
        domain = gene.phenotype.domain
        return KnownGene(name, gene.current_id(), domain, None)
    except RotiferError as error:
        return KnownGene(name, None, domain, error.message)


def _reaches(gene: KnownGene, scope: Scope, record: Record) -> bool | None:
    if scope == "DEPLOYER_CONFIGURED":
        return False  # whoever asks
    if gene.domain is None:
        return None
    if may(Caller(gene.gene_id or "", gene.domain), scope, record):
        return True
    return None if gene.gene_id is None and scope == "CREATOR_GENE_ONLY" else False
