"""Running a composition: what each kind does with its genes.

memory-api.en.md, "Which genes can use memory". All genes of a run share its deadline,
host time and memory; each place of a gene has its own instance, fuel and linear
memory, and acts under the gene's own v2 id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from rotifer_host.agent.at_once import all_at_once
from rotifer_host.agent.composition import (
    Branch,
    Composition,
    Cond,
    Par,
    Seq,
    Single,
    Try,
    branches_of,
    genes_of,
    has_par,
)
from rotifer_host.agent.merging import merged
from rotifer_host.sandbox import decode_document, encode_document

if TYPE_CHECKING:
    from rotifer_host.agent.report import GeneReport
    from rotifer_host.agent.run import Ended, GenomeRun, LoadedGene
    from rotifer_host.memory import Durability

__all__ = ["Composed", "compose", "durability_of"]


def compose(composition: Composition, genes: Sequence[LoadedGene]) -> tuple[Composed | None, tuple[str, ...]]:
    """Return what `run_genome` is to execute, None for all genes one after another, and warnings for the report.

    A `Par`, `Cond` or `Try` that holds a gene which is not compiled becomes a `Seq` of
    all its genes; inside a `Seq` it does so alone.
    """
    if not branches_of(composition):
        return None, ()
    by_name = {gene.name: gene for gene in genes}
    plan = _Plan(by_name)
    composed = Composed(plan.of(composition), by_name)
    return composed, plan.warnings()


def durability_of(composed: Composed | None, durability: Durability) -> tuple[Durability, tuple[str, ...]]:
    """Return the durability with which this can run, and a warning for the report where it is another one."""
    if durability == "run" and composed is not None and composed.has_par:
        return "call", ("durability is call: genes of a Par do not share one transaction",)
    return durability, ()


class _Plan:
    """What is run of a composition."""

    def __init__(self, genes: Mapping[str, LoadedGene]) -> None:
        self._genes = genes
        self._changed: dict[str, set[str]] = {}
        """By type of composition, the genes that are not compiled."""

    def of(self, branch: Branch) -> Branch:
        if isinstance(branch, Seq):
            return Seq(tuple(map(self.of, branches_of(branch))))
        if isinstance(branch, str | Single):
            return branch
        names = tuple(genes_of(branch))
        slow = {name for name in names if not self._genes[name].runner.compiled}
        if not slow:
            return branch
        self._changed.setdefault(branch.type, set()).update(slow)
        return Seq(names)

    def warnings(self) -> tuple[str, ...]:
        return tuple(
            f"all genes of the {kind} run one after another: not compiled are {', '.join(sorted(names))}"
            for kind, names in self._changed.items()
        )


class Composed:
    """A composition with its genes: what `run_genome` executes."""

    def __init__(self, root: Branch, genes: Mapping[str, LoadedGene]) -> None:
        self._root = root
        self._genes = genes
        self.has_par = has_par(root)
        """Whether genes may run at the same time."""

    def __call__(self, run: GenomeRun, text: bytes, reports: list[GeneReport]) -> Ended:
        """Run it on compact JSON."""
        return self._run(self._root, run, text, reports)

    def _run(self, branch: Branch, run: GenomeRun, text: bytes, reports: list[GeneReport]) -> Ended:
        match branch:
            case str():
                return run.gene(self._genes[branch], text, reports)
            case Par():
                return self._all_at_once(branch, run, text, reports)
            case Cond(predicate=predicate):
                chosen = branch.then_branch if predicate.holds(decode_document(text)) else branch.else_branch
                return self._run(chosen, run, text, reports)
            case Try():
                return self._try(branch, run, text, reports)
            case _:
                return self._in_turn(branches_of(branch), run, text, reports)

    def _in_turn(self, steps: Sequence[Branch], run: GenomeRun, text: bytes, reports: list[GeneReport]) -> Ended:
        *first, last = steps
        for step in first:
            ended = self._run(step, run, text, reports)
            if ended.status != "ok":
                return ended
            text = ended.output_json
        return self._run(last, run, text, reports)

    def _try(self, composition: Try, run: GenomeRun, text: bytes, reports: list[GeneReport]) -> Ended:
        ended = self._run(composition.primary, run, text, reports)
        deadline = run.setting.deadline
        if ended.error is None or deadline.cancelled or deadline.passed:
            return ended
        error = {"code": ended.error.code, "message": ended.error.message, "retryable": False, "details": None}
        failure = b'{"error":%b,"original_input":%b}' % (encode_document(error), text)
        return self._run(composition.fallback, run, failure, reports)

    def _all_at_once(self, composition: Par, run: GenomeRun, text: bytes, reports: list[GeneReport]) -> Ended:
        each_reports: list[list[GeneReport]] = [[] for _ in composition.branches]
        ended = all_at_once(
            [
                partial(self._run, branch, run, text, own)
                for branch, own in zip(composition.branches, each_reports, strict=True)
            ],
            run.setting.deadline,
        )
        reports += chain.from_iterable(each_reports)
        return merged(composition.merge, ended)
