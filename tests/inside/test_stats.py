"""A memory in numbers: held against its entries, and against what is evicted."""

from __future__ import annotations

import pytest
from tests.inside.conftest import AddGene, write

from rotifer_host import Project
from rotifer_host.memory import Caller, RetentionPolicy, write_request
from rotifer_host.testing import ManualClock

OTHER = Caller(f"v2:{'b' * 64}", "other")


def days(number: int) -> RetentionPolicy:
    """Return a policy that keeps an entry so long."""
    return RetentionPolicy(maxRetentionDays=number, autoDeleteOnTermination=False, anonymizationSupported=False)


def test_every_entry_is_in_one_part_of_each_kind(project: Project, add_gene: AddGene, clock: ManualClock) -> None:
    """By category, creator, age and expiry; the sums are the counters."""
    caller = add_gene("gene")
    agent = project.create_agent("a", ["gene"], memory_quota=1 << 20)
    write(agent, caller, "old", b"12345", "PREFERENCE")
    clock.advance(days=400)
    write(agent, OTHER, "middle", b"123", "PATTERN", retention_policy=days(600))
    clock.advance(days=8)
    write(agent, OTHER, "new", b"1", "CACHE", retention_policy=days(7))
    write(agent, caller, "gone", b"1", "CACHE", retention_policy=days(1))
    clock.advance(days=1)
    stats = agent.memory().stats()
    assert (stats.entries, stats.used) == (3, 8 + 9 + 4)
    assert {name: share.entries for name, share in stats.categories.items()} == {
        "PREFERENCE": 1, "PATTERN": 1, "CONTEXT": 0, "CACHE": 1,
    }  # fmt: skip
    assert [(share.gene_id, share.genes, share.entries, share.bytes) for share in stats.creators] == [
        (OTHER.gene_id, (), 2, 13),
        (caller.gene_id, ("gene",), 1, 8),
    ]
    assert {name: share.entries for name, share in stats.ages.items() if share.entries} == {
        "7 days": 1, "30 days": 1, "older": 1,
    }  # fmt: skip
    assert {name: share.entries for name, share in stats.expiries.items() if share.entries} == {
        "7 days": 1, "later": 1, "never": 1,
    }  # fmt: skip
    assert stats.next_expiry == "2027-02-20T00:00:00.000Z"
    assert (stats.evictable.entries, stats.evictable.bytes) == (2, 13)
    for parts in (stats.categories, stats.ages, stats.expiries):
        assert sum(share.bytes for share in parts.values()) == stats.used


def test_what_is_evicted_next_is(project: Project, add_gene: AddGene, clock: ManualClock) -> None:
    """Writes that need room remove the entries in the order told beforehand."""
    caller = add_gene("gene")
    agent = project.create_agent("a", ["gene"], memory_quota=400)
    for number, category in enumerate(["CONTEXT", "CACHE", "PREFERENCE", "PATTERN", "CACHE", "CONTEXT", "PATTERN"]):
        clock.advance(seconds=1 if number % 2 else -1)
        write(agent, caller, f"k{number}", b"x" * 30, category)
    told = [entry.key for entry in agent.memory().stats().next_evicted]
    assert told == ["k1", "k4", "k3", "k6", "k0", "k5"]
    held = {entry.key for entry in agent.memory().list().entries}
    for count in range(1, 7):
        with agent._open_store() as store:
            memory = agent._memory(store, durability="run")
            memory.write(caller, write_request("new", b"x" * (400 - 32 * (7 - count) - 3), "PREFERENCE"))
            memory.finish()
        left = {entry.key for entry in agent.memory().list().entries}
        assert held - left == set(told[:count])
        agent.memory().delete(key="new")


def test_asking_changes_nothing(project: Project, add_gene: AddGene, clock: ManualClock) -> None:
    """What has expired is not counted, and still not removed."""
    caller = add_gene("gene")
    agent = project.create_agent("a", ["gene"])
    write(agent, caller, "gone", b"1", "CACHE", retention_policy=days(1))
    clock.advance(days=1)
    log = project.audit_path.read_bytes()
    stats = agent.memory().stats()
    assert (stats.entries, stats.used, stats.next_evicted, stats.next_expiry) == (0, 0, (), None)
    assert project.audit_path.read_bytes() == log


@pytest.mark.parametrize("count", [0, 3, 12])
def test_no_more_than_ten_are_named(project: Project, add_gene: AddGene, count: int) -> None:
    """Of what would go next."""
    caller = add_gene("gene")
    agent = project.create_agent("a", ["gene"])
    for number in range(count):
        write(agent, caller, f"k{number:02}", b"x", "CACHE")
    assert [entry.key for entry in agent.memory().stats().next_evicted] == [f"k{n:02}" for n in range(min(count, 10))]
