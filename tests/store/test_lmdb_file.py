"""The LMDB file: what it is, what is refused, and what other processes may do to it."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

import lmdb
import msgspec
import pytest

from rotifer_host import contract
from rotifer_host.errors import LockTimeoutError, StoreError
from rotifer_host.lock import FileLock, Wait
from rotifer_host.memory.entry import DataPolicy, Record, RetentionPolicy, entry_id
from rotifer_host.store import LmdbStore, open_store
from rotifer_host.store.check import problems
from rotifer_host.store.environment import map_size

Make = Callable[..., tuple[bytes, Record]]
ENTRIES, RECENCY, KEYS, EXPIRY = b"e", b"r", b"k", b"x"


def opened(path: Path, agent_id: str = "agent-1", quota: int = 1 << 20) -> LmdbStore:
    """Open the file of a test."""
    return open_store(path, agent_id=agent_id, quota=quota)


def put(store: LmdbStore, *entries: tuple[bytes, Record]) -> None:
    """Save entries in one change."""
    change = store.begin(Wait(10))
    for entry in entries:
        change.put(*entry)
    change.commit()


def rows(path: Path, start: bytes) -> dict[bytes, bytes]:
    """Return the rows of a closed file whose keys start with some bytes."""
    env = lmdb.open(str(path), subdir=False, readonly=True)
    with env, env.begin() as txn:
        found = {bytes(key): bytes(value) for key, value in txn.cursor()}
    return {key: value for key, value in found.items() if key.startswith(start)}


def patch(path: Path, changed: dict[bytes, bytes | None]) -> None:
    """Put rows into a closed file behind the store's back, or delete those that are None."""
    env = lmdb.open(str(path), subdir=False, map_size=1 << 24)
    with env, env.begin(write=True) as txn:
        for key, value in changed.items():
            if value is None:
                txn.delete(key)
            else:
                txn.put(key, value)


def run_python(code: str, *arguments: str) -> str:
    """Run a program of this Python and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


OPEN_IN_CHILD = """
import sys
from pathlib import Path
from rotifer_host.lock import Wait
from rotifer_host.store import open_store
store = open_store(Path(sys.argv[1]), agent_id="agent-1", quota=1 << 20)
"""


def test_the_files_are_the_owners_alone(path: Path, record: Make) -> None:
    """The memory file, LMDB's lock file and the writers' lock have mode 0600, their folder 0700."""
    with opened(path) as store:
        put(store, record(1, "k"))
    files = sorted(file.name for file in path.parent.iterdir())
    assert files == ["agent-1.mdb", "agent-1.mdb-lock", "agent-1.mdb.lock"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_entries_outlive_the_store(path: Path, record: Make) -> None:
    """Closing and opening again changes nothing."""
    entries = [record(number, f"k{number}") for number in range(1, 50)]
    with opened(path) as store:
        put(store, *entries)
    with opened(path) as store, store.snapshot() as snapshot:
        assert dict(entries) == dict(snapshot.records())
        assert problems(snapshot, "agent-1") == []


def test_stores_of_one_process_share_a_file(path: Path, record: Make) -> None:
    """Also under another name; closing one, twice even, does not close the other."""
    first = opened(path)
    link = path.with_name("link.mdb")
    link.symlink_to(path)
    second = opened(link)
    put(first, record(1, "k"))
    first.close()
    first.close()
    with second.snapshot() as snapshot:
        assert snapshot.totals().entries == 1
    put(second, record(2, "l"))
    second.close()
    for use in (first.snapshot, second.snapshot, lambda: first.begin(Wait(0))):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_a_file_replaced_under_its_name_is_another_memory(path: Path, record: Make) -> None:
    """What is open stays with the old file; opening the name finds the new one."""
    with opened(path) as old:
        put(old, record(1, "k"))
        for file in list(path.parent.iterdir()):
            file.unlink()
        with opened(path, "agent-2") as new, new.snapshot() as fresh, old.snapshot() as kept:
            assert fresh.totals().entries == 0
            assert kept.totals().entries == 1


def test_another_agents_file_is_refused(path: Path) -> None:
    """Whether it is open already or not."""
    with opened(path), pytest.raises(StoreError, match="memory of another agent"):
        opened(path, "agent-2")
    with pytest.raises(StoreError, match="memory of another agent"):
        opened(path, "agent-2")
    opened(path).close()


@pytest.mark.parametrize("version", [b"2", b"", b"\xff"])
def test_an_unknown_format_is_refused(path: Path, version: bytes) -> None:
    """A file of another version is not guessed at."""
    opened(path).close()
    patch(path, {b"mformat": version})
    with pytest.raises(StoreError, match=f"this version reads {contract.FORMAT_VERSION}"):
        opened(path)


@pytest.mark.parametrize("content", [b"garbage" * 1000, b"\0" * 8192, b"x", b"SQLite format 3\0"])
def test_what_is_no_lmdb_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    """Its bytes stay what they were."""
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"cannot open agent-1\.mdb"):
        opened(path)
    assert content == path.read_bytes()


def test_another_programs_lmdb_file_is_refused(path: Path) -> None:
    """A file that holds something else is not adopted."""
    path.parent.mkdir()
    env = lmdb.open(str(path), subdir=False)
    with env, env.begin(write=True) as txn:
        txn.put(b"theirs", b"1")
    with pytest.raises(StoreError, match="has no format of memory"):
        opened(path)


def test_places_where_no_file_can_be_are_refused(tmp_path: Path) -> None:
    """A missing folder, a file in its place, a folder in the file's place."""
    (tmp_path / "file").write_bytes(b"")
    places = {
        tmp_path / "no" / "such" / "m": "such: No such file or directory",
        tmp_path / "file" / "m": "file: File exists",
        tmp_path: "Is a directory",
    }
    for place, reason in places.items():
        with pytest.raises(StoreError, match=f"cannot open {place.name}: {reason}$"):
            opened(place)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder_is_refused(path: Path) -> None:
    """A file that cannot be written cannot be a memory."""
    path.parent.mkdir(mode=0o500)
    with pytest.raises(StoreError, match="cannot open"):
        opened(path)


@pytest.mark.parametrize(("count", "last"), [(300, 1), (1500, 4)])
def test_looking_for_a_prefix_can_be_ended(path: Path, record: Make, count: int, last: int) -> None:
    """Before the newest of many entries is known, too."""
    checks: list[int] = []

    def check() -> None:
        checks.append(1)
        if len(checks) == last:
            raise TimeoutError

    with opened(path) as store:
        put(store, *(record(number, f"k{number:04}") for number in range(1, count + 1)))
        with store.snapshot() as snapshot:
            with pytest.raises(TimeoutError):
                next(snapshot.with_prefix("k", check))
            assert next(snapshot.with_prefix("k0001")).sequence == 1


@pytest.mark.parametrize("raw", [b"", b"\xc1", b"\x90", b"\x93\x01\x01\xa1k", b"\x02" * 40])
def test_a_damaged_entry_is_a_store_error(path: Path, record: Make, raw: bytes) -> None:
    """Reading it fails cleanly, on its own, in a walk and in the check."""
    identity, entry = record(1, "k")
    with opened(path) as store:
        put(store, (identity, entry))
    patch(path, {ENTRIES + identity: raw})
    with opened(path) as store, store.snapshot() as snapshot:
        for use in (lambda: snapshot.get(identity), lambda: problems(snapshot, "agent-1")):
            with pytest.raises(StoreError, match="damaged or of another format"):
                use()


@pytest.mark.parametrize(
    ("at", "value"),
    [
        pytest.param(1, -1, id="a number below zero"),
        pytest.param(8, 1 << 63, id="changed too late"),
        *[
            pytest.param(
                10,
                {"maxRetentionDays": days, "autoDeleteOnTermination": False, "anonymizationSupported": False},
                id=f"kept for {days} days",
            )
            for days in (0, -1, contract.MAX_RETENTION_DAYS + 1, 1 << 62)
        ],
        *[pytest.param(11, at, id=f"a reader at {at}") for at in (-1, 1 << 40, (1 << 63) - 1)],
        pytest.param(12, b"", id="no JSON"),
        pytest.param(12, b"\xff" * 1024, id="a reader beyond ASCII"),
    ],
)
def test_an_entry_with_a_member_that_cannot_be_is_refused(path: Path, record: Make, at: int, value: object) -> None:
    """In a look, a walk, a check and a change alike."""
    identity, entry = record(1, "k")
    with opened(path) as store:
        put(store, (identity, entry))
    row = msgspec.msgpack.decode(rows(path, ENTRIES)[ENTRIES + identity])
    row[at] = value
    patch(path, {ENTRIES + identity: msgspec.msgpack.encode(row)})
    with opened(path) as store:
        change = store.begin(Wait())
        with store.snapshot() as snapshot:
            for use in (
                lambda: snapshot.get(identity),
                lambda: problems(snapshot, "agent-1"),
                lambda: change.remove(identity),
            ):
                with pytest.raises(StoreError, match="is damaged"):
                    use()
        change.abort()


def test_an_entry_of_another_version_is_refused(path: Path, record: Make) -> None:
    """A record says its version in its first field."""
    identity, entry = record(1, "k")
    with opened(path) as store:
        put(store, (identity, entry))
    stored = rows(path, ENTRIES)[ENTRIES + identity]
    assert stored[1] == contract.FORMAT_VERSION
    newer = stored[:1] + bytes([contract.FORMAT_VERSION + 1]) + stored[2:]
    patch(path, {ENTRIES + identity: newer})
    with opened(path) as store, store.snapshot() as snapshot, pytest.raises(StoreError, match="another format"):
        snapshot.get(identity)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (RECENCY + b"\x03" + bytes(7) + b"\x01", b"short"),
        (RECENCY + b"\x03x", bytes(40)),
        (KEYS + b"kx", b""),
        (KEYS + b"kx" + bytes(31) + b"\1", b""),
        (EXPIRY + b"\0x", b""),
        (b"mtotals", b"short"),
    ],
)
def test_damaged_index_rows_are_store_errors(path: Path, record: Make, key: bytes, value: bytes) -> None:
    """Whatever a walk meets, no exception of a decoder comes out."""
    with opened(path) as store:
        put(store, record(1, "k"))
    patch(path, {key: value})
    with opened(path) as store, store.snapshot() as snapshot:
        try:
            found = problems(snapshot, "agent-1")
        except StoreError as error:
            found = [error.message]
    assert any("is damaged" in problem or "does not exist" in problem for problem in found)


@pytest.mark.parametrize("index", [RECENCY, KEYS, EXPIRY])
@pytest.mark.parametrize("damage", ["missing row", "extra row"])
def test_the_check_finds_an_index_that_does_not_match(path: Path, record: Make, index: bytes, damage: str) -> None:
    """A row too few or too many in any index is a problem."""
    limited = RetentionPolicy(1, False, False)  # noqa: FBT003
    with opened(path) as store:
        put(store, record(1, "k", retention=limited), record(2, "l", retention=limited))
        with store.snapshot() as snapshot:
            assert problems(snapshot, "agent-1") == []
    key, value = next(iter(rows(path, index).items()))
    extra = RECENCY + b"\x02" + key[2:] if index == RECENCY else key[:-32] + bytes(32)
    patch(path, {key: None} if damage == "missing row" else {extra: value})
    with opened(path) as store, store.snapshot() as snapshot:
        assert problems(snapshot, "agent-1")


@pytest.mark.parametrize("damage", ["missing row", "extra row"])
def test_the_check_finds_followers_that_do_not_match(path: Path, record: Make, damage: str) -> None:
    """The rows of entries that follow the data policy, once there are any, are checked as well."""
    with opened(path) as store:
        put(store, record(1, "k"), record(2, "l"))
        assert rows_now(store, EXPIRY) == []
        change = store.begin(Wait(10))
        assert change.has_expired(1 << 40, DataPolicy(maxRetentionDays=1))
        change.commit()
        assert len(rows_now(store, EXPIRY)) == 2
        put(store, record(3, "m"), record(4, "k"))
        with store.snapshot() as snapshot:
            assert problems(snapshot, "agent-1") == []
    key = next(iter(rows(path, EXPIRY)))
    patch(path, {key: None} if damage == "missing row" else {key[:-32] + bytes(32): b""})
    with opened(path) as store, store.snapshot() as snapshot:
        assert problems(snapshot, "agent-1") == ["the index of expiries does not list the entries"]


def rows_now(store: LmdbStore, start: bytes) -> list[bytes]:
    """Return the keys of rows of an open store that start with some bytes."""
    with store.snapshot() as snapshot:
        return [bytes(key) for key, _ in snapshot._rows(start)]


def test_the_check_finds_counters_and_ids_that_do_not_match(path: Path, record: Make) -> None:
    """Counters against a recount, ids against agent and key, JSON against its record."""
    identity, entry = record(1, "k")
    with opened(path) as store:
        put(store, (identity, entry))
        with store.snapshot() as snapshot:
            (problem,) = problems(snapshot, "agent-2")
            assert "does not lie under the id" in problem
    patch(path, {b"mtotals": bytes(72)})
    stored = rows(path, ENTRIES)[ENTRIES + identity].replace(b'"value":"eA=="', b'"value":"eHg="')
    patch(path, {ENTRIES + identity: stored})
    with opened(path) as store, store.snapshot() as snapshot:
        found = " ".join(problems(snapshot, "agent-1"))
    assert "a recount gives" in found
    assert "is behind entry number 1" in found
    assert "says something else in its JSON" in found


def test_keys_of_any_length_fit_lmdbs_tables(path: Path, record: Make) -> None:
    """Keys of 1,024 bytes with a common start are told apart and found by prefix."""
    start = "k" * 1020
    keys = [start + f"{number:04}" for number in range(40)]
    with opened(path) as store:
        put(store, *(record(number, key) for number, key in enumerate(keys, start=1)))
        with store.snapshot() as snapshot:
            found = [snapshot.get(index.identity) for index in snapshot.with_prefix(start + "001")]
            assert [record.key for record in found if record] == keys[19:9:-1]
            assert problems(snapshot, "agent-1") == []
    assert max(map(len, rows(path, KEYS))) == 511


def test_a_full_map_is_a_store_error_and_deleting_still_works(
    path: Path, record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change that did not fit left nothing, and the file can be emptied."""
    monkeypatch.setattr("rotifer_host.store.environment.map_size", lambda quota: quota)
    with opened(path, quota=1 << 20) as store:
        put(store, record(1, "k", value=bytes(200_000)))
        change = store.begin(Wait(0))
        entries = [record(number, f"k{number}", value=bytes(200_000)) for number in range(2, 10)]
        with pytest.raises(StoreError, match="MDB_MAP_FULL"):
            deque(itertools.starmap(change.put, entries), maxlen=0)
        with pytest.raises(StoreError):
            change.commit()
        with store.snapshot() as snapshot:
            assert snapshot.totals().entries == 1
        change = store.begin(Wait(0))
        change.remove(entry_id("agent-1", "k"))
        change.commit()
        put(store, record(3, "l", value=bytes(200_000)))


@pytest.mark.parametrize(
    ("quota", "least", "most"),
    [
        (1, 128 << 20, 256 << 20),
        (contract.DEFAULT_QUOTA_BYTES, 8 << 30, 16 << 30),
        (contract.MAX_QUOTA_BYTES, 2 << 40, 8 << 40),
    ],
)
def test_the_map_is_well_above_what_the_quota_needs(quota: int, least: int, most: int) -> None:
    """And small enough for several agents in one address space."""
    assert least <= map_size(quota) <= most


def test_the_largest_quota_can_be_opened(path: Path) -> None:
    """Mapping terabytes takes address space, not disk."""
    with opened(path, quota=contract.MAX_QUOTA_BYTES):
        assert path.stat().st_size < 1 << 20


def test_a_writer_in_another_process_is_waited_for(path: Path) -> None:
    """Its lock times out instead of hanging; its changes are seen once they are committed."""
    code = (
        OPEN_IN_CHILD
        + """
change = store.begin(Wait(10))
print("holding", flush=True)
sys.stdin.readline()
change.abort()
"""
    )
    with (
        opened(path) as store,
        subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child,
    ):
        assert child.stdout is not None
        assert child.stdout.readline() == "holding\n"
        with pytest.raises(LockTimeoutError):
            store.begin(Wait(0))
        child.communicate("done\n")
        store.begin(Wait(10)).abort()


def test_opening_does_not_wait_for_a_writer(path: Path) -> None:
    """A held change of another process delays only other writers."""
    with opened(path) as store:
        change = store.begin(Wait(0))
        assert run_python(OPEN_IN_CHILD + "print(store.snapshot().totals().entries)", str(path)) == "0"
        change.abort()


def test_making_a_file_waits_for_whoever_makes_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And gives up with a clear error."""
    path.parent.mkdir()
    monkeypatch.setattr("rotifer_host.store.environment.Wait", lambda: Wait(0))
    with FileLock(path.with_name("agent-1.mdb.lock")).held(Wait(0)), pytest.raises(LockTimeoutError):
        opened(path)
    opened(path).close()


def test_processes_write_side_by_side(path: Path) -> None:
    """No change of either is lost, and the counters match a recount."""
    code = (
        OPEN_IN_CHILD
        + """
from rotifer_host.memory.entry import AccessPolicy, entry_id, make_record
gene = "v2:" + "a" * 64
for number in range(40):
    change = store.begin(Wait(30))
    key = f"{sys.argv[2]}/{number}"
    identity = entry_id("agent-1", key)
    change.put(identity, make_record(identity=identity, sequence=change.totals().sequence + 1, key=key,
        category="CACHE", value=b"x", created_by=gene, domain="d", reader=gene, created_ms=1, updated_ms=1,
        access=AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE"), retention=None))
    change.commit()
"""
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "ab"]
    assert [child.wait(60) for child in children] == [0, 0]
    with opened(path) as store, store.snapshot() as snapshot:
        assert snapshot.totals().entries == 80
        assert snapshot.totals().sequence == 80
        assert problems(snapshot, "agent-1") == []


@pytest.mark.parametrize("holds", ["snapshot", "change"])
def test_a_killed_process_blocks_nobody(path: Path, record: Make, holds: str) -> None:
    """Its reader slot is freed at the next opening, its lock at once, its change is gone."""
    code = (
        OPEN_IN_CHILD
        + """
held = store.snapshot() if sys.argv[2] == "snapshot" else store.begin(Wait(10))
print("holding", flush=True)
sys.stdin.readline()
"""
    )
    with (
        opened(path) as store,  # open all the while: else LMDB clears the table for its first user
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child,
    ):
        assert child.stdout is not None
        assert child.stdout.readline() == "holding\n"
        child.send_signal(signal.SIGKILL)
        child.wait(30)
        put(store, record(1, "k"))
        readers = run_python(OPEN_IN_CHILD + "print(store._environment.env.readers())", str(path))
        assert str(child.pid) not in readers


def test_an_open_file_keeps_its_place_among_processes(path: Path, record: Make) -> None:
    """Nothing this package does with LMDB's lock file gives up the lock LMDB holds on it.

    Whoever gets that lock takes itself for the only user, and clears the table of readers.
    """
    code = """
import fcntl, sys
with open(sys.argv[1] + "-lock", "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
    except OSError:
        print("in use")
"""
    with opened(path) as store:
        assert run_python(code, str(path)) == "in use"
        opened(path).close()
        put(store, record(1, "k"))
        with store.snapshot():
            assert run_python(code, str(path)) == "in use"
    assert run_python(code, str(path)) == ""


def test_readers_beyond_the_table_get_a_slot_once_dead_ones_are_cleared(
    path: Path, record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table full of the living is a store error; one full of the dead is cleaned up."""
    monkeypatch.setattr("rotifer_host.store.environment._MAX_READERS", 3)
    with opened(path) as store:
        put(store, record(1, "k"))
        held = [store.snapshot() for _ in range(2)]
        code = OPEN_IN_CHILD + "import os, signal; held = store.snapshot(); os.kill(os.getpid(), signal.SIGKILL)"
        done = subprocess.run([sys.executable, "-c", code, str(path)], timeout=60, check=False)
        assert done.returncode == -signal.SIGKILL
        held.append(store.snapshot())
        with pytest.raises(StoreError, match="MDB_READERS_FULL"):
            store.snapshot()
        for snapshot in held:
            snapshot.__exit__(None, None, None)
        with store.snapshot() as snapshot:
            assert snapshot.totals().entries == 1


def in_fork(work: Callable[[], object]) -> int:
    """Run something in a forked child and return its exit status."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    assert child.exitcode is not None
    return child.exitcode


def test_a_forked_child_opens_the_file_for_itself(path: Path, record: Make) -> None:
    """The inherited store is of no use in it, a new one is, and its parent notices nothing."""
    with opened(path) as store:
        put(store, record(1, "k"))
        with store.snapshot():
            pass

        def work() -> None:
            for use in (store.snapshot, lambda: store.begin(Wait(0))):
                with pytest.raises(StoreError, match="fork"):
                    use()
            with opened(path) as own:
                put(own, record(2, "from the child"))
                with own.snapshot() as snapshot:
                    assert snapshot.totals().entries == 2
            store.close()

        assert in_fork(work) == 0
        with store.snapshot() as snapshot:
            assert snapshot.totals().entries == 2
        put(store, record(3, "l"))


def test_a_fork_inside_a_change_leaves_it_to_the_parent(path: Path, record: Make) -> None:
    """The child can neither commit, nor abort, nor unlock what its parent holds."""
    with opened(path) as store:
        change = store.begin(Wait(0))
        change.put(*record(1, "k"))

        def work() -> None:
            with pytest.raises(StoreError):
                change.commit()
            change.abort()
            with pytest.raises(StoreError, match="cannot open"):
                opened(path)

        assert in_fork(work) == 0
        code = (
            OPEN_IN_CHILD
            + """
from rotifer_host.errors import LockTimeoutError
try:
    store.begin(Wait(0))
except LockTimeoutError:
    print("locked")
"""
        )
        assert run_python(code, str(path)) == "locked"
        change.commit()
        with store.snapshot() as snapshot:
            assert snapshot.totals().entries == 1


def test_a_fork_inside_a_snapshot_leaves_it_to_the_parent(path: Path, record: Make) -> None:
    """The parent's view stays protected from being overwritten while the child comes and goes."""
    with opened(path) as store:
        put(store, *(record(number, f"k{number}", value=bytes(3000)) for number in range(1, 20)))
        with store.snapshot() as snapshot:

            def work() -> None:
                snapshot.__exit__(None, None, None)

            assert in_fork(work) == 0
            for turn in range(5):
                put(store, *(record(100 + turn, f"k{number}", value=bytes(3000)) for number in (1,)))
            assert snapshot.totals().sequence == 19
            assert problems(snapshot, "agent-1") == []


def test_threads_read_while_one_writes(path: Path, record: Make) -> None:
    """Every view is of one committed state: both entries of a change, or neither."""
    with opened(path) as store:
        put(store, record(1, "a"), record(2, "b"))
        done = threading.Event()
        torn: list[object] = []
        ids = [entry_id("agent-1", key) for key in "ab"]

        def read() -> None:
            while not done.is_set():
                with store.snapshot() as snapshot:
                    first, second = (snapshot.get(identity) for identity in ids)
                    if first is None or second is None or second.sequence != first.sequence + 1:
                        torn.append((first, second))

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(3, 103, 2):
            put(store, record(number, "a"), record(number + 1, "b"))
        done.set()
        for thread in threads:
            thread.join()
        assert torn == []
