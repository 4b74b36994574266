"""When entries are gone, and what removes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.memory.patience import Passed

from rotifer_host.errors import BudgetExhaustedError, LockTimeoutError, NotFoundError, StorageError
from rotifer_host.lock import Wait
from rotifer_host.memory import DataPolicy, delete_request, query_request, read_request, write_request


def retention(days: int | None) -> dict[str, Any]:
    """Return a retention policy as it is written on the wire."""
    return {"maxRetentionDays": days, "autoDeleteOnTermination": False, "anonymizationSupported": False}


@pytest.mark.parametrize(
    ("policy_days", "given", "days"),
    [
        (None, {"retention_policy": retention(2)}, 2),
        (None, {"retention_policy": retention(None)}, None),
        (None, {"retention_policy": None}, None),
        (None, {}, None),
        (3, {}, 3),
        (3, {"retention_policy": None}, 3),
        (3, {"retention_policy": retention(2)}, 2),
    ],
)
def test_an_entry_is_gone_to_the_second(
    world: Any, policy_days: int | None, given: dict[str, Any], days: int | None
) -> None:
    """It goes when the whole second of the clock reaches that of its update plus its days."""
    world.reopen(policy=DataPolicy(maxRetentionDays=policy_days))
    world.clock.advance(ms=999)
    world.write(world.gene("a"), "k", **given)
    world.clock.advance(days=days or 100_000, ms=-1000)
    assert world.read(world.gene("a"), "k") is not None
    world.clock.advance(ms=1)
    assert (world.read(world.gene("a"), "k") is None) == (days is not None)


def test_a_data_policy_holds_for_entries_that_follow_it_as_it_is_now(world: Any) -> None:
    """A stricter or looser data policy counts for old entries without rewriting them."""
    world.write(world.gene("a"), "follows")
    world.write(world.gene("a"), "own", retention_policy=retention(90))
    world.clock.advance(days=10)
    assert set(world.query(world.gene("a"))) == {"follows", "own"}
    world.audit.always_fails = True
    world.reopen(policy=DataPolicy(maxRetentionDays=7))
    assert world.query(world.gene("a")) == ["own"]
    world.reopen(policy=DataPolicy(maxRetentionDays=11))
    assert set(world.query(world.gene("a"))) == {"follows", "own"}


def test_rewriting_starts_the_count_again(world: Any) -> None:
    """The days count from the last update, and the retention stays when left out."""
    world.write(world.gene("a"), "k", retention_policy=retention(1))
    world.clock.advance(seconds=86_399)
    world.write(world.gene("a"), "k", b"2")
    world.clock.advance(seconds=86_399)
    assert world.read(world.gene("a"), "k") is not None
    world.clock.advance(seconds=1)
    assert world.read(world.gene("a"), "k") is None


CALLS: dict[str, Callable[[Any], Any]] = {
    "read": lambda world: world.memory.read(world.gene("b"), read_request("other")),
    "query": lambda world: world.memory.query(world.gene("b"), query_request()),
    "write": lambda world: world.memory.write(world.gene("b"), write_request("new", b"", "CACHE")),
    "delete": lambda world: world.memory.delete(world.gene("b"), delete_request("missing")),
    "list": lambda world: world.memory.list(),
    "deployer's delete": lambda world: world.memory.delete_as_deployer(key="missing"),
}


@pytest.mark.parametrize("call", list(CALLS))
def test_every_call_removes_what_has_expired_first(world: Any, call: str) -> None:
    """Each removal has a durable line by the host, and stays whatever the call itself answers."""
    world.write(world.gene("a"), "old-2", b"22", "PREFERENCE", retention_policy=retention(2))
    world.write(world.gene("a"), "old-1", b"1", retention_policy=retention(1))
    world.write(world.gene("a"), "stays")
    world.audit.take()
    world.clock.advance(days=2)
    try:
        CALLS[call](world)
    except NotFoundError:
        assert "delete" in call
    caller = None if call in ("list", "deployer's delete") else world.gene("b")
    first, second = world.audit.lines[:2]
    assert [(line.action, line.key, line.bytes) for line in (first, second)] == [
        ("memory.expire", "old-1", 1),
        ("memory.expire", "old-2", 2),
    ]
    assert {(line.actor, line.geneId) for line in (first, second)} == {("host", caller and caller.gene_id)}
    assert world.audit.durable[:2] == [True, True]
    assert world.keys() == {"stays"} | ({"new"} if call == "write" else set())
    assert world.memory.events.expired == ({caller.gene_id: 2} if caller else {})


def test_an_expired_key_is_created_anew(world: Any) -> None:
    """Writing it again makes an entry with a new creator, and frees nobody's policies."""
    closed = {"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}
    world.write(world.gene("a"), "k", access_policy=closed, retention_policy=retention(1))
    world.clock.advance(days=1)
    entry = world.write(world.gene("b", "search"), "k")
    assert entry["createdBy"] == world.gene("b").gene_id
    assert entry["createdAt"] == "2026-01-02T00:00:00.000Z"
    assert entry["retentionPolicy"] is None
    assert world.audit.actions() == [("create", "k"), ("expire", "k"), ("create", "k")]


@pytest.mark.parametrize("obstacle", ["audit", "lock"])
def test_readers_answer_without_what_cannot_be_removed(world: Any, obstacle: str) -> None:
    """Hidden and uncounted at once: a full log or a busy writer delays no reader."""
    world.write(world.gene("a"), "k", b"12345", retention_policy=retention(1))
    world.write(world.gene("a"), "stays")
    world.clock.advance(days=1)
    held = None
    if obstacle == "audit":
        world.audit.always_fails = True
    else:
        held = world.store.begin(Wait(0))
    try:
        assert world.read(world.gene("a"), "k") is None
        assert world.query(world.gene("a"), key_prefix="k") == []
        listing = world.memory.list()
        assert [entry.key for entry in listing.entries] == ["stays"]
        assert listing.used == len("stays") + 1
        assert world.keys() == {"k", "stays"}
    finally:
        if held is not None:
            held.abort()


def test_writers_fail_while_expired_entries_cannot_be_removed(world: Any) -> None:
    """Without a log nothing is removed, so nothing is written either."""
    world.write(world.gene("a"), "k", retention_policy=retention(1))
    world.clock.advance(days=1)
    before = world.state()
    world.audit.always_fails = True
    for call in ("write", "delete", "deployer's delete"):
        with pytest.raises(StorageError):
            CALLS[call](world)
    assert before == world.state()


def test_a_busy_lock_is_the_deadline_in_a_run_and_itself_outside(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's call ends with -4; a command says that another holds the lock."""
    held = world.store.begin(Wait(0))
    try:
        world.reopen(patience=Passed())
        with pytest.raises(BudgetExhaustedError):
            world.write(world.gene("a"), "k")
        world.reopen()
        monkeypatch.setattr(world.memory._changes, "patience", lambda: Wait(0))
        with pytest.raises(LockTimeoutError):
            world.write(world.gene("a"), "k")
    finally:
        held.abort()


@pytest.mark.parametrize("first", ["a read", "a write"])
@pytest.mark.parametrize("durability", ["call", "run"])
def test_many_expired_entries_go_in_pieces(world: Any, durability: str, first: str) -> None:
    """Whoever comes first removes all of them, before its own work: a reader too, and a writer behind it."""
    world.reopen(durability="run")
    for number in range(2500):
        world.write(world.gene("a"), f"{number:04}", b"", retention_policy=retention(1))
    world.memory.finish()
    world.clock.advance(days=1)
    world.reopen(durability=durability)
    world.audit.take()
    if first == "a read":
        assert world.query(world.gene("a")) == []
        assert world.keys() == set()
    world.write(world.gene("a"), "new")
    world.memory.finish()
    assert world.keys() == {"new"}
    actions = world.audit.actions()
    assert actions[-1] == ("create", "new")
    assert [action for action, _ in actions[:-1]] == ["expire"] * 2500


def test_a_run_out_of_time_stops_removing(world: Any) -> None:
    """The pieces that are gone stay gone, and the write has not happened; a read hides the rest."""
    world.reopen(durability="run")
    for number in range(2148):
        world.write(world.gene("a"), f"{number:04}", b"", retention_policy=retention(1))
    world.memory.finish()
    world.clock.advance(days=1)
    world.reopen(patience=Passed())
    assert world.memory.read(world.gene("a"), read_request("0000")) == b"null"
    assert len(world.keys()) == 2148 - 1024
    with pytest.raises(BudgetExhaustedError):
        world.write(world.gene("a"), "new")
    assert len(world.keys()) == 2148 - 2 * 1024


def test_expired_bytes_do_not_count_when_room_is_made(world: Any) -> None:
    """What has expired is removed, not evicted, and only then is room measured."""
    world.reopen(quota=20)
    world.write(world.gene("a"), "a", bytes(9), "PREFERENCE", retention_policy=retention(1))
    world.write(world.gene("a"), "b", bytes(9))
    world.clock.advance(days=1)
    world.audit.take()
    world.write(world.gene("a"), "c", bytes(9))
    assert world.audit.actions() == [("expire", "a"), ("create", "c")]


def test_a_clock_set_back_brings_back_what_is_not_removed_yet(world: Any) -> None:
    """Only the clock's time now decides, and an entry once removed stays removed."""
    world.write(world.gene("a"), "k", retention_policy=retention(1))
    world.clock.advance(days=1)
    world.audit.always_fails = True
    assert world.read(world.gene("a"), "k") is None
    world.clock.advance(seconds=-1)
    assert json.loads(world.memory.read(world.gene("a"), read_request("k")))["key"] == "k"
