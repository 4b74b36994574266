"""How an agent's genes are composed: data in its record.

    {"type": "Single", "gene": "NAME"}
    {"type": "Seq", "steps": [BRANCH, …]}
    {"type": "Par", "branches": [BRANCH, …], "merge": "first" | "concat" | "merge"}
    {"type": "Cond", "predicate": {"field", "op", "value"}, "thenBranch": BRANCH, "elseBranch": BRANCH}
    {"type": "Try", "primary": BRANCH, "fallback": BRANCH}

A BRANCH is the name of a gene or another composition. The outermost one may leave
its branches out: then they are the agent's genes in their order. What each does is
in `rotifer_host.agent.composed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import msgspec

from rotifer_host.agent.condition import Condition

__all__ = [
    "Branch",
    "Composition",
    "Cond",
    "Par",
    "Seq",
    "Single",
    "Try",
    "branches_of",
    "genes_of",
    "has_par",
    "written",
]


class _Composition(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag=True, rename="camel"):
    type: ClassVar[str]


class Single(_Composition, frozen=True):
    """One gene."""

    type = "Single"
    gene: str | None = None
    """None: the agent's only gene."""


class Seq(_Composition, frozen=True):
    """One after another, each on the output of the one before, until one does not end `ok`."""

    type = "Seq"
    steps: tuple[Branch, ...] | None = None
    """None: the agent's genes."""


class Par(_Composition, frozen=True):
    """All on the same input at the same time, each to its end."""

    type = "Par"
    branches: tuple[Branch, ...]
    merge: Literal["first", "concat", "merge"]


class Cond(_Composition, frozen=True):
    """One of two, by what the input holds."""

    type = "Cond"
    predicate: Condition
    then_branch: Branch
    else_branch: Branch


class Try(_Composition, frozen=True):
    """The primary, and if that does not end `ok` the fallback, on the error and the input."""

    type = "Try"
    primary: Branch
    fallback: Branch


Composition = Single | Seq | Par | Cond | Try
Branch = str | Single | Seq | Par | Cond | Try


def branches_of(composition: Composition) -> tuple[Branch, ...]:
    """Return its branches in order; none of a `Single` or `Seq` that leaves them to the agent's genes."""
    match composition:
        case Single(gene=gene):
            return () if gene is None else (gene,)
        case Seq(steps=steps):
            return steps or ()
        case Par(branches=branches):
            return branches
        case Cond(then_branch=yes, else_branch=no):
            return (yes, no)
        case Try(primary=primary, fallback=fallback):
            return (primary, fallback)


def written(branch: Branch) -> str:
    """Return it on one line: `Par first(a, Cond(type Eq "x" ? b : c))`."""
    if isinstance(branch, str):
        return branch
    branches = [written(each) for each in branches_of(branch)]
    if isinstance(branch, Cond):
        return f"Cond({branch.predicate} ? {' : '.join(branches)})"
    name = f"Par {branch.merge}" if isinstance(branch, Par) else branch.type
    return f"{name}({', '.join(branches)})" if branches else name


def genes_of(branch: Branch) -> Iterator[str]:
    """Yield the names of the genes in a branch in its order, one that has several places several times."""
    if isinstance(branch, str):
        yield branch
        return
    for inner in branches_of(branch):
        yield from genes_of(inner)


def has_par(branch: Branch) -> bool:
    """Tell whether genes of a branch may run at the same time."""
    return isinstance(branch, Par) or (not isinstance(branch, str) and any(map(has_par, branches_of(branch))))
