"""The cache keeps a result for a day, and never fails over memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.guests.modules import GUESTS, Guests

from rotifer_host import Agent, MemoryEntry, Project
from rotifer_host.errors import (
    AccessDeniedError,
    BudgetExhaustedError,
    HostCallError,
    QuotaExceededError,
    StorageError,
)
from rotifer_host.testing import ManualClock, ScriptedHost, temporary_project

DAY = 86_400


def tenth(agent: Agent) -> bool:
    """Ask for the tenth prime; return whether it came from the cache."""
    output = agent.run({"n": 10}).output
    assert (output["n"], output["prime"]) == (10, 29)
    return bool(output["cached"])


def kept(project: Project, agent: Agent) -> MemoryEntry | None:
    """Return the entry of the tenth prime."""
    return agent.memory(project.gene("cache-c")).read("prime/10")


def test_expires_after_a_day() -> None:
    """A result is found for a day from when it was computed, to the second, however often it is asked for."""
    clock = ManualClock("2026-01-01T12:00:00.999Z")
    with temporary_project({"cache-c": GUESTS / "cache-c"}, clock=clock) as project:
        agent = project.create_agent("primes", ["cache-c"])
        assert [tenth(agent), tenth(agent)] == [False, True]
        clock.advance(seconds=DAY - 1)
        assert tenth(agent)
        clock.advance(ms=1)
        assert [tenth(agent), tenth(agent)] == [False, True]


def test_entry(guests: Guests, tmp_path: Path) -> None:
    """The entry is of the category that goes first, with a retention policy of one day."""
    project = guests.project(tmp_path / "cache", "cache-c")
    agent = project.create_agent("primes", ["cache-c"])
    tenth(agent)
    entry = kept(project, agent)
    assert entry is not None
    assert (entry.category, entry.value) == ("CACHE", b"29")
    assert entry.retention_policy is not None
    assert entry.retention_policy.maxRetentionDays == 1


@pytest.mark.parametrize("value", [b"", b"x", b"1", b"-3", b"29x", bytes(9000)])
def test_nonsense_is_computed_again(guests: Guests, tmp_path: Path, value: bytes) -> None:
    """What is no prime at first sight is replaced."""
    project = guests.project(tmp_path / "cache", "cache-c")
    agent = project.create_agent("primes", ["cache-c"])
    agent.memory(project.gene("cache-c")).write("prime/10", value, "CACHE")
    assert not tenth(agent)
    entry = kept(project, agent)
    assert entry is not None
    assert entry.value == b"29"


@pytest.mark.parametrize("error", [AccessDeniedError, BudgetExhaustedError, QuotaExceededError, StorageError])
def test_failures_of_memory_do_not_matter(guests: Guests, error: type[HostCallError]) -> None:
    """When memory cannot be read or written the result is computed all the same."""
    host = ScriptedHost()
    host.answer("readMemory", error("no"), None)
    host.answer("writeMemory", error("no"), error("no"))
    for _ in range(2):
        assert host.run(guests.module("cache-c"), {"n": 10}).output == {"n": 10, "prime": 29, "cached": False}
    assert not host.unused
