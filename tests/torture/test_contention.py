"""Waiting for others: deadlines, what the dead leave behind, forks, and failures that somebody keeps."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Final, get_args

import lmdb
import pytest
from tests.torture.countdown import Countdown
from tests.torture.guest import Answer, Guest, Step, delete, query, read, write
from tests.torture.invariants import audit_lines, read_state, unsaved, unsound
from tests.torture.place import FOR_EVER, POLICIES, Place, gene

from rotifer_host.contract import ACCESS_DENIED, BUDGET_EXHAUSTED, STORAGE_ERROR
from rotifer_host.errors import LockTimeoutError, RotiferError, StorageError, StoreError
from rotifer_host.lock import FileLock, Wait
from rotifer_host.memory import Durability, query_request, read_request, write_request
from rotifer_host.sandbox import Deadline
from rotifer_host.store.environment import registry
from rotifer_host.testing import ManualClock

_ROOT: Final = Path(__file__).parents[2]
_READERS: Final = 4
_DURABILITIES: Final[tuple[Durability, ...]] = get_args(Durability)

HOLDER: Final = """
import sys
from pathlib import Path
from rotifer_host.lock import FileLock, Wait
from rotifer_host.memory import write_request
from tests.torture.place import Place, gene

place = Place(Path(sys.argv[1]))
with place.open("run") as (store, memory):
    if sys.argv[2] == "log":
        held = FileLock(place.audit_path.with_suffix(".lock")).held(Wait())
        held.__enter__()
    elif sys.argv[2] == "memory":
        memory.write(gene("a"), write_request("held", b"1", "CACHE"))
    else:
        snapshots = [store.snapshot() for _ in range(int(sys.argv[3]))]
    print("holding", flush=True)
    sys.stdin.readline()
    memory.rollback()
"""


@contextmanager
def holder(place: Place, what: str, count: int = 1) -> Iterator[subprocess.Popen[str]]:
    """Run another process that holds the lock of the memory or of the log, or readers' slots; killed in the end."""
    command = [sys.executable, "-c", HOLDER, str(place.folder), what, str(count)]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "holding\n"
            yield process
        finally:
            process.kill()


def put(place: Place, key: str = "k", value: bytes = b"1") -> None:
    """Write an entry in a run of its own."""
    with place.open() as (_, memory):
        memory.write(gene("a"), write_request(key, value, "CACHE"))


WRITE: Final = write(gene("a"), "k", b"")
DELETE: Final = delete(gene("a"), "k")
READ: Final = read(gene("b"), "k")
QUERY: Final = query(gene("b"))


@pytest.mark.parametrize("what", ["memory", "log"])
@pytest.mark.parametrize("step", [WRITE, DELETE], ids=["write", "delete"])
def test_a_deadline_ends_the_wait_for_a_lock(place: Place, guest: Guest, what: str, step: Step) -> None:
    """Whoever holds it never lets go: the call answers -4, nothing has changed, and reads never wait."""
    put(place)
    before = read_state(place)
    with holder(place, what):
        for durability, policy in product(_DURABILITIES, POLICIES.values()):
            place.policy = policy
            ordinary = guest.takes_shortcuts and policy == FOR_EVER
            with place.open(durability, Deadline(40)) as (_, memory):  # the guest itself has time
                answer = guest.ask(memory, step)
                assert answer is not None
                waits = what == "memory" or durability == "call"  # else only the end of the run wants the log
                assert (answer.result == BUDGET_EXHAUSTED) == waits
                assert answer.by_shortcut == (ordinary and step is WRITE)
                memory.rollback()
            with place.open("call", Deadline(60_000)) as (_, memory):
                answers = [guest.get(memory, reading) for reading in (READ, QUERY, READ)]
                assert answers[-1].by_shortcut == ordinary
                memory.finish()
        assert before == read_state(place)
    assert unsound(place) == []


def test_a_deadline_ends_a_guest_that_waits_for_a_lock(place: Place, guest: Guest) -> None:
    """The same where it is the deadline of the run: its call is answered -4, or the guest is not there any more."""
    put(place)
    before = read_state(place)
    with holder(place, "memory"):
        for durability in _DURABILITIES:
            deadline = Deadline(40)
            with place.open(durability, deadline) as (_, memory):
                answer = guest.ask(memory, WRITE, deadline)
                assert answer is None or answer.result == BUDGET_EXHAUSTED
                memory.finish()
    assert before == read_state(place)
    assert unsound(place) == []


@pytest.mark.parametrize("what", ["memory", "log", "snapshots"])
def test_what_a_killed_process_held_is_free(place: Place, what: str) -> None:
    """Locks, LMDB's own among them, and readers' slots: the next writer has no patience and gets them."""
    put(place)
    with holder(place, what) as process:
        process.kill()
        process.wait()
        with place.open() as (store, _):
            store.begin(Wait(0)).abort()
        with FileLock(place.audit_path.with_suffix(".lock")).held(Wait(0)):
            pass
    put(place)
    assert unsound(place) == []


def test_readers_slots_of_the_dead_are_used_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """All slots are taken, by one that lives and many that were killed: a reader that needs one gets it."""
    monkeypatch.setattr("rotifer_host.store.environment._MAX_READERS", _READERS)
    with place.open() as (store, memory):
        memory.write(gene("a"), write_request("k", b"1", "CACHE"))
        for _ in range(3 * _READERS):
            with holder(place, "snapshots", count=1):
                pass
            with store.snapshot() as snapshot:
                assert snapshot.totals().entries == 1


def test_more_readers_than_slots_are_refused(place: Place, guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as all of them live; the memory works again when one has gone."""
    monkeypatch.setattr("rotifer_host.store.environment._MAX_READERS", _READERS)
    with place.open() as (store, memory):
        guest.get(memory, WRITE)
        snapshots = [store.snapshot() for _ in range(_READERS)]
        with pytest.raises(StorageError, match="MDB_READERS_FULL"):
            memory.read(gene("a"), read_request("k"))
        refused = guest.ask(memory, READ)
        assert refused is not None
        assert refused.result == STORAGE_ERROR
        snapshots.pop().__exit__(None, None, None)
        assert guest.get(memory, READ).by_shortcut == guest.takes_shortcuts
        for snapshot in snapshots:
            snapshot.__exit__(None, None, None)


class ForkingClock(ManualClock):
    """A clock that forks once when it is read."""

    def __init__(self, start_ms: int) -> None:
        super().__init__()
        self.set(start_ms)
        self.due = False
        self.child = -1
        """What `os.fork` returned."""

    def now_ms(self) -> int:
        """Return the time, in both processes."""
        if self.due:
            self.due = False
            self.child = os.fork()
        return super().now_ms()


def in_fork(work: Callable[[], object]) -> None:
    """Run something in a forked child; fails when it raises there."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the child only does what is safe
def test_a_fork_in_the_middle_of_a_run_changes_nothing_for_it(place: Place, guest: Guest) -> None:
    """In the child every call is refused, and ending the run there ends nothing; then the parent saves."""
    with place.open("run") as (_, memory):
        first = guest.get(memory, write(gene("a"), "k", b"1"))
        denied = guest.ask(memory, read(gene("a", "search"), "k"))  # with its line that of the write is in the log
        assert denied is not None
        assert denied.result == ACCESS_DENIED

        def work() -> None:
            for step in (write(gene("a"), "l", b""), write(gene("a"), "k", b""), delete(gene("a"), "k"), READ):
                answer = guest.ask(memory, step)
                assert answer is not None
                assert answer.result == STORAGE_ERROR
            with pytest.raises(StorageError):
                memory.finish()
            memory.rollback()

        in_fork(work)
        assert len(audit_lines(place)) == 2
        last = guest.get(memory, write(gene("a"), "m", b"1"))
        memory.finish()
    assert first.by_shortcut == last.by_shortcut == guest.takes_shortcuts
    assert {*read_state(place)} == {"k", "m"}
    assert unsaved(audit_lines(place), {}, read_state(place)) == []
    assert unsound(place) == []


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("durability", _DURABILITIES)
@pytest.mark.parametrize("step", [WRITE, READ], ids=["write", "read"])
def test_a_fork_within_a_host_call_ends_the_guest_in_the_child_alone(
    place: Place, guest: Guest, step: Step, durability: Durability
) -> None:
    """The call that forked goes on in both: refused in the child, whose run is over; answered in the parent."""
    put(place)
    forking = ForkingClock(place.clock.now_ms())
    place.clock = forking
    with place.open(durability) as (_, memory):
        guest.get(memory, READ)  # by now C knows what is committed
        forking.due = True
        answer: Answer | None = Answer(0)
        try:
            answer = guest.ask(memory, step)
        finally:
            if forking.child == 0:
                os._exit(0 if answer is None or answer.result == STORAGE_ERROR else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(forking.child, 0)[1]) == 0
        assert answer is not None
        assert (answer.result > 0, answer.by_shortcut) == (True, guest.takes_shortcuts)
        guest.get(memory, write(gene("b"), "m", b"1"))
        memory.finish()
    assert {*read_state(place)} == {"k", "m"}
    assert unsaved(audit_lines(place), {}, read_state(place)) == []
    assert unsound(place) == []


def test_a_failure_that_is_kept_keeps_no_lock(place: Place) -> None:
    """A caller may keep an error, and with it its traceback: what the failed call had opened is closed all the same."""
    put(place)
    env = lmdb.open(str(place.memory_path), subdir=False)
    with env, env.begin(write=True) as txn:
        sound = bytes(txn.get(b"mtotals") or b"")
        txn.put(b"mtotals", b"damaged")
    kept: list[RotiferError] = []
    with place.open() as (store, memory):
        for call in (
            lambda: memory.write(gene("a"), write_request("l", b"", "CACHE")),
            lambda: store.begin(Wait(0)),
            lambda: memory.query(gene("a"), query_request(limit=1)) and memory.list(),
        ):
            with pytest.raises((StoreError, StorageError), match="damaged") as caught:
                call()
            kept.append(caught.value)
        env = store._environment.env  # type: ignore[attr-defined]
        with env.begin(write=True) as txn:  # would wait for ever
            txn.put(b"mtotals", sound)
        assert env.info()["num_readers"] <= 1
    assert len(kept) == 3
    gc.collect()
    assert unsound(place) == []


def test_an_environment_that_lmdb_gave_up_is_opened_anew(place: Place) -> None:
    """After a meta page could not be written LMDB answers MDB_PANIC: the call fails, later ones work."""
    put(place)
    with Countdown(1, "once", "lmdb meta page").armed(), place.open() as (store, memory):
        with pytest.raises(StorageError):
            memory.write(gene("a"), write_request("l", b"1", "CACHE"))
        assert memory.read(gene("a"), read_request("k")) != b"null"
        memory.write(gene("a"), write_request("m", b"1", "CACHE"))
        with store.snapshot() as snapshot:
            assert snapshot.totals().entries == 2
    assert {*read_state(place)} == {"k", "m"}
    assert unsound(place) == []


def test_an_environment_that_lmdb_gave_up_waits_for_its_readers(place: Place) -> None:
    """It cannot be opened anew under a view: calls are refused, and the view stays what it was."""
    put(place)
    with Countdown(1, "once", "lmdb meta page").armed(), place.open() as (store, memory):
        with store.snapshot() as snapshot:
            for key in "lm":
                with pytest.raises(StorageError):
                    memory.write(gene("a"), write_request(key, b"1", "CACHE"))
            assert snapshot.totals().entries == 1
        del snapshot
        memory.write(gene("a"), write_request("n", b"1", "CACHE"))
    assert {*read_state(place)} == {"k", "n"}
    assert unsound(place) == []


def test_a_lock_that_cannot_be_unlocked_is_given_back(tmp_path: Path) -> None:
    """Its file is closed, which frees it for other processes, and this one's threads."""
    path = tmp_path / "a.lock"
    lock = FileLock(path)
    lock.acquire(Wait(0))
    countdown = Countdown(1, "once", "flock")
    with countdown.armed():
        lock.release()
    assert countdown.hits["flock"] == 1
    for other in (lock, FileLock(path)):
        with other.held(Wait(0)), pytest.raises(LockTimeoutError):
            FileLock(path).acquire(Wait(0))


def test_a_line_that_did_not_reach_the_disk_is_taken_back(place: Place) -> None:
    """Its write worked and its fdatasync failed: the change is not made, and `memory.abort` says so."""
    put(place)
    with Countdown(1, "once", "fdatasync").armed(), pytest.raises(StorageError):
        put(place, "l")
    actions = [(line["action"], line["key"]) for line in audit_lines(place)]
    assert actions == [("memory.create", "k"), ("memory.create", "l"), ("memory.abort", "l")]
    assert {*read_state(place)} == {"k"}


def test_a_file_whose_folder_did_not_reach_the_disk_is_not_made(place: Place) -> None:
    """Nothing stays open, and whoever opens it next brings the folder to the disk."""
    with Countdown(1, "once", "fsync").armed(), pytest.raises(StoreError), place.open():
        pass
    assert registry._open == {}
    again = Countdown(2, "once", "fsync")
    with again.armed(), place.open():
        pass
    assert again.left == 1
    put(place)
    assert unsound(place) == []
