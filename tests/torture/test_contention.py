"""Waiting for others: deadlines, what the dead leave behind, forks, and failures that somebody keeps."""

from __future__ import annotations

import gc
import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import lmdb
import pytest
from tests.torture.countdown import Countdown
from tests.torture.invariants import audit_lines, read_state, unsaved, unsound
from tests.torture.place import Place, gene
from tests.torture.scenario import Guest, Step

from rotifer_host.contract import BUDGET_EXHAUSTED
from rotifer_host.errors import AccessDeniedError, LockTimeoutError, RotiferError, StorageError, StoreError
from rotifer_host.lock import FileLock, Wait
from rotifer_host.memory import delete_request, query_request, read_request, write_request
from rotifer_host.sandbox import Deadline
from rotifer_host.store.environment import registry

_ROOT: Final = Path(__file__).parents[2]
_READERS: Final = 4

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


WRITE: Final = Step(gene("a"), "writeMemory", {"key": "k", "value": "", "category": "CACHE"})
DELETE: Final = Step(gene("a"), "deleteMemory", {"key": "k"})
READ: Final = Step(gene("b"), "readMemory", {"key": "k"})
QUERY: Final = Step(gene("b"), "queryMemory", {})


@pytest.mark.parametrize("what", ["memory", "log"])
@pytest.mark.parametrize("step", [WRITE, DELETE], ids=["write", "delete"])
def test_a_deadline_ends_the_wait_for_a_lock(place: Place, guest: Guest, what: str, step: Step) -> None:
    """Whoever holds it never lets go: the call answers -4, nothing has changed, and reads never wait."""
    put(place)
    before = read_state(place)
    with holder(place, what):
        deadline = Deadline(40)
        with place.open("call", deadline) as (_, memory):
            answer = guest.ask(memory, step, deadline)
            memory.finish()
        assert answer is None or answer.result == BUDGET_EXHAUSTED
        with place.open("call", Deadline(60_000)) as (_, memory):
            for reading in (READ, QUERY):
                answer = guest.ask(memory, reading, Deadline(60_000))
                assert answer is not None
                assert answer.result > 0
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


def test_more_readers_than_slots_are_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as all of them live; the memory works again when one has gone."""
    monkeypatch.setattr("rotifer_host.store.environment._MAX_READERS", _READERS)
    with place.open() as (store, memory):
        memory.write(gene("a"), write_request("k", b"1", "CACHE"))
        snapshots = [store.snapshot() for _ in range(_READERS)]
        with pytest.raises(StorageError, match="MDB_READERS_FULL"):
            memory.read(gene("a"), read_request("k"))
        snapshots.pop().__exit__(None, None, None)
        assert memory.read(gene("a"), read_request("k")) != b"null"
        for snapshot in snapshots:
            snapshot.__exit__(None, None, None)


def in_fork(work: Callable[[], object]) -> None:
    """Run something in a forked child; fails when it raises there."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the child only does what is safe
def test_a_fork_in_the_middle_of_a_run_changes_nothing_for_it(place: Place) -> None:
    """In the child every call is refused, and ending the run there ends nothing; then the parent saves."""
    with place.open("run") as (_, memory):
        memory.write(gene("a"), write_request("k", b"1", "CACHE"))
        with pytest.raises(AccessDeniedError):  # with its line that of the write is in the log
            memory.read(gene("a", "search"), read_request("k"))

        def work() -> None:
            calls: tuple[Callable[[], Any], ...] = (
                lambda: memory.write(gene("a"), write_request("l", b"", "CACHE")),
                lambda: memory.delete(gene("a"), delete_request("k")),
                memory.finish,
            )
            for call in calls:
                with pytest.raises(StorageError):
                    call()
            memory.rollback()

        in_fork(work)
        assert len(audit_lines(place)) == 2
        memory.write(gene("a"), write_request("m", b"1", "CACHE"))
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
