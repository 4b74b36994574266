"""Other genes for an agent; its memory stays.

memory-api.en.md, "Memory API": the memory belongs to the agent, not to any gene.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from rotifer_host.agent.checked import checked_composition
from rotifer_host.agent.composition import Branch, Cond, Par, Seq, Single, Try, branches_of, written
from rotifer_host.agent.record import AgentRecord
from rotifer_host.errors import UsageError

if TYPE_CHECKING:
    from rotifer_host.project import ProjectFolder

__all__ = ["set_genes"]


def set_genes(
    folder: ProjectFolder,
    name: str,
    genes: Sequence[str],
    composition: str | Mapping[str, object] | None,
) -> AgentRecord:
    """Put other genes into the genome of the agent `name`, all or none of them, and return its new record.

    Without a `composition` the agent keeps its own: each gene takes the place of the
    one with its number, and a `Seq` or `Par` of genes alone takes any number. Genes are
    checked as when an agent is made. Raises what `ProjectFolder.create_agent` does.
    """
    if isinstance(genes, str) or not genes:
        message = f"genes must be a list of at least one name, not {genes!r}"
        raise UsageError(message)

    def changed(record: AgentRecord) -> AgentRecord:
        document = _kept(record, genes) if composition is None else composition
        try:
            composed, genome = checked_composition(folder, document, genes)
        except UsageError as error:
            error.help = _help(record, composition)
            raise
        return msgspec.structs.replace(record, genome=genome, composition=composed)

    return folder.change_agent(name, changed)


def _kept(record: AgentRecord, genes: Sequence[str]) -> object:
    """Return the agent's composition with the new genes in the places of the old ones, as JSON."""
    composition = record.composition
    if isinstance(composition, Seq | Par) and all(isinstance(branch, str) for branch in branches_of(composition)):
        document: dict[str, object] = msgspec.to_builtins(composition)
        return {member: value for member, value in document.items() if member not in ("steps", "branches")}
    if len(genes) != len(record.genome):
        message = (
            f"the composition {written(composition)} of the agent {record.name} has places for "
            f"{len(record.genome)} {'gene' if len(record.genome) == 1 else 'genes'}, not {len(genes)}"
        )
        raise UsageError(message, help=_help(record, None))
    return msgspec.to_builtins(_renamed(composition, dict(zip(record.genome, genes, strict=True))))


def _renamed(branch: Branch, names: Mapping[str, str]) -> Branch:
    if isinstance(branch, str):
        return names[branch]
    if isinstance(branch, Single):
        return Single(None if branch.gene is None else names[branch.gene])
    inner = [_renamed(each, names) for each in branches_of(branch)]
    match branch:
        case Seq():
            return Seq(tuple(inner) or None)
        case Par():
            return msgspec.structs.replace(branch, branches=tuple(inner))
        case Cond():
            return Cond(branch.predicate, *inner)
        case Try():
            return Try(*inner)


def _help(record: AgentRecord, composition: object) -> str | None:
    return None if composition is not None else f"--composition says another one than {written(record.composition)}"
