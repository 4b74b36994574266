"""`Agent.set_genes`: other genes at once, the memory and all else stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.inside.conftest import AddGene, write

from rotifer_host import Project
from rotifer_host.errors import AgentError, GeneError, UsageError

COND = {"field": "type", "op": "Eq", "value": "a"}


@pytest.fixture(autouse=True)
def five_genes(add_gene: AddGene) -> None:
    """Put genes a to e into the project."""
    for name in "abcde":
        add_gene(name, version=f"{ord(name)}.0.0", compiled=name == "a")


KEPT: dict[str, tuple[Any, str, str, str]] = {
    "one gene": (None, "a", "b", "Single"),
    "a gene by name": ({"type": "Single", "gene": "a"}, "a", "b", "Single(b)"),
    "one after another": (None, "a b", "c d", "Seq"),
    "more of them": (None, "a b", "c d e", "Seq"),
    "fewer of them": (None, "a b", "c", "Seq"),
    "steps by name": ({"type": "Seq", "steps": ["a", "b"]}, "a b", "c d e", "Seq"),
    "at once": ({"type": "Par", "branches": ["a", "b"], "merge": "concat"}, "a b", "c d", "Par concat(c, d)"),
    "more at once": ({"type": "Par", "branches": ["a", "b"], "merge": "merge"}, "a b", "c d e", "Par merge(c, d, e)"),
    "the fallback": ("Try", "a b", "a c", "Try(a, c)"),
    "nested": (
        {"type": "Seq", "steps": ["a", {"type": "Try", "primary": "b", "fallback": "c"}]},
        "a b c",
        "d b e",
        "Seq(d, Try(b, e))",
    ),
}


@pytest.mark.parametrize(("composition", "before", "after", "shown"), KEPT.values(), ids=KEPT)
def test_a_composition_is_kept(project: Project, composition: Any, before: str, after: str, shown: str) -> None:
    """Each gene takes the place of the one with its number."""
    agent = project.create_agent("x", before.split(), composition=composition)
    changed = agent.set_genes(after.split())
    assert (changed.genome, changed.composition_text) == (tuple(after.split()), shown)
    assert project.agent("x").composition_tree == changed.composition_tree


def test_a_condition_keeps_what_it_asks_for(project: Project) -> None:
    """A value that happens to be a gene's name is no gene."""
    tree = {"type": "Cond", "predicate": COND, "thenBranch": "a", "elseBranch": "b"}
    changed = project.create_agent("x", [], composition=tree).set_genes(["c", "d"])
    assert changed.composition_tree == tree | {"thenBranch": "c", "elseBranch": "d"}


def test_another_composition(project: Project) -> None:
    """By its name or as data."""
    agent = project.create_agent("x", ["a"])
    assert agent.set_genes(["b", "c"], composition="Par").composition_text == "Par first(b, c)"
    tree = {"type": "Try", "primary": "c", "fallback": "b"}
    assert project.agent("x").set_genes(["b", "c"], composition=tree).composition_text == "Try(c, b)"


def test_all_else_stays(project: Project, add_gene: AddGene) -> None:
    """Id, quota, policy, date, whether its runs take turns, and what it remembers."""
    agent = project.create_agent("x", ["a"], memory_quota=12345, exclusive=True)
    write(agent, add_gene("a", version="97.0.0"), "key", b"value")
    path = project.root / ".rotifer" / "agents" / f"{agent.id}.json"
    before = json.loads(path.read_bytes())
    changed = agent.set_genes(["b"])
    assert json.loads(path.read_bytes()) == before | {"genome": ["b"]}
    assert [entry.key for entry in changed.memory().list().entries] == ["key"]


@pytest.mark.parametrize(
    ("genes", "composition", "error", "reason"),
    [
        (["a", "nothing"], None, GeneError, "no gene nothing"),
        (["a", "../b"], None, UsageError, "gene name"),
        ([], None, UsageError, "at least one"),
        ("a", None, UsageError, "list"),
        (["a", "b", "c"], None, UsageError, r"Try\(a, b\) of the agent x has places for 2 genes, not 3"),
        (["a"], None, UsageError, "not 1"),
        (["a", "b"], "Loop", UsageError, "Loop"),
        (["a", "b"], {"type": "Single", "gene": "a"}, UsageError, "Single"),
        (["a", "b"], {"type": "Seq", "steps": ["a", "c"]}, UsageError, "c"),
    ],
)
def test_what_does_not_fit(project: Project, genes: Any, composition: Any, error: type[Exception], reason: str) -> None:
    """Changes nothing, and is named."""
    agent = project.create_agent("x", ["a", "b"], composition="Try")
    with pytest.raises(error, match=reason):
        agent.set_genes(genes, composition=composition)
    assert project.agent("x").composition_tree == agent.composition_tree


def test_a_gene_with_a_bad_phenotype(project: Project) -> None:
    """Is refused as `create_agent` refuses it."""
    agent = project.create_agent("x", ["a"])
    (project.root / "genes" / "b" / "phenotype.json").write_text("{}", encoding="utf-8")
    with pytest.raises(GeneError, match="domain is missing"):
        agent.set_genes(["b"])
    assert project.agent("x").genome == ("a",)


def test_an_agent_that_is_gone(project: Project) -> None:
    """Is not made anew by it."""
    agent = project.create_agent("x", ["a"])
    (project.root / ".rotifer" / "agents" / f"{agent.id}.json").unlink()
    with pytest.raises(AgentError, match="no agent named x"):
        agent.set_genes(["b"])
    assert project.agents() == []
