"""What is saved when: calls on their own, a run as a whole, and what failing does to either."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from rotifer_host.errors import (
    AccessDeniedError,
    BufferTooSmallError,
    LockTimeoutError,
    NotFoundError,
    QuotaExceededError,
    StorageError,
    StoreError,
)
from rotifer_host.lock import Patience
from rotifer_host.memory import agent_memory, delete_request, read_request, write_request
from rotifer_host.sandbox import Deadline


class Faulty:
    """A store whose changes fail at one of their operations: `put`, `remove`, `commit` or `get`."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.fails: str | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def begin(self, patience: Patience) -> Any:
        """Begin a change that fails where it is told to."""
        return FaultyChange(self, self._store.begin(patience))


class FaultyChange:
    """A change of a `Faulty` store."""

    def __init__(self, store: Faulty, change: Any) -> None:
        self._store = store
        self._change = change

    def __getattr__(self, name: str) -> Any:
        if name == self._store.fails:
            if name == "commit":
                self._change.abort()
            message = f"the disk failed at {name}"
            raise StoreError(message)
        return getattr(self._change, name)


@pytest.fixture
def faulty(world: Any) -> Iterator[Any]:
    """Give a world whose store can be told to fail."""
    world.store = Faulty(world.store)
    world.reopen()
    yield world
    world.memory.rollback()


def test_a_call_is_saved_when_it_returns(world: Any) -> None:
    """Its lines are durable before, and another use of the memory sees the change at once."""
    world.write(world.gene("a"), "k")
    assert world.audit.durable == [True]
    assert world.open().read(world.gene("a"), read_request("k")) != b"null"


def test_a_run_is_saved_at_its_end(world: Any) -> None:
    """The run sees its own changes, nobody else does before the end; then all lines come to the disk at once."""
    world.write(world.gene("a"), "before")
    world.audit.take()
    world.reopen(durability="run")
    world.write(world.gene("a"), "k")
    world.write(world.gene("a"), "l")
    world.memory.delete(world.gene("a"), delete_request("before"))
    assert world.query(world.gene("a")) == ["l", "k"]
    assert world.read(world.gene("a"), "before") is None
    assert [entry.key for entry in world.memory.list().entries] == ["k", "l"]
    assert world.keys() == {"before"}
    assert world.audit.actions() == []
    world.memory.finish()
    assert world.audit.actions() == [("create", "k"), ("create", "l"), ("delete", "before")]
    assert (world.audit.durable, world.audit.synced) == ([True] * 3, 0)
    assert world.keys() == {"k", "l"}


def test_a_run_rolled_back_leaves_nothing(world: Any) -> None:
    """What was never saved has no line either."""
    before = world.state()
    world.reopen(durability="run")
    world.write(world.gene("a"), "k")
    world.memory.delete(world.gene("a"), delete_request("k"))
    world.memory.rollback()
    assert before == world.state()
    assert world.audit.lines == []


def test_a_refusal_stands_behind_the_changes_before_it(world: Any) -> None:
    """Lines that wait for the end of the run are written before that of a refusal, and synced with the later ones."""
    world.write(world.gene("b", "search"), "theirs")
    world.audit.take()
    world.reopen(durability="run")
    world.write(world.gene("a"), "k")
    with pytest.raises(AccessDeniedError):
        world.write(world.gene("a"), "theirs")
    created, denied = world.audit.lines
    assert (created.key, created.seq, denied.action) == ("k", 2, "memory.deny")
    assert world.audit.durable == [False, False]
    world.write(world.gene("a"), "l")
    world.memory.finish()
    assert world.audit.actions() == [("create", "k"), ("deny", "theirs"), ("create", "l")]
    assert world.audit.lines[-1].seq == 3
    assert world.audit.durable == [False, False, True]


def test_lines_that_were_written_early_are_synced_at_the_end(world: Any) -> None:
    """A run whose last call was a refusal has no line left to write, and one sync to ask for."""
    world.reopen(durability="run", quota=100)
    world.write(world.gene("a"), "k")
    with pytest.raises(QuotaExceededError):
        world.write(world.gene("a"), "large", bytes(101))
    assert world.audit.synced == 0
    world.memory.finish()
    assert world.audit.actions() == [("create", "k"), ("reject", "large")]
    assert world.audit.synced >= 1
    assert world.keys() == {"k"}


def test_a_refusal_is_one_when_the_lines_before_it_cannot_be_written(world: Any) -> None:
    """They wait on, and stand in the log once it can be written again."""
    world.write(world.gene("b", "search"), "theirs")
    world.audit.take()
    world.reopen(durability="run")
    world.write(world.gene("a"), "k")
    world.audit.always_fails = True
    with pytest.raises(AccessDeniedError):
        world.write(world.gene("a"), "theirs")
    world.audit.always_fails = False
    world.memory.finish()
    assert world.audit.actions() == [("create", "k")]
    assert world.keys() == {"k", "theirs"}


def test_a_run_whose_lines_cannot_be_written_is_not_saved(world: Any) -> None:
    """The end of the run raises; no change stays, and there is no line to take back."""
    before = world.state()
    world.reopen(durability="run")
    world.write(world.gene("a"), "k")
    world.audit.fails_at = 1
    with pytest.raises(StorageError, match="the disk of the log is full"):
        world.memory.finish()
    assert before == world.state()
    assert world.audit.lines == []


def test_lines_of_a_run_rolled_back_are_taken_back(world: Any) -> None:
    """Each that is in the log already gets a `memory.abort` line that names it."""
    world.write(world.gene("b", "search"), "theirs")
    world.audit.take()
    before = world.state()
    world.reopen(durability="run")
    world.write(world.gene("a"), "k", b"12")
    with pytest.raises(AccessDeniedError):
        world.write(world.gene("a"), "theirs")
    world.write(world.gene("a"), "l")
    world.memory.rollback()
    assert before == world.state()
    created, _, aborted = world.audit.lines
    assert (aborted.action, aborted.key, aborted.bytes, aborted.geneId) == ("memory.abort", "k", 2, created.geneId)
    assert aborted.code == "MEMORY_STORAGE_ERROR"
    assert aborted.reason == f"memory.create of {created.ts} was not saved"
    world.memory.finish()
    assert before == world.state()


def test_a_refused_call_does_not_end_a_held_change(world: Any) -> None:
    """What the run changed before and after a refusal is kept."""
    world.write(world.gene("b", "search"), "theirs")
    world.reopen(durability="run", quota=200)
    with pytest.raises(NotFoundError):
        world.memory.delete(world.gene("a"), delete_request("missing"))
    world.write(world.gene("a"), "k")
    with pytest.raises(AccessDeniedError):
        world.write(world.gene("a"), "theirs")
    with pytest.raises(QuotaExceededError):
        world.write(world.gene("a"), "large", bytes(201))
    with pytest.raises(BufferTooSmallError):
        world.memory.write(world.gene("a"), write_request("m", b"", "CACHE"), _too_small)
    world.write(world.gene("a"), "l")
    world.memory.finish()
    assert world.keys() == {"theirs", "k", "l"}


def test_a_run_that_only_met_refusals_holds_nobody_up(world: Any) -> None:
    """A held change begins with the first change, not with the first try."""
    world.reopen(durability="run")
    with pytest.raises(NotFoundError):
        world.memory.delete(world.gene("a"), delete_request("missing"))
    world.open().write(world.gene("a"), write_request("k", b"", "CACHE"))
    world.memory.finish()
    assert world.keys() == {"k"}


def _too_small(length: int) -> None:
    message = f"response needs {length} bytes, out_cap is 0"
    raise BufferTooSmallError(message)


@pytest.mark.parametrize("durability", ["call", "run"])
def test_nothing_changes_when_the_response_does_not_fit(world: Any, durability: str) -> None:
    """Create, update, delete: the same entries, counters and lines as before, byte for byte."""
    world.write(world.gene("a"), "k")
    before, lines = world.state(), world.audit.actions()
    world.reopen(durability=durability)
    for request in (write_request("k", b"new", "CACHE"), write_request("new", b"", "CACHE")):
        with pytest.raises(BufferTooSmallError):
            world.memory.write(world.gene("a"), request, _too_small)
    with pytest.raises(BufferTooSmallError):
        world.memory.delete(world.gene("a"), delete_request("k"), _too_small)
    world.memory.finish()
    assert before == world.state()
    assert lines == world.audit.actions()


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_change_whose_line_cannot_be_written_is_not_made(world: Any, fails_at: int) -> None:
    """The failing call gives a storage error and leaves everything as it was."""
    calls: list[Callable[[], Any]] = [
        lambda: world.write(world.gene("a"), "k", b"2"),
        lambda: world.memory.delete(world.gene("a"), delete_request("k")),
    ]
    world.write(world.gene("a"), "k")
    world.audit.fails_at = fails_at
    for number, call in enumerate(calls, start=1):
        before = world.state()
        if number < fails_at:
            call()
            continue
        with pytest.raises(StorageError, match="the disk of the log is full"):
            call()
        assert before == world.state()
        break


def test_evictions_and_their_write_are_announced_together(world: Any) -> None:
    """One append carries all lines of a call: when it fails, nothing is evicted."""
    world.reopen(quota=20)
    world.write(world.gene("a"), "a", bytes(9))
    world.write(world.gene("a"), "b", bytes(9))
    before = world.state()
    world.audit.fails_at = 1
    with pytest.raises(StorageError):
        world.write(world.gene("a"), "c", bytes(9))
    assert before == world.state()
    world.write(world.gene("a"), "c", bytes(9))
    assert world.audit.actions()[-2:] == [("evict", "a"), ("create", "c")]


@pytest.mark.parametrize("operation", ["put", "commit"])
def test_a_change_that_cannot_be_saved_is_taken_back(faulty: Any, operation: str) -> None:
    """Its line stands in the log already and is followed by `memory.abort`."""
    faulty.write(faulty.gene("a"), "k")
    before = faulty.state()
    faulty.audit.take()
    faulty.store.fails = operation
    with pytest.raises(StorageError, match=f"the disk failed at {operation}"):
        faulty.write(faulty.gene("a"), "k", b"2")
    assert before == faulty.state()
    assert faulty.audit.take() == [("update", "k"), ("abort", "k")]
    faulty.store.fails = None
    faulty.write(faulty.gene("a"), "k", b"2")
    assert faulty.audit.take() == [("update", "k")]


def test_a_deletion_that_cannot_be_saved_is_taken_back(faulty: Any) -> None:
    """The same holds for deletes, by genes and by the deployer."""
    faulty.write(faulty.gene("a"), "k")
    before = faulty.state()
    faulty.audit.take()
    faulty.store.fails = "remove"
    with pytest.raises(StorageError):
        faulty.memory.delete(faulty.gene("a"), delete_request("k"))
    with pytest.raises(StorageError):
        faulty.memory.delete_as_deployer(category="CACHE")
    assert before == faulty.state()
    assert faulty.audit.actions() == [("delete", "k"), ("abort", "k")] * 2


def test_a_run_that_cannot_be_saved_is_taken_back_whole(faulty: Any) -> None:
    """The end of the run raises, and every announced change is followed by `memory.abort`."""
    before = faulty.state()
    faulty.reopen(durability="run")
    faulty.write(faulty.gene("a"), "k")
    faulty.write(faulty.gene("a"), "l")
    faulty.store.fails = "commit"
    with pytest.raises(StorageError, match="the disk failed at commit"):
        faulty.memory.finish()
    assert before == faulty.state()
    assert faulty.audit.actions() == [("create", "k"), ("create", "l"), ("abort", "k"), ("abort", "l")]


def test_a_run_whose_lines_cannot_be_synced_is_not_saved(world: Any) -> None:
    """The log comes to the disk before the changes do, or neither does."""
    before = world.state()
    world.reopen(durability="run")
    world.write(world.gene("a"), "k")
    world.audit.sync_fails = True
    with pytest.raises(StorageError, match="the log cannot be synced"):
        world.memory.finish()
    assert before == world.state()
    assert world.audit.actions() == [("create", "k"), ("abort", "k")]


def test_a_run_out_of_time_waits_for_the_log(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline that ended a run costs none of its changes, though somebody has the log locked at that moment."""
    append = world.audit.append

    def locked(lines: Sequence[bytes], patience: Patience, **others: Any) -> Any:
        if patience.remaining_s() <= 0:
            message = "another run or command is holding audit.lock"
            raise LockTimeoutError(message)
        return append(lines, patience, **others)

    monkeypatch.setattr(world.audit, "append", locked)
    deadline = Deadline(60_000)
    world.reopen(durability="run", patience=deadline)
    world.write(world.gene("a"), "k")
    deadline.expiry = time.monotonic()
    world.memory.finish()
    assert world.audit.actions() == [("create", "k")]
    assert world.keys() == {"k"}


def test_a_log_that_stays_locked_is_what_it_is(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that cannot be saved for it says so, not that a budget is used up; nothing of it stays."""

    def locked(lines: Sequence[bytes], patience: Patience, **others: Any) -> Any:
        del lines, patience, others
        message = "another run or command is holding audit.lock"
        raise LockTimeoutError(message)

    monkeypatch.setattr(world.audit, "append", locked)
    world.reopen(durability="run", patience=Deadline(60_000))
    world.write(world.gene("a"), "k")
    with pytest.raises(LockTimeoutError):
        world.memory.finish()
    assert world.keys() == set()


def test_a_run_whose_change_broke_halfway_is_lost(faulty: Any) -> None:
    """Later changes and the end of the run say so; reads answer from what is saved."""
    faulty.write(faulty.gene("a"), "saved")
    before = faulty.state()
    faulty.reopen(durability="run")
    faulty.write(faulty.gene("a"), "k")
    faulty.store.fails = "put"
    with pytest.raises(StorageError, match="the disk failed at put"):
        faulty.write(faulty.gene("a"), "l")
    faulty.store.fails = None
    with pytest.raises(StorageError, match="could not be kept"):
        faulty.write(faulty.gene("a"), "m")
    assert faulty.read(faulty.gene("a"), "saved") is not None
    assert faulty.read(faulty.gene("a"), "k") is None
    with pytest.raises(StorageError, match="could not be kept"):
        faulty.memory.finish()
    assert before == faulty.state()
    assert faulty.audit.actions() == [("create", "saved")]


def test_lines_that_fail_in_a_held_change_cost_only_their_call(world: Any) -> None:
    """A run with more changes than lines may wait for writes some early; what was applied before is kept."""
    world.reopen(durability="run")
    world.audit.always_fails = True
    kept = [f"k{number}" for number in range(256)]
    for key in kept:
        world.write(world.gene("a"), key)
    with pytest.raises(StorageError, match="the disk of the log is full"):
        world.write(world.gene("a"), "l")
    assert world.audit.lines == []
    world.audit.always_fails = False
    world.write(world.gene("a"), "m")
    assert world.audit.actions() == [("create", key) for key in [*kept, "m"]]
    assert [line.seq for line in world.audit.lines] == list(range(1, 258))
    world.memory.finish()
    assert world.keys() == {*kept, "m"}


def test_expiry_in_a_held_change_belongs_to_it(world: Any) -> None:
    """Removed inside it and rolled back with it; before it, removed on its own and for good."""
    policy = {"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False}
    world.write(world.gene("a"), "early", retention_policy=policy)
    world.clock.advance(seconds=10)
    world.write(world.gene("a"), "late", retention_policy=policy)
    world.clock.advance(days=1, seconds=-10)
    world.reopen(durability="run")
    world.write(world.gene("a"), "k")
    assert world.keys() == {"late"}
    world.clock.advance(seconds=10)
    assert world.read(world.gene("a"), "late") is None
    assert world.audit.take() == [("create", "early"), ("create", "late"), ("expire", "early")]
    world.memory.rollback()
    assert world.keys() == {"late"}
    assert world.audit.take() == []


@pytest.mark.parametrize("error", [StoreError("gone"), KeyboardInterrupt()])
def test_an_interrupted_run_leaves_no_lock_behind(world: Any, error: BaseException) -> None:
    """Whatever ends a call halfway, the next user of the memory can write."""
    world.reopen(durability="run")

    def admit(length: int) -> None:
        del length
        raise error

    with pytest.raises((StorageError, KeyboardInterrupt)):
        world.memory.write(world.gene("a"), write_request("k", b"", "CACHE"), admit)
    world.open().write(world.gene("a"), write_request("l", b"", "CACHE"))
    assert world.keys() == {"l"}


def test_an_interrupt_after_the_commit_takes_nothing_back(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is saved is not announced as aborted."""

    def interrupted(readings: object) -> None:
        del readings
        raise KeyboardInterrupt

    world.write(world.gene("a"), "read")
    world.memory.read(world.gene("b"), read_request("read"))  # so that there is a reading to save with the next change
    monkeypatch.setattr(world.memory._readers, "saved", interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.write(world.gene("a"), "k")
    assert world.audit.actions() == [("create", "read"), ("create", "k")]
    assert world.keys() == {"read", "k"}


def test_an_interrupt_while_readings_are_saved_gives_the_lock_back(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that is interrupted before it began to write leaves nobody waiting."""

    def interrupted(change: object) -> None:
        del change
        raise KeyboardInterrupt

    world.write(world.gene("a"), "read")
    world.memory.read(world.gene("b"), read_request("read"))
    with monkeypatch.context() as patched:
        patched.setattr(world.memory._readers, "save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            world.write(world.gene("a"), "k")
    world.open().write(world.gene("a"), write_request("l", b"", "CACHE"))
    assert world.keys() == {"read", "l"}


@pytest.mark.parametrize("step", ["decode_write", "entry_id", "make_record"])
def test_an_interrupt_in_an_operation_that_is_begun_gives_the_lock_back(
    world: Any, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """From its begin on, whatever is raised ends the operation."""

    def interrupted(*_arguments: object, **_named: object) -> None:
        raise KeyboardInterrupt

    caller, now_ms = world.gene("a"), 1_000
    with monkeypatch.context() as patched:
        patched.setattr(agent_memory, step, interrupted)
        operation = world.memory._changes.operation(caller, now_ms)
        with pytest.raises(KeyboardInterrupt):
            world.memory.write_in(
                operation, caller, b'{"key":"k","value":"","category":"CACHE"}', now_ms, lambda _length: None
            )
    world.open().write(caller, write_request("l", b"", "CACHE"))
    assert world.keys() == {"l"}
