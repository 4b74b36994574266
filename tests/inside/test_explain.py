"""`Agent.explain` says what the rules say: each answer is held against the call itself."""

from __future__ import annotations

from itertools import product
from typing import Any, Final

import pytest
from tests.inside.conftest import AddGene, write

from rotifer_host import Agent, DataPolicy, Explanation, Project
from rotifer_host.errors import GeneError, HostCallError, InvalidInputError
from rotifer_host.memory import (
    AccessPolicy,
    Caller,
    RetentionPolicy,
    delete_request,
    read_request,
    write_request,
)
from rotifer_host.memory.entry import Scope
from rotifer_host.testing import ManualClock

SCOPES: Final[tuple[Scope, ...]] = ("CREATOR_GENE_ONLY", "SAME_DOMAIN", "ALL_GENES")
SHORT = RetentionPolicy(maxRetentionDays=1, autoDeleteOnTermination=False, anonymizationSupported=False)


def outcome(agent: Agent, call: str, *arguments: Any) -> str | None:
    """Make a call that leaves nothing, and return the code of its refusal."""
    with agent._open_store() as store:
        memory = agent._memory(store, durability="run")
        try:
            getattr(memory, call)(*arguments)
        except HostCallError as error:
            return error.code
        finally:
            memory.rollback()
    return None


def agrees(agent: Agent, explained: Explanation, caller: Caller, key: str) -> None:
    """Compare every verdict with what comes of the call."""
    old = explained.entry
    access = AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE")
    if old is not None and old.access_policy == access:
        access = AccessPolicy("SAME_DOMAIN", "ALL_GENES", "PRIVATE")
    calls: dict[str, tuple[Any, ...]] = {
        "read": ("read", read_request(key)),
        "write": ("write", write_request(key, b"", "CONTEXT")),
        "delete": ("delete", delete_request(key)),
        "change_access_policy": ("write", write_request(key, b"", "CONTEXT", access)),
        "change_retention_policy": ("write", write_request(key, b"", "CONTEXT", None, SHORT)),
    }
    for name, (call, request) in calls.items():
        verdict = getattr(explained, name)
        assert verdict.code == outcome(agent, call, caller, request), name
        assert verdict.allowed == (verdict.code is None)


@pytest.mark.parametrize(("read", "written"), list(product(SCOPES, SCOPES)))
def test_each_scope_for_each_kind_of_gene(project: Project, add_gene: AddGene, read: Scope, written: Scope) -> None:
    """The creator, one of its domain, one of another: read, overwrite, delete and both policies."""
    callers = {"creator": add_gene("creator"), "near": add_gene("near", version="2.0.0"), "far": add_gene("far", "far")}
    agent = project.create_agent("a", list(callers))
    policy = AccessPolicy(read, written, "PRIVATE")
    write(agent, callers["creator"], "key", b"value", access_policy=policy)
    for name, caller in callers.items():
        explained = agent.explain(name, "key")
        assert (explained.gene_id, explained.domain, explained.in_genome) == (*caller, True)
        agrees(agent, explained, caller, "key")
        assert read in explained.read.rule
        assert written in explained.delete.rule


def test_a_key_without_entry(project: Project, add_gene: AddGene) -> None:
    """It reads as null, a write creates it and chooses its policies, and there is nothing to delete."""
    caller = add_gene("creator")
    agent = project.create_agent("a", ["creator"])
    explained = agent.explain("creator", "key")
    assert explained.entry is None
    assert "readMemory answers null" in explained.read.rule
    assert explained.delete.code == "MEMORY_NOT_FOUND"
    agrees(agent, explained, caller, "key")


def test_a_full_memory(project: Project, add_gene: AddGene) -> None:
    """A write for which nothing can be evicted is refused; what would fit is told to the byte."""
    caller = add_gene("creator")
    agent = project.create_agent("a", ["creator"], memory_quota=100)
    write(agent, caller, "p", b"x" * 49, "PREFERENCE")
    write(agent, caller, "c", b"x" * 19, "CACHE")
    room = agent.explain("creator", "key").room
    assert (room.used, room.quota, room.entries) == (70, 100, 2)
    assert (room.largest_without_eviction, room.largest_value) == (27, 47)
    for size, code in ((47, None), (48, "MEMORY_QUOTA_EXCEEDED")):
        assert outcome(agent, "write", caller, write_request("key", b"x" * size, "CACHE")) == code
    rewritten = agent.explain("creator", "c").room
    assert (rewritten.largest_without_eviction, rewritten.largest_value) == (49, 49)
    write(agent, caller, "q", b"x" * 49, "PREFERENCE")
    full = agent.explain("creator", "key")
    assert (full.write.code, full.room.largest_value) == ("MEMORY_QUOTA_EXCEEDED", None)
    agrees(agent, full, caller, "key")


def test_a_value_is_never_larger_than_a_megabyte(project: Project, add_gene: AddGene) -> None:
    """However much room there is."""
    add_gene("creator")
    room = project.create_agent("a", ["creator"]).explain("creator", "key").room
    assert (room.largest_value, room.largest_without_eviction) == (1 << 20, 1 << 20)


def test_what_has_expired_is_not_there(project: Project, add_gene: AddGene, clock: ManualClock) -> None:
    """Nor does it count, and asking does not remove it."""
    caller = add_gene("creator")
    agent = project.create_agent("a", ["creator"])
    write(agent, caller, "key", b"value", retention_policy=SHORT)
    before = agent.explain("creator", "key")
    assert before.entry is not None
    assert before.entry.expires_at == "2026-01-02T00:00:00.000Z"
    assert "1 day from each write, by the entry's own" in before.kept
    clock.advance(days=1)
    log = project.audit_path.read_bytes()
    after = agent.explain("creator", "key")
    assert (after.entry, after.room.used, after.room.entries) == (None, 0, 0)
    assert project.audit_path.read_bytes() == log


def test_the_data_policy_decides_how_long(project: Project, add_gene: AddGene) -> None:
    """Where the entry has no policy of its own."""
    caller = add_gene("creator")
    agent = project.create_agent("a", ["creator"], data_policy=DataPolicy(maxRetentionDays=7))
    assert agent.explain("creator", "key").kept == "7 days from each write, by the agent's data policy"
    agrees(agent, agent.explain("creator", "key"), caller, "key")


def test_a_gene_without_v2_id(project: Project, add_gene: AddGene) -> None:
    """Everything is denied, and the reason is what keeps it from having one."""
    add_gene("raw", compiled=False)
    explained = project.create_agent("a", ["raw"]).explain("raw", "key")
    assert (explained.gene_id, explained.domain) == (None, "text")
    verdicts = [explained.read, explained.write, explained.delete, explained.change_access_policy]
    assert {verdict.code for verdict in verdicts} == {"MEMORY_ACCESS_DENIED"}
    assert "is not compiled" in explained.read.rule


def test_a_gene_that_is_not_in_the_genome(project: Project, add_gene: AddGene) -> None:
    """Can be asked for before it is taken in."""
    caller = add_gene("creator")
    other = add_gene("other", "far")
    agent = project.create_agent("a", ["creator"])
    write(agent, caller, "key", b"value")
    explained = agent.explain("other", "key")
    assert not explained.in_genome
    agrees(agent, explained, other, "key")


def test_what_is_no_gene_or_key(project: Project, add_gene: AddGene) -> None:
    """Is refused by name."""
    add_gene("creator")
    agent = project.create_agent("a", ["creator"])
    with pytest.raises(GeneError, match="no gene nothing"):
        agent.explain("nothing", "key")
    for key in ("", "a\0", "k" * 1025):
        with pytest.raises(InvalidInputError, match="key"):
            agent.explain("creator", key)
