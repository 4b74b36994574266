"""Reads a composition from JSON, and says everything that is wrong with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

from rotifer_host import contract
from rotifer_host.agent.composition import Branch, Composition, Cond, Par, Seq, Single, Try, genes_of
from rotifer_host.agent.condition import Condition, read_condition, shown

__all__ = ["DEFAULT_PREDICATE", "CompositionError", "read_composition"]

DEFAULT_PREDICATE: Final = {"field": "type", "equals": "primary"}
"""The condition of a `Cond` that is asked for by its name alone."""

_PAIRS: Final = {"Cond": ("thenBranch", "elseBranch"), "Try": ("primary", "fallback")}
_MEMBERS: Final = {
    "Single": ("gene",),
    "Seq": ("steps",),
    "Par": ("branches", "merge"),
    "Cond": ("predicate", *_PAIRS["Cond"]),
    "Try": _PAIRS["Try"],
}
_NOTHING: Final = Single()


class CompositionError(Exception):
    """All that is wrong with a composition; the agent's record makes an error of its own of it."""

    def __init__(self, problems: Sequence[str], genes: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = list(problems)
        self.genes = tuple(genes)
        """Names of the genes it could be seen to run, and of those it should."""


def read_composition(document: object, genome: Sequence[str]) -> tuple[Composition, list[str]]:
    """Return the composition in a JSON value, and the agent's genes.

    A name such as `Par` is the composition of that type with all of the genes as its
    branches; None is `Single` for one gene and `Seq` for more. An empty `genome` is
    filled with the genes the composition names, otherwise both must have the same ones.
    Raises `CompositionError`.
    """
    reader = _Reader()
    composition = reader.composition(_outermost(document, genome), "composition", contract.MAX_COMPOSITION_DEPTH)
    if reader.problems:
        raise CompositionError(reader.problems, [*genome, *reader.genes])
    named = list(dict.fromkeys(genes_of(composition)))
    genes = list(genome) or named
    if not genes:
        raise CompositionError(["an agent needs at least one gene"], [])
    if composition.type == "Single" and len(genes) > 1:
        raise CompositionError([f"composition Single runs one gene, not {len(genes)}"], genes)
    if named:
        problems = [f"the composition runs {name}, which is none of the genes" for name in named if name not in genes]
        problems += [f"the composition has no place for the gene {name}" for name in genes if name not in named]
        if problems:
            raise CompositionError(problems, [*genes, *named])
    return composition, genes


def _outermost(document: object, genome: Sequence[str]) -> object:
    """Return the outermost composition with the agent's genes in the branches that it leaves out."""
    if document is None:
        document = "Single" if len(genome) == 1 else "Seq"
    if isinstance(document, str):
        document = {"type": document, "predicate": DEFAULT_PREDICATE} if document == "Cond" else {"type": document}
    if not isinstance(document, Mapping):
        return document
    kind = document.get("type")
    if kind == "Par" and "branches" not in document:
        return {**document, "branches": genome}
    pair = _PAIRS.get(kind) if isinstance(kind, str) else None
    if pair is None or any(name in document for name in pair):
        return document
    if len(genome) != len(pair):
        problem = f"composition {kind} runs two genes, {' and '.join(pair)}, not {len(genome)}"
        raise CompositionError([problem], genome)
    return {**document, **dict(zip(pair, genome, strict=True))}


class _Reader:
    """Reads one composition; what it returns is of use only when it has found no problems."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.genes: list[str] = []

    def composition(self, document: object, where: str, depth: int) -> Composition:
        if not isinstance(document, Mapping):
            return self._wrong(f"{where} must be an object with a type, not {shown(document)}")
        kind = document.get("type")
        if kind not in contract.COMPOSITIONS:
            return self._wrong(f"{where}.type must be one of {', '.join(contract.COMPOSITIONS)}, not {shown(kind)}")
        if depth == 0:
            return self._wrong(f"{where} is nested more than {contract.MAX_COMPOSITION_DEPTH} deep")
        members = _MEMBERS[kind]
        for name in document:
            if name != "type" and name not in members:
                self._wrong(f"{where} has no member {shown(name)} ({kind} has {', '.join(members)})")
        return self._of_kind(kind, document, where, depth)

    def _of_kind(self, kind: str, document: Mapping[Any, object], where: str, depth: int) -> Composition:
        def branch(name: str) -> Branch:
            return self._branch(document.get(name), f"{where}.{name}", depth)

        def branches(name: str) -> tuple[Branch, ...]:
            return self._branches(document.get(name), f"{where}.{name}", depth)

        outermost = depth == contract.MAX_COMPOSITION_DEPTH
        match kind:
            case "Single":
                return Single(
                    None if outermost and "gene" not in document else self._gene(document.get("gene"), f"{where}.gene")
                )
            case "Seq":
                return Seq(None if outermost and "steps" not in document else branches("steps"))
            case "Par":
                merge = self._merge(document.get("merge", contract.MERGES[0]), f"{where}.merge")
                return Par(branches("branches"), merge)
            case "Cond":
                predicate = read_condition(document.get("predicate"), f"{where}.predicate", self.problems)
                return Cond(cast("Condition", predicate), branch("thenBranch"), branch("elseBranch"))
            case _:
                return Try(branch("primary"), branch("fallback"))

    def _branch(self, document: object, where: str, depth: int) -> Branch:
        if isinstance(document, Mapping):
            return self.composition(document, where, depth - 1)
        return self._gene(document, where, "the name of a gene or a composition")

    def _gene(self, document: object, where: str, what: str = "the name of a gene") -> str:
        if not isinstance(document, str):
            self._wrong(f"{where} must be {what}, not {shown(document)}")
            return ""
        self.genes.append(document)
        if len(self.genes) == contract.MAX_COMPOSED_GENES + 1:
            self._wrong(f"composition has places for more than {contract.MAX_COMPOSED_GENES} genes")
        return document

    def _branches(self, document: object, where: str, depth: int) -> tuple[Branch, ...]:
        if not isinstance(document, list | tuple) or not document:
            self._wrong(f"{where} must be a list of at least one gene or composition, not {shown(document)}")
            return ()
        if len(document) > contract.MAX_COMPOSED_GENES:
            self._wrong(f"{where} must have at most {contract.MAX_COMPOSED_GENES} elements, not {len(document)}")
            return ()
        return tuple(self._branch(each, f"{where}[{index}]", depth) for index, each in enumerate(document))

    def _merge(self, document: object, where: str) -> Literal["first", "concat", "merge"]:
        if document not in contract.MERGES:
            self._wrong(f"{where} must be one of {', '.join(contract.MERGES)}, not {shown(document)}")
        return cast('Literal["first", "concat", "merge"]', document)

    def _wrong(self, problem: str) -> Single:
        self.problems.append(problem)
        return _NOTHING
