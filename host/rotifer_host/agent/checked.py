"""What an agent is to be made of, against the genes there are: all that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rotifer_host.agent.composition_reader import CompositionError, read_composition
from rotifer_host.errors import GeneError, UsageError
from rotifer_host.turn_memory import read_turn_memory

if TYPE_CHECKING:
    from rotifer_host.agent.composition import Composition
    from rotifer_host.project import ProjectFolder
    from rotifer_host.turn_memory import TurnMemory

__all__ = ["checked_composition", "checked_turn_memory"]


def checked_composition(
    folder: ProjectFolder, composition: object, genome: Sequence[str]
) -> tuple[Composition, list[str]]:
    """Return what `read_composition` does, of genes that the project has, each with a valid phenotype.

    Raises `UsageError` naming all that is wrong, `GeneError` where that is in the genes alone.
    """
    try:
        composed, genes = read_composition(composition, genome)
    except CompositionError as error:
        found = [*error.problems, *(unusable.message for unusable in _unusable(folder, error.genes))]
        raise UsageError("; ".join(found)) from error
    wrong = _unusable(folder, genes)
    if wrong:
        raise _as_one(wrong)
    return composed, genes


def checked_turn_memory(folder: ProjectFolder, turn_memory: Mapping[str, object] | None) -> TurnMemory | None:
    """Return a turn memory whose generator is a gene of the project; raises as `checked_composition` does."""
    if turn_memory is None:
        return None
    diary = turn_memory.get("diary") if isinstance(turn_memory, Mapping) else None
    generator = diary.get("generator") if isinstance(diary, Mapping) else None
    wrong = _unusable(folder, [generator] if isinstance(generator, str) else [])

    def refusal(problems: list[str]) -> UsageError:
        return UsageError(f"turn memory: {'; '.join([*problems, *(error.message for error in wrong)])}")

    told = read_turn_memory(turn_memory, refusal)
    if wrong:
        raise _as_one(wrong)
    return told


def _unusable(folder: ProjectFolder, genes: Iterable[str]) -> list[GeneError | UsageError]:
    """Return an error for each of these that is no gene an agent can have."""
    found: list[GeneError | UsageError] = []
    for name in dict.fromkeys(genes):
        try:
            folder.gene(name).phenotype  # noqa: B018 - reading it is the check
        except (GeneError, UsageError) as error:
            found.append(error)
    return found


def _as_one(errors: Sequence[GeneError | UsageError]) -> GeneError | UsageError:
    """Return one error that says what all do, of the kind that they are if they are alike."""
    first = errors[0]
    if all((type(error), error.code) == (type(first), first.code) for error in errors):
        return type(first)("; ".join(error.message for error in errors), code=first.code, help=first.help)
    return UsageError("; ".join(error.message for error in errors))
