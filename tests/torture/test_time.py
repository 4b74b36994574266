"""Clocks that go back, jump and stand still; expiry to the second; the longest retention there is."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tests.torture.place import AGENT, Place, gene

from rotifer_host.contract import MAX_RETENTION_DAYS, SECONDS_PER_DAY
from rotifer_host.errors import NotFoundError
from rotifer_host.memory import (
    AgentMemory,
    DataPolicy,
    RetentionPolicy,
    delete_request,
    query_request,
    read_request,
    write_request,
)
from rotifer_host.store import ModelStore, Store, open_store
from rotifer_host.store.check import problems

_STEPS: Final = 400
_QUOTA: Final = 1 << 20
_HOUR_MS: Final = 3_600_000
_CENTURY_MS: Final = 36_525 * SECONDS_PER_DAY * 1000
_YEAR_ZERO_MS: Final = -62_167_219_200_000
_LAST_MS: Final = 253_402_300_799_999
_EXTREMES: Final = (-(1 << 62), -_CENTURY_MS, -1, 0, 999, 1000, _LAST_MS, _LAST_MS + 1, 1 << 53, 1 << 62)
_START: Final = "2026-06-01T12:00:00.000Z"


class Timed(NamedTuple):
    """A memory on some store, and the clock and policy it goes by."""

    store: Store
    place: Place

    def memory(self, policy: DataPolicy) -> AgentMemory:
        """Return the memory under a data policy."""
        self.place.policy = policy
        memory = self.place.on(self.store)
        memory._quota = _QUOTA
        return memory


@pytest.fixture(params=["model", "lmdb"])
def timed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Timed]:
    """Give a memory on each store there is; its counters and indexes are right in the end."""
    place = Place(tmp_path)
    place.clock.set(_START)
    opened = ModelStore() if request.param == "model" else open_store(tmp_path / "m", agent_id=AGENT, quota=_QUOTA)
    with opened as store:
        yield Timed(store, place)
        with store.snapshot() as snapshot:
            assert problems(snapshot, AGENT) == []
    place.log.close()


def kept(days: int | None) -> RetentionPolicy:
    """Return a retention policy."""
    return RetentionPolicy(days, autoDeleteOnTermination=False, anonymizationSupported=False)


def keys(memory: AgentMemory, **fields: Any) -> list[str]:
    """Return the keys a query finds, in its order."""
    return [entry["key"] for entry in json.loads(memory.query(gene("a"), query_request(**fields)))]


class Expected:
    """What a memory must show, in a few lines: entries in the order of their changes, and when each is gone."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[int, int | None]] = {}
        """Key to the second of the last change, and days or None for the agent's policy; oldest first."""

    def write(self, key: str, now_s: int, days: int | None) -> None:
        """Take an entry in as the newest."""
        self.entries.pop(key, None)
        self.entries[key] = (now_s, days)

    def settle(self, now_s: int, policy_days: int | None) -> None:
        """Drop what is gone: it does not come back when the clock goes back."""
        for key, (changed_s, own) in list(self.entries.items()):
            days = policy_days if own is None else own
            if days is not None and changed_s + days * 86_400 <= now_s:
                del self.entries[key]


@pytest.mark.parametrize("policy_days", [None, 1, MAX_RETENTION_DAYS])
def test_a_clock_that_does_what_it_likes_changes_no_order(
    timed: Timed, policy_days: int | None, torture_seed: int, torture_rounds: int
) -> None:
    """It goes back an hour, jumps a century, stands still, leaves the calendar: order is that of the changes."""
    choose = random.Random(torture_seed)  # noqa: S311 - to be repeated
    memory = timed.memory(DataPolicy(maxRetentionDays=policy_days))
    expected = Expected()
    clock = timed.place.clock
    for _ in range(_STEPS * torture_rounds):
        leap = choose.choice((0, 0, 1, 999, 1000, -1, -_HOUR_MS, 86_400_000, _CENTURY_MS, -_CENTURY_MS))
        clock.advance(ms=leap)
        if choose.random() < 0.02:
            clock.set(choose.choice(_EXTREMES))
        now_s = clock.now_ms() // 1000
        key = f"k{choose.randrange(12)}"
        expected.settle(now_s, policy_days)
        match choose.randrange(4):
            case 0 | 1:
                days = choose.choice((None, 1, 2, MAX_RETENTION_DAYS))
                if policy_days is not None and days is not None:
                    days = min(days, policy_days)
                retention = None if days is None else kept(days)
                memory.write(gene("a"), write_request(key, b"x", "CACHE", retention_policy=retention))
                expected.write(key, now_s, days)
            case 2:
                try:
                    memory.delete(gene("a"), delete_request(key))
                except NotFoundError:
                    assert key not in expected.entries
                else:
                    del expected.entries[key]
            case _:
                found = memory.read(gene("a"), read_request(key)) != b"null"
                assert found == (key in expected.entries)
        assert keys(memory, limit=1000) == list(expected.entries)[::-1]
        assert memory.list().used == sum(len(key) + 1 for key in expected.entries)


def test_eviction_goes_by_changes_and_not_by_the_clock(timed: Timed) -> None:
    """The entry changed longest ago goes first, although the clock calls it the newest."""
    memory = timed.memory(DataPolicy())
    memory._quota = 40
    for number, back_ms in enumerate((0, _HOUR_MS, _CENTURY_MS)):
        timed.place.clock.advance(ms=-back_ms)
        memory.write(gene("a"), write_request(f"k{number}", bytes(10), "CACHE"))
    memory.write(gene("a"), write_request("k3", bytes(10), "CACHE"))
    assert keys(memory) == ["k3", "k2", "k1"]


@pytest.mark.parametrize("days", [1, 30, MAX_RETENTION_DAYS])
@pytest.mark.parametrize("start_ms", [0, 999, 1_780_000_000_123, -1500])
@pytest.mark.parametrize("own", [True, False], ids=["own policy", "agent's policy"])
def test_an_entry_is_gone_from_the_exact_second_on(timed: Timed, days: int, start_ms: int, *, own: bool) -> None:
    """On every path: a millisecond before it is there, in that second's first it is not, nor counted."""
    memory = timed.memory(DataPolicy() if own else DataPolicy(maxRetentionDays=days))
    clock = timed.place.clock
    clock.set(start_ms)
    memory.write(gene("a"), write_request("k", b"x", "CONTEXT", retention_policy=kept(days) if own else None))
    gone_s = start_ms // 1000 + days * SECONDS_PER_DAY
    clock.set(gone_s * 1000 - 1)
    assert memory.read(gene("a"), read_request("k")) != b"null"
    assert keys(memory) == ["k"]
    assert memory.list().used == 2
    clock.set(gone_s * 1000)
    assert memory.read(gene("a"), read_request("k")) == b"null"
    assert keys(memory) == []
    assert memory.list().used == 0
    with pytest.raises(NotFoundError):
        memory.delete(gene("a"), delete_request("k"))


@pytest.mark.parametrize("now_ms", _EXTREMES)
def test_no_time_overflows(timed: Timed, now_ms: int) -> None:
    """All calls work at the ends of every calendar and counter, with the longest retention."""
    memory = timed.memory(DataPolicy(maxRetentionDays=MAX_RETENTION_DAYS))
    timed.place.clock.set(now_ms)
    for key, retention in (("own", kept(MAX_RETENTION_DAYS)), ("agent's", None)):
        entry = json.loads(memory.write(gene("a"), write_request(key, b"x", "CACHE", retention_policy=retention)))
        assert len(entry["updatedAt"]) == len("2026-01-01T00:00:00.000Z")
    assert keys(memory) == ["agent's", "own"]
    assert keys(memory, since="0000-01-01T00:00:00Z") == (["agent's", "own"] if now_ms >= _YEAR_ZERO_MS else [])
    memory.delete(gene("a"), delete_request("own"))
    assert [entry.key for entry in memory.list().entries] == ["agent's"]
    assert json.loads(timed.place.audit_path.read_text().splitlines()[-1])["action"] == "memory.delete"
