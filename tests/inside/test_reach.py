"""Which entries the genes of an agent still reach: held against every call they could make."""

from __future__ import annotations

import contextlib
from itertools import product
from typing import Final

import pytest
from tests.inside.conftest import AddGene, write

from rotifer_host import Agent, Project
from rotifer_host.errors import AccessDeniedError
from rotifer_host.memory import AccessPolicy, Caller, delete_request, read_request
from rotifer_host.memory.entry import Scope

SCOPES: Final[tuple[Scope, ...]] = ("CREATOR_GENE_ONLY", "SAME_DOMAIN", "ALL_GENES")


def reach(agent: Agent) -> dict[str, bool | None]:
    """Return the mark of each key."""
    return {entry.key: entry.reachable for entry in agent.memory().list().entries}


def fill(agent: Agent, caller: Caller) -> None:
    """Write an entry for each pair of scopes."""
    for read, written in product(SCOPES, SCOPES):
        policy = AccessPolicy(read, written, "PRIVATE")
        write(agent, caller, f"{read}/{written}", access_policy=policy)


def gets_at(agent: Agent, callers: list[Caller], key: str) -> bool:
    """Try to read and to delete, changing nothing."""
    for caller in callers:
        with agent._open_store() as store:
            memory = agent._memory(store, durability="run")
            with contextlib.suppress(AccessDeniedError):
                memory.read(caller, read_request(key))
                return True
            with contextlib.suppress(AccessDeniedError):
                memory.delete(caller, delete_request(key))
                memory.rollback()
                return True
    return False


@pytest.mark.parametrize("domains", [("text",), ("far",), ("far", "text"), ("far", "further")])
def test_an_upgrade(project: Project, add_gene: AddGene, domains: tuple[str, ...]) -> None:
    """The mark is whether any call of any gene of the genome would be let in."""
    old = add_gene("old")
    agent = project.create_agent("a", ["old"])
    fill(agent, old)
    assert set(reach(agent).values()) == {True}
    callers = [add_gene(f"new-{number}", domain, "2.0.0") for number, domain in enumerate(domains)]
    agent = agent.set_genes([f"new-{number}" for number in range(len(domains))], composition="Seq")
    marks = reach(agent)
    assert marks == {key: gets_at(agent, callers, key) for key in marks}
    assert marks["CREATOR_GENE_ONLY/CREATOR_GENE_ONLY"] is False
    assert agent.memory().stats().unreachable.entries == list(marks.values()).count(False)


def test_the_same_gene_recompiled(project: Project, add_gene: AddGene) -> None:
    """A new version in the same folder is another gene; the old version again is the old one."""
    fill(agent := project.create_agent("a", ["hello"]), add_gene("gene"))
    agent = agent.set_genes(["gene"])
    assert set(reach(agent).values()) == {True}
    add_gene("gene", version="1.0.1")
    assert reach(agent)["CREATOR_GENE_ONLY/CREATOR_GENE_ONLY"] is False
    assert reach(agent)["SAME_DOMAIN/CREATOR_GENE_ONLY"] is True
    add_gene("gene", version="1.0.0")
    assert set(reach(agent).values()) == {True}


def test_what_nobody_can_say(project: Project, add_gene: AddGene) -> None:
    """A gene that is not compiled has a domain and no id; one that is gone has neither."""
    fill(agent := project.create_agent("a", ["hello"]), add_gene("old"))
    add_gene("raw", compiled=False)
    marks = reach(agent.set_genes(["raw"]))
    assert marks.pop("CREATOR_GENE_ONLY/CREATOR_GENE_ONLY") is None
    assert set(marks.values()) == {True}
    (project.root / "genes" / "raw" / "phenotype.json").unlink()
    marks = reach(project.agent("a"))
    assert set(marks.values()) == {None}
    assert project.agent("a").memory().stats().unreachable.entries == 0
