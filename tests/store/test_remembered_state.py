"""What a process remembers of the state that was committed last, and when it must not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.errors import StoreError
from rotifer_host.lock import Wait
from rotifer_host.memory.entry import DataPolicy, Record, RetentionPolicy
from rotifer_host.store import LmdbStore, codec, open_store
from rotifer_host.store.check import problems
from rotifer_host.store.protocol import Chain

Make = Callable[..., tuple[bytes, Record]]
NO_LIMIT = DataPolicy()

ANOTHER_PROCESS = """
import sys
from pathlib import Path
from rotifer_host.lock import Wait
from rotifer_host.store import open_store
from rotifer_host.store.protocol import Chain
with open_store(Path(sys.argv[1]), agent_id="agent-1", quota=1 << 20) as store:
    change = store.begin(Wait(10))
    for identity, _ in list(change.records()):
        change.remove(identity)
    change.extend(Chain(change.chain().length + 1, b"c" * 32))
    change.commit()
"""


@pytest.fixture
def store(path: Path) -> Iterator[LmdbStore]:
    """Give a memory file that stays open for the length of a test."""
    with open_store(path, agent_id="agent-1", quota=1 << 20) as opened:
        yield opened


def put(store: LmdbStore, *entries: tuple[bytes, Record], chain: Chain | None = None) -> None:
    """Save entries in one change."""
    change = store.begin(Wait(10))
    change.has_expired(0, NO_LIMIT)  # as every operation asks first
    for entry in entries:
        change.put(*entry)
    if chain is not None:
        change.extend(chain)
    change.commit()


def in_another_process(path: Path) -> None:
    """Remove every entry, as one more recorded change."""
    subprocess.run([sys.executable, "-c", ANOTHER_PROCESS, str(path)], check=True, timeout=60)


def test_another_c_library_shows_no_version(path: Path, record: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where LMDB keeps the number of the last commit is known of glibc alone; all else works without it."""

    def unknown(_name: str) -> str:
        message = "unrecognized configuration name"
        raise ValueError(message)

    monkeypatch.setattr("os.confstr", unknown)
    with open_store(path, agent_id="agent-1", quota=1 << 20) as store:
        assert store.version is None
        put(store, record(1, "k"))
        with store.snapshot() as snapshot:
            assert snapshot.get(record(1, "k")[0]) is not None


def test_a_change_goes_on_from_the_one_before(store: LmdbStore, record: Make) -> None:
    """Counters and the end of the chain are those that were committed, whoever committed them."""
    put(store, record(1, "k"), chain=Chain(1, b"a" * 32))
    put(store, record(2, "l"), chain=Chain(2, b"b" * 32))
    change = store.begin(Wait(0))
    with store.snapshot() as snapshot:
        assert (change.totals(), change.chain()) == (snapshot.totals(), snapshot.chain())
    assert (change.totals().entries, change.chain()) == (2, Chain(2, b"b" * 32))
    change.abort()


def test_a_change_goes_on_from_that_of_another_process(store: LmdbStore, record: Make, path: Path) -> None:
    """What this process committed before it is not taken for the state there is."""
    put(store, record(1, "k"), record(2, "l"), chain=Chain(1, b"a" * 32))
    in_another_process(path)
    change = store.begin(Wait(0))
    assert (change.totals().entries, change.totals().sequence, change.chain()) == (0, 2, Chain(2, b"c" * 32))
    change.put(*record(3, "m"))
    change.commit()
    with store.snapshot() as snapshot:
        assert snapshot.totals().entries == 1
        assert problems(snapshot, "agent-1") == []


def test_a_change_goes_on_from_the_rows_of_followers_there_are(store: LmdbStore, record: Make) -> None:
    """Once a data policy with a limit has been met, every later change keeps rows for the entries that follow it."""
    limited = DataPolicy(maxRetentionDays=1)
    put(store, record(1, "k"))
    change = store.begin(Wait(0))
    assert not change.has_expired(0, limited)
    change.put(*record(2, "l"))
    change.commit()
    put(store, record(3, "m"), record(4, "k"))
    with store.snapshot() as snapshot:
        assert problems(snapshot, "agent-1") == []
        assert snapshot.next_expiry(limited) == 86_402


@pytest.mark.parametrize("ends", ["abort", "commit fails"])
def test_what_was_not_saved_is_not_remembered(
    store: LmdbStore, record: Make, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the counters nor the chain of a change that came to nothing, nor its records."""
    identity, entry = record(1, "k")
    put(store, (identity, entry), chain=Chain(1, b"a" * 32))
    change = store.begin(Wait(0))
    change.put(*record(2, "k", value=b"new"))
    change.extend(Chain(2, b"b" * 32))
    if ends == "abort":
        change.abort()
    else:
        monkeypatch.setattr(codec, "encode_chain", _fail)
        with pytest.raises(StoreError):
            change.commit()
        monkeypatch.undo()
    assert store.peek(identity, 0, NO_LIMIT) == entry
    again = store.begin(Wait(0))
    assert (again.totals().sequence, again.chain()) == (1, Chain(1, b"a" * 32))
    again.abort()


def _fail(_chain: Any) -> bytes:
    message = "the disk failed"
    raise StoreError(message)


def test_a_peek_finds_what_nobody_has_read_yet(store: LmdbStore, record: Make) -> None:
    """As long as it is known when the first entry expires, and that second has not come."""
    limited = RetentionPolicy(1, False, False)  # noqa: FBT003
    identity, entry = record(1, "k")
    put(store, (identity, entry))
    assert store.peek(identity, 0, NO_LIMIT) == entry
    put(store, record(2, "l", retention=limited))
    with store.snapshot() as snapshot:
        assert snapshot.next_expiry(NO_LIMIT) == 86_402
    assert store.peek(identity, 86_401, NO_LIMIT) == entry
    assert store.peek(identity, 86_402, NO_LIMIT) is None


def test_a_peek_holds_nothing_open(store: LmdbStore, record: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when it finds an entry, not when there is none, and not when the entry is damaged."""
    identity, entry = record(1, "k", value=bytes(8000))
    put(store, (identity, entry))
    environment = store._environment
    assert environment is not None
    for _ in range(3):
        assert store.peek(identity, 0, NO_LIMIT) == entry
        assert store.peek(bytes(32), 0, NO_LIMIT) is None
        assert environment.idle
    monkeypatch.setattr(codec, "decode_record", _fail)
    with pytest.raises(StoreError, match="the disk failed"):
        store.peek(identity, 0, NO_LIMIT)
    assert environment.idle


def test_a_peek_knows_of_other_processes(store: LmdbStore, record: Make, path: Path) -> None:
    """A record that another process has replaced or removed is not served from what is known."""
    identity, entry = record(1, "k")
    put(store, (identity, entry))
    for _ in range(2):
        assert store.peek(identity, 0, NO_LIMIT) == entry
    in_another_process(path)
    assert store.peek(identity, 0, NO_LIMIT) is None
