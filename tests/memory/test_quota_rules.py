"""What fits, what makes room, and what is refused for space."""

from __future__ import annotations

from typing import Any

import pytest
from tests.memory.patience import Passed

from rotifer_host.errors import BudgetExhaustedError, BufferTooSmallError, QuotaExceededError
from rotifer_host.memory import write_request
from rotifer_host.memory.quota import entry_limit


def fill(world: Any, *entries: tuple[str, str, int]) -> None:
    """Write entries of (key, category, bytes counted) one after the other."""
    for key, category, size in entries:
        world.write(world.gene("a"), key, bytes(size - len(key)), category)
    world.audit.take()


def fill_with_many(world: Any, *categories: str) -> None:
    """Write an entry without a value in each of these, the keys being `0000`, `0001` and so on."""
    world.reopen(durability="run")
    for number, category in enumerate(categories):
        world.write(world.gene("a"), f"{number:04}", b"", category)
    world.memory.finish()
    world.audit.take()


def test_the_quota_counts_keys_in_utf8_and_raw_values(world: Any) -> None:
    """An entry of exactly the free bytes fits, one more does not."""
    world.reopen(quota=10)
    world.write(world.gene("a"), "é", bytes(8), "PREFERENCE")
    assert world.memory.list().used == 10
    with pytest.raises(QuotaExceededError):
        world.write(world.gene("a"), "é", bytes(9), "PREFERENCE")
    with pytest.raises(QuotaExceededError):
        world.write(world.gene("a"), "k", b"", "PREFERENCE")
    assert world.memory.list().used == 10


@pytest.mark.parametrize(
    ("size", "evicted"),
    [
        (10, []),
        (11, ["cache-1"]),
        (20, ["cache-1"]),
        (21, ["cache-1", "cache-2"]),
        (31, ["cache-1", "cache-2", "pattern"]),
        (41, ["cache-1", "cache-2", "pattern", "context"]),
        (50, ["cache-1", "cache-2", "pattern", "context"]),
        (51, None),
    ],
)
def test_room_is_made_in_order_and_no_further_than_needed(world: Any, size: int, evicted: list[str] | None) -> None:
    """CACHE goes first, then PATTERN, then CONTEXT, each oldest first; PREFERENCE never."""
    fill(
        world,
        ("context", "CONTEXT", 10),
        ("preference", "PREFERENCE", 10),
        ("pattern", "PATTERN", 10),
        ("cache-1", "CACHE", 10),
        ("cache-2", "CACHE", 10),
    )
    world.reopen(quota=60)
    before = world.keys()
    if evicted is None:
        with pytest.raises(QuotaExceededError) as caught:
            world.write(world.gene("b"), "new", bytes(size - 3))
        assert caught.value.message == (
            "memory is full: 50 of 60 bytes are used, 51 more are needed, 40 could be evicted"
        )
        assert before == world.keys()
        (line,) = world.audit.lines
        assert (line.action, line.key, line.bytes) == ("memory.reject", "new", size - 3)
        assert (line.actor, line.geneId, line.code) == ("gene", world.gene("b").gene_id, "MEMORY_QUOTA_EXCEEDED")
        assert world.telemetry.denied == []
        return
    world.write(world.gene("b"), "new", bytes(size - 3))
    assert world.audit.actions() == [*(("evict", key) for key in evicted), ("create", "new")]
    assert world.keys() == (before | {"new"}) - set(evicted)
    assert {(line.actor, line.geneId) for line in world.audit.lines[:-1]} <= {("host", world.gene("b").gene_id)}
    assert world.memory.events.evicted == ({world.gene("b").gene_id: len(evicted)} if evicted else {})


def test_a_rewritten_entry_is_the_newest_whatever_the_clock_says(world: Any) -> None:
    """Eviction follows the order of changes, not the time of day."""
    for key in ("a", "b", "c"):
        world.write(world.gene("a"), key, bytes(9))
        world.clock.advance(seconds=-60)
    world.write(world.gene("a"), "a", bytes(9))
    world.audit.take()
    world.reopen(quota=30)
    world.write(world.gene("a"), "d", bytes(9))
    assert world.audit.actions() == [("evict", "b"), ("create", "d")]


def test_an_entry_being_rewritten_is_never_its_own_victim(world: Any) -> None:
    """Its old bytes count as free, and others go for it although it is the oldest."""
    world.reopen(quota=30)
    fill(world, ("a", "CACHE", 10), ("b", "CACHE", 10), ("c", "CACHE", 10))
    world.write(world.gene("a"), "a", bytes(9))
    assert world.audit.take() == [("update", "a")]
    world.write(world.gene("a"), "b", bytes(19))
    assert world.audit.take() == [("evict", "c"), ("update", "b")]
    with pytest.raises(QuotaExceededError, match="30 of 30 bytes are used, 11 more are needed, 10 could be evicted"):
        world.write(world.gene("a"), "b", bytes(30))
    assert world.keys() == {"a", "b"}


def test_the_category_given_is_the_one_that_counts_from_then_on(world: Any) -> None:
    """A CACHE entry rewritten as PREFERENCE is not evicted any more."""
    world.reopen(quota=30)
    fill(world, ("a", "CACHE", 10), ("b", "CACHE", 10))
    world.write(world.gene("a"), "a", bytes(9), "PREFERENCE")
    world.audit.take()
    world.write(world.gene("a"), "c", bytes(19))
    assert world.audit.actions() == [("evict", "b"), ("create", "c")]


def test_eviction_does_not_ask_who_wrote_an_entry(world: Any) -> None:
    """Entries a gene could neither read nor write go all the same."""
    world.reopen(quota=20)
    closed = {"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}
    world.write(world.gene("a"), "k", bytes(9), access_policy=closed)
    world.audit.take()
    world.write(world.gene("b", "search"), "n", bytes(19))
    assert world.audit.actions() == [("evict", "k"), ("create", "n")]


def test_a_response_that_does_not_fit_evicts_nothing(world: Any) -> None:
    """The response is measured before anything is announced or changed."""
    world.reopen(quota=30)
    fill(world, ("a", "CACHE", 10), ("b", "CACHE", 10))
    before = world.state()
    lengths: list[int] = []

    def admit(length: int) -> None:
        lengths.append(length)
        message = f"response needs {length} bytes, out_cap is 1"
        raise BufferTooSmallError(message)

    memory: Any = world.memory
    request = write_request("c", bytes(19), "CACHE")
    with pytest.raises(BufferTooSmallError):
        memory.write(world.gene("a"), request, admit)
    assert before == world.state()
    assert world.audit.lines == []
    assert lengths == [len(memory.write(world.gene("a"), request))]


@pytest.mark.parametrize(("quota", "limit"), [(1, 1024), (16 * 1024, 1024), (16 * 1025, 1025), (10 << 20, 655_360)])
def test_the_number_of_entries_is_limited_by_the_quota(quota: int, limit: int) -> None:
    """An agent holds at most one entry per 16 bytes of quota, and 1,024 in any case."""
    assert limit == entry_limit(quota)


def test_too_many_entries_are_evicted_and_refused_like_too_many_bytes(world: Any) -> None:
    """The entry limit makes room in the same order and says so when it cannot."""
    world.reopen(durability="run")
    for number in range(1023):
        world.write(world.gene("a"), f"{number:04}", b"", "PREFERENCE")
    world.write(world.gene("a"), "cache", b"")
    world.memory.finish()
    world.audit.take()
    world.reopen(quota=16 * 1024)
    world.write(world.gene("a"), "last", b"", "PREFERENCE")
    assert world.audit.take() == [("evict", "cache"), ("create", "last")]
    with pytest.raises(QuotaExceededError, match="1024 of 1024 entries exist, 0 could be evicted"):
        world.write(world.gene("a"), "one more", b"", "CACHE")
    world.write(world.gene("a"), "last", b"x", "PREFERENCE")


def test_a_refusal_for_space_stays_one_when_it_cannot_be_recorded(world: Any) -> None:
    """A full log does not turn a full memory into a storage error."""
    world.reopen(quota=3)
    world.audit.always_fails = True
    with pytest.raises(QuotaExceededError):
        world.write(world.gene("a"), "long key")


def test_a_smaller_quota_makes_room_at_the_next_write(world: Any) -> None:
    """An agent above its quota shrinks when it is written to, and not before."""
    fill(world, ("a", "CACHE", 10), ("b", "CACHE", 10), ("c", "CACHE", 10))
    world.reopen(quota=20)
    assert world.memory.list().used == 30
    world.write(world.gene("a"), "d", bytes(9))
    assert world.audit.actions() == [("evict", "a"), ("evict", "b"), ("create", "d")]


def test_as_many_go_as_the_entry_limit_asks_for(world: Any) -> None:
    """A limit lowered by three makes a new entry cost four."""
    fill_with_many(world, *["CACHE"] * 1027)
    world.reopen(quota=16 * 1024)
    world.write(world.gene("a"), "new", b"")
    assert world.audit.actions() == [*(("evict", f"{number:04}") for number in range(4)), ("create", "new")]


def test_a_rewritten_entry_does_not_count_as_evictable(world: Any) -> None:
    """With nothing else to evict, an agent over its entry limit cannot rewrite its only CACHE entry."""
    fill_with_many(world, "CACHE", *["PREFERENCE"] * 1024)
    world.reopen(quota=16 * 1024)
    with pytest.raises(QuotaExceededError, match="1025 of 1024 entries exist, 0 could be evicted"):
        world.write(world.gene("a"), "0000", b"x")


def test_a_run_out_of_time_evicts_nothing(world: Any) -> None:
    """The deadline is minded while very many are looked at that would have to go, before anything is announced."""
    fill_with_many(world, *["CACHE"] * 300)

    world.reopen(quota=1300, patience=Passed())
    with pytest.raises(BudgetExhaustedError):
        world.write(world.gene("a"), "new", bytes(1200))
    assert (len(world.keys()), world.audit.take()) == (300, [])
    world.write(world.gene("a"), "new", bytes(500))
    assert len(world.keys()) == 300 - 101 + 1
