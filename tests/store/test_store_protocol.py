"""What every store keeps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rotifer_host.errors import LockTimeoutError, StoreError
from rotifer_host.lock import Wait
from rotifer_host.memory.entry import DataPolicy, Record, RetentionPolicy, entry_id
from rotifer_host.store import Store
from rotifer_host.store.check import problems
from rotifer_host.store.protocol import Expiry, Tally, Totals

Make = Callable[..., tuple[bytes, Record]]
DAY = 86_400


def put(store: Store, *entries: tuple[bytes, Record]) -> None:
    """Save entries in one change."""
    change = store.begin(Wait(0))
    for entry in entries:
        change.put(*entry)
    change.commit()


def keys_of(snapshot: Any, walk: Any) -> list[str]:
    """Return the keys of what a walk yields."""
    return [snapshot.get(index.identity).key for index in walk]


def test_an_empty_store_holds_nothing(store: Store) -> None:
    """Counters start at zero and walks end at once."""
    with store.snapshot() as snapshot:
        assert snapshot.totals() == Totals()
        assert snapshot.get(entry_id("agent-1", "k")) is None
        assert list(snapshot.newest(None)) == list(snapshot.oldest("CACHE")) == list(snapshot.with_prefix("")) == []
        assert list(snapshot.records()) == []
        assert not snapshot.has_expired(1 << 60, DataPolicy(maxRetentionDays=1))


def test_a_record_comes_back_as_it_was_put(store: Store, record: Make) -> None:
    """Every field, the rendered JSON included."""
    identity, stored = record(7, "clé\x01", "PATTERN", bytes(range(256)), retention=RetentionPolicy(None, True, False))  # noqa: FBT003
    put(store, (identity, stored))
    with store.snapshot() as snapshot:
        assert stored == snapshot.get(identity)
        assert [(identity, stored)] == list(snapshot.records())
        assert snapshot.totals() == Totals(7, (Tally(), Tally(261, 1), Tally(), Tally()))


def test_walks_follow_the_sequence(store: Store, record: Make) -> None:
    """Newest first, over all categories or one; oldest first within one."""
    put(store, record(3, "c"), record(1, "a", "CONTEXT"), record(2, "b"), record(300, "d", "PREFERENCE"))
    with store.snapshot() as snapshot:
        assert keys_of(snapshot, snapshot.newest(None)) == ["d", "c", "b", "a"]
        assert keys_of(snapshot, snapshot.newest("CACHE")) == ["c", "b"]
        assert keys_of(snapshot, snapshot.oldest("CACHE")) == ["b", "c"]
        assert keys_of(snapshot, snapshot.newest("PATTERN")) == []


def test_prefixes_match_bytes_of_any_length(store: Store, record: Make) -> None:
    """A prefix never matches beyond its own characters, nor the id that follows a key in an index."""
    keys = ["a", "ab", "a/b", "é", "e", "k" * 477, "k" * 478, "k" * 479, "k" * 1024, "k" * 478 + "l"]
    put(store, *(record(number, key) for number, key in enumerate(keys, start=1)))
    with store.snapshot() as snapshot:
        for prefix in ("", "a", "a/", "k", "k" * 477, "k" * 478, "k" * 479, "k" * 1024, "k" * 478 + "l", "e", "zz"):
            expected = [key for key in reversed(keys) if key.startswith(prefix)]
            assert expected == keys_of(snapshot, snapshot.with_prefix(prefix))


def test_replacing_moves_an_entry_in_every_index(store: Store, record: Make) -> None:
    """Category, sequence, size and retention of the old version leave no trace."""
    limited = RetentionPolicy(1, False, False)  # noqa: FBT003
    put(store, record(1, "k", "CACHE", bytes(10), retention=limited), record(2, "l"))
    put(store, record(3, "k", "PATTERN", bytes(5)))
    with store.snapshot() as snapshot:
        assert keys_of(snapshot, snapshot.newest(None)) == ["k", "l"]
        assert keys_of(snapshot, snapshot.oldest("CACHE")) == ["l"]
        assert snapshot.totals() == Totals(3, (Tally(), Tally(6, 1), Tally(), Tally(2, 1)))
        assert not snapshot.has_expired(1 << 60, DataPolicy())
        assert problems(snapshot, "agent-1") == []


def test_replacing_with_the_same_sequence_keeps_the_place(store: Store, record: Make) -> None:
    """Only another reader: the entry stays where it was."""
    identity, first = record(1, "k")
    put(store, (identity, first), record(2, "l"))
    put(store, (identity, msgspec.structs.replace(first, body=first.body.replace(b"a" * 64, b"b" * 64))))
    with store.snapshot() as snapshot:
        assert keys_of(snapshot, snapshot.newest(None)) == ["l", "k"]
        assert snapshot.totals().sequence == 2


def test_removing_leaves_nothing(store: Store, record: Make) -> None:
    """The entry is out of every index and the counters; the sequence goes on."""
    put(store, record(1, "k"), record(2, "l"))
    change = store.begin(Wait(0))
    change.remove(entry_id("agent-1", "k"))
    with pytest.raises(StoreError):
        change.remove(entry_id("agent-1", "k"))
    change.put(*record(3, "m"))
    change.remove(entry_id("agent-1", "m"))
    change.commit()
    with store.snapshot() as snapshot:
        assert keys_of(snapshot, snapshot.newest(None)) == ["l"]
        assert snapshot.totals() == Totals(3, (Tally(), Tally(), Tally(), Tally(2, 1)))
        assert problems(snapshot, "agent-1") == []


def test_expiries_come_soonest_first(store: Store, record: Make) -> None:
    """Own policies count from their own days, the others from the data policy of the moment."""
    own = {days: RetentionPolicy(days, False, False) for days in (1, 3, None)}  # noqa: FBT003
    put(
        store,
        record(1, "own-3", retention=own[3]),
        record(2, "own-1", retention=own[1]),
        record(3, "never", retention=own[None]),
        record(4, "follows"),
    )
    ids = {key: entry_id("agent-1", key) for key in ("own-3", "own-1", "follows")}
    with store.snapshot() as snapshot:
        for days, expected in (
            (None, [(DAY + 2, "own-1"), (3 * DAY + 1, "own-3")]),
            (2, [(DAY + 2, "own-1"), (2 * DAY + 4, "follows"), (3 * DAY + 1, "own-3")]),
            (1, [(DAY + 2, "own-1"), (DAY + 4, "follows"), (3 * DAY + 1, "own-3")]),
        ):
            policy = DataPolicy(maxRetentionDays=days)
            expiries = [Expiry(second, ids[key]) for second, key in expected]
            assert expiries == snapshot.expired(1 << 60, policy, 100)
            assert expiries[:1] == snapshot.expired(1 << 60, policy, 1)
            for second, _ in expected:
                due = [expiry for expiry in expiries if expiry.second <= second]
                assert due == snapshot.expired(second, policy, 100)
                assert due[:-1] == snapshot.expired(second - 1, policy, 100)
            assert snapshot.has_expired(DAY + 2, policy)
            assert not snapshot.has_expired(DAY + 1, policy)


def test_expiry_works_before_1970_and_far_beyond_9999(store: Store, record: Make) -> None:
    """Any time a clock can tell keeps its order."""
    long = RetentionPolicy(2_147_483_647, False, False)  # noqa: FBT003
    short = RetentionPolicy(1, False, False)  # noqa: FBT003
    put(
        store,
        record(1, "early", updated_ms=-10 * DAY * 1000, retention=short),
        record(2, "late", updated_ms=10**16, retention=long),
    )
    with store.snapshot() as snapshot:
        found = snapshot.expired(1 << 60, DataPolicy(), 10)
        assert [expiry.second for expiry in found] == [-9 * DAY, 10**13 + 2_147_483_647 * DAY]
        assert problems(snapshot, "agent-1") == []


def test_a_change_sees_itself_and_nobody_else_sees_it(store: Store, record: Make) -> None:
    """Until the commit only; a snapshot opened before stays as it was."""
    put(store, record(1, "k"))
    with store.snapshot() as before:
        change = store.begin(Wait(0))
        change.put(*record(2, "l", retention=RetentionPolicy(1, False, False)))  # noqa: FBT003
        change.remove(entry_id("agent-1", "k"))
        assert keys_of(change, change.newest(None)) == ["l"]
        assert change.totals().entries == 1
        assert change.has_expired(2 * DAY, DataPolicy())
        with store.snapshot() as during:
            assert keys_of(during, during.newest(None)) == ["k"]
            assert not during.has_expired(2 * DAY, DataPolicy())
        change.commit()
        assert keys_of(before, before.newest(None)) == ["k"]
        assert before.get(entry_id("agent-1", "l")) is None
    with store.snapshot() as after:
        assert keys_of(after, after.newest(None)) == ["l"]
        assert after.has_expired(2 * DAY, DataPolicy())


def test_an_aborted_change_leaves_no_trace(store: Store, record: Make) -> None:
    """Abort is harmless afterwards and after a commit; neither can be committed again."""
    put(store, record(1, "k"))
    change = store.begin(Wait(0))
    change.put(*record(2, "l"))
    change.abort()
    change.abort()
    with pytest.raises(StoreError):
        change.commit()
    with store.snapshot() as snapshot:
        assert keys_of(snapshot, snapshot.newest(None)) == ["k"]
        assert snapshot.totals().sequence == 1


def test_changes_wait_for_each_other(store: Store, record: Make) -> None:
    """One at a time, for as long as the patience lasts."""
    change = store.begin(Wait(0))
    with pytest.raises(LockTimeoutError):
        store.begin(Wait(0))
    begun = threading.Event()

    def other() -> None:
        begun.set()
        put_patiently(store, record(2, "l"))

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    change.put(*record(1, "k"))
    change.commit()
    thread.join()
    with store.snapshot() as snapshot:
        assert keys_of(snapshot, snapshot.newest(None)) == ["l", "k"]


def put_patiently(store: Store, entry: tuple[bytes, Record]) -> None:
    """Save an entry when the store is free."""
    change = store.begin(Wait(30))
    change.put(*entry)
    change.commit()
