"""What every store keeps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rotifer_host.errors import LockTimeoutError, StoreError
from rotifer_host.lock import Wait
from rotifer_host.memory.entry import DataPolicy, Record, RetentionPolicy, entry_id
from rotifer_host.store import Store
from rotifer_host.store.check import problems
from rotifer_host.store.protocol import Chain, Expiry, Tally, Totals

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


def test_the_chain_is_saved_with_the_change(store: Store, record: Make) -> None:
    """It starts empty, and moves on with a commit only; other changes leave it where it is."""
    first, second = Chain(1, b"1" * 32), Chain(2, b"2" * 32)
    with store.snapshot() as snapshot:
        assert snapshot.chain() == Chain()
    change = store.begin(Wait(0))
    change.extend(first)
    assert change.chain() == first
    with store.snapshot() as snapshot:
        assert snapshot.chain() == Chain()
    change.commit()
    change = store.begin(Wait(0))
    assert change.chain() == first
    change.extend(second)
    change.abort()
    put(store, record(1, "k"))
    with store.snapshot() as snapshot:
        assert snapshot.chain() == first


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "é"]), st.integers(0, 40)), max_size=60),
    st.sampled_from(["", "a", "a/", "a/1", "b", "é/2", "c"]),
    st.integers(0, 8),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_prefixes_are_walked_newest_first_however_many_match(  # noqa: PLR0913, PLR0917 - hypothesis passes each strategy
    store: Store, record: Make, monkeypatch: pytest.MonkeyPatch, written: list[tuple[str, int]], prefix: str, few: int
) -> None:
    """Few of many, many of few, all or none, the newest or the oldest: the same entries in the same order."""
    monkeypatch.setattr("rotifer_host.store.view._FEW", few)
    monkeypatch.setattr("rotifer_host.store.view._TRIED", 2 * few)
    change = store.begin(Wait(0))
    for identity, _ in list(change.records()):
        change.remove(identity)
    first = change.totals().sequence
    keys = [f"{start}/{number}" for start, number in written]
    for number, key in enumerate(keys, start=first + 1):
        change.put(*record(number, key))
    change.commit()
    newest = list(dict.fromkeys(reversed(keys)))
    with store.snapshot() as snapshot:
        assert keys_of(snapshot, snapshot.with_prefix(prefix)) == [key for key in newest if key.startswith(prefix)]
        assert problems(snapshot, "agent-1") == []


def test_followers_expire_alike_before_and_after_a_policy_with_a_limit(store: Store, record: Make) -> None:
    """Whether a change has seen such a policy yet makes no difference to anybody."""
    short, never = DataPolicy(maxRetentionDays=1), DataPolicy()
    put(store, record(1, "k"), record(2, "l"))

    def due() -> list[Any]:
        with store.snapshot() as snapshot:
            return [
                snapshot.expired(DAY + 1, short, 9),
                snapshot.has_expired(DAY, short),
                snapshot.has_expired(DAY + 1, short),
                snapshot.next_expiry(short),
                snapshot.next_expiry(never),
                snapshot.has_expired(1 << 60, never),
            ]

    expected = [[Expiry(DAY + 1, entry_id("agent-1", "k"))], False, True, DAY + 1, None, False]
    assert due() == expected
    change = store.begin(Wait(0))
    assert change.has_expired(DAY + 1, short)
    assert change.expired(DAY + 1, short, 9) == expected[0]
    change.put(*record(3, "l"))
    change.commit()
    assert due() == expected
    put(store, record(4, "k"))
    with store.snapshot() as snapshot:
        assert snapshot.next_expiry(short) == DAY + 3
        assert problems(snapshot, "agent-1") == []


def test_a_change_without_changes_teaches_nothing_wrong(store: Store, record: Make) -> None:
    """What was known of expiries before it is not taken for what comes after it."""
    limited = RetentionPolicy(1, False, False)  # noqa: FBT003
    for number in range(1, 4):
        empty = store.begin(Wait(0))
        assert empty.has_expired(1 << 60, DataPolicy()) == (number > 1)
        empty.commit()
        put(store, record(number, f"k{number}", retention=limited))
        with store.snapshot() as snapshot:
            assert snapshot.next_expiry(DataPolicy()) == DAY + 1


def test_peeking_is_reading_or_nothing(store: Store, record: Make) -> None:
    """A record known from a view is the committed one, and hidden once anything has expired."""
    limited = RetentionPolicy(1, False, False)  # noqa: FBT003
    identity, first = record(1, "k", retention=limited)
    put(store, (identity, first))
    policy = DataPolicy(maxRetentionDays=3)

    def look() -> None:
        with store.snapshot() as snapshot:
            snapshot.get(identity)
            snapshot.has_expired(0, policy)

    look()
    assert store.peek(identity, DAY, policy) in (None, first)
    assert store.peek(identity, DAY + 1, policy) is None
    second = record(2, "k")[1]
    put(store, (identity, second))
    assert store.peek(identity, 0, policy) in (None, second)
    look()
    assert store.peek(identity, 3 * DAY + 1, policy) in (None, second)
    assert store.peek(identity, 3 * DAY + 2, policy) is None
    change = store.begin(Wait(0))
    change.remove(identity)
    assert store.peek(identity, 0, policy) in (None, second)
    change.commit()
    assert store.peek(identity, 0, policy) is None
