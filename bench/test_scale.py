"""Whether memory stays as fast as it grows: reads, writes, evictions and queries, and writes in runs of any length.

`ROTIFER_BENCH_ENTRIES=10,10000,100000` sets the sizes; the memory rules are timed alone,
without a guest.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from msgspec import UNSET
from pytest_benchmark.fixture import BenchmarkFixture

from bench import work
from rotifer_host.audit import AuditLog, link
from rotifer_host.clock import SystemClock
from rotifer_host.lock import Wait
from rotifer_host.memory import AgentMemory, Caller, DataPolicy, query_request, read_request, write_request
from rotifer_host.store import LmdbStore, open_store
from rotifer_host.store.check import problems
from rotifer_host.store.view import View
from rotifer_host.telemetry import TelemetryLog

_VARIABLE: Final = "ROTIFER_BENCH_ENTRIES"
_MOST_ENTRIES: Final = 1_000_000


def _sizes(text: str) -> list[int]:
    if not all(re.fullmatch(r"[0-9]{1,9}", size) and 1 <= int(size) <= _MOST_ENTRIES for size in text.split(",")):
        allowed = f"whole numbers from 1 to {_MOST_ENTRIES:,} with commas between them"
        raise pytest.UsageError(f"{_VARIABLE} must be {allowed}, like 10,1000, not {text!r}")
    return [int(size) for size in text.split(",")]


SIZES: Final = _sizes(os.environ.get(_VARIABLE, "10,1000"))
RUNS: Final = [1, 10, 100, 1000]
CALLER: Final = Caller(work.GENE_ID, work.DOMAIN)
ROOMY: Final = 1 << 30
CATEGORIES: Final = ("CACHE", "PATTERN")
ROUNDS: Final = 9


class Filled:
    """A memory with so many entries of 64 bytes, every second one in another category and under another prefix."""

    def __init__(self, folder: Path, entries: int) -> None:
        self.entries = entries
        self.store: LmdbStore = open_store(folder / "memory", agent_id=work.AGENT_ID, quota=ROOMY)
        self.log = folder / "audit.jsonl"
        self._audit = AuditLog(self.log)
        self._telemetry = TelemetryLog(folder / "telemetry.jsonl", enabled=False)
        memory = self.open("run")
        for number in range(entries):
            memory.write(CALLER, self.request(number))
        memory.finish()

    def open(self, durability: Literal["call", "run"] = "call", quota: int = ROOMY) -> AgentMemory:
        """Return the memory for one run."""
        return AgentMemory(
            agent_id=work.AGENT_ID,
            agent_name="bench",
            store=self.store,
            audit=self._audit,
            telemetry=self._telemetry,
            clock=SystemClock(),
            quota=quota,
            policy=DataPolicy(),
            durability=durability,
            patience=Wait(60.0),
        )

    def key(self, number: int) -> str:
        """Return the key of an entry; one beyond the last one is that of an early one again."""
        number %= self.entries
        return f"{'even' if number % 2 == 0 else 'odd'}/{number:06d}"

    def request(self, number: int) -> Any:
        """Return the write of an entry."""
        return write_request(self.key(number), work.VALUE, CATEGORIES[number % self.entries % 2], None, UNSET)

    def used(self) -> int:
        """Return the bytes the entries count."""
        with self.store.snapshot() as snapshot:
            return snapshot.totals().used

    def sound(self) -> bool:
        """Tell whether counters and indexes are what the entries say."""
        with self.store.snapshot() as snapshot:
            return problems(snapshot, work.AGENT_ID) == []


@contextmanager
def filled(folder: Path, entries: int) -> Iterator[Filled]:
    """Fill a memory."""
    folder.mkdir()
    memory = Filled(folder, entries)
    with memory.store:
        yield memory


@pytest.fixture(scope="module", params=SIZES)
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """Memories of each size."""
    with filled(tmp_path_factory.mktemp("scale") / "memory", request.param) as memory:
        yield memory


def clock(benchmark: BenchmarkFixture, work: Callable[[], object], units: int) -> None:
    """Time a function that does so many units of work; pytest-benchmark shows the whole, the summary one unit."""
    benchmark.pedantic(work, rounds=ROUNDS, warmup_rounds=1)  # type: ignore[no-untyped-call]
    if benchmark.stats is not None:
        benchmark.extra_info["microseconds"] = benchmark.stats.stats.median / units * 1e6


def test_read_time(benchmark: BenchmarkFixture, memory: Filled) -> None:
    """One read of a hundred entries, each its own."""
    run = memory.open()
    requests = [read_request(memory.key(number * 7)) for number in range(100)]
    for request in requests:
        assert json.loads(run.read(CALLER, request))["key"] == request.key
    clock(benchmark, lambda: [run.read(CALLER, request) for request in requests], len(requests))


@pytest.mark.parametrize("durability", ["call", "run"])
@pytest.mark.parametrize("writes", RUNS)
def test_write_time(
    benchmark: BenchmarkFixture, memory: Filled, writes: int, durability: Literal["call", "run"]
) -> None:
    """One rewrite in a run of so many, what saves the run included."""
    numbers = itertools.count(step=7)

    def run() -> None:
        use = memory.open(durability)
        for _ in range(writes):
            use.write(CALLER, memory.request(next(numbers)))
        use.finish()

    before = memory.log.read_bytes().count(b"\n")
    run()
    assert memory.log.read_bytes().count(b"\n") == before + writes
    assert memory.sound()
    clock(benchmark, run, writes)


def test_evicting_write_time(benchmark: BenchmarkFixture, tmp_path: Path, memory: Filled) -> None:
    """One new entry that takes the place of the oldest."""
    with filled(tmp_path / "full", memory.entries) as full:
        use = full.open("run", quota=full.used() + 5)
        numbers = itertools.count()

        def run() -> None:
            for _ in range(50):
                use.write(CALLER, write_request(f"even/{next(numbers):05d}x", work.VALUE, "CACHE"))

        run()
        assert use.events.evicted[CALLER.gene_id] == 50
        clock(benchmark, run, 50)
        use.finish()
        assert full.sound()


FILTERS: Final[dict[str, dict[str, Any]]] = {
    "none": {},
    "category": {"category": "CACHE"},
    "prefix": {"key_prefix": "even/"},
    "narrow prefix": {"key_prefix": "even/00000"},
    "since": {"since": "2000-01-01T00:00:00Z"},
    "until": {"until": "2100-01-01T00:00:00Z"},
    "all": {"category": "CACHE", "key_prefix": "even/", "since": "2000-01-01T00:00:00Z"},
}


@pytest.mark.parametrize("limit", [100, 1000])
@pytest.mark.parametrize("name", FILTERS)
def test_query_time(benchmark: BenchmarkFixture, memory: Filled, name: str, limit: int) -> None:
    """One query, by each filter."""
    use = memory.open()
    request = query_request(**FILTERS[name], limit=limit)
    found = json.loads(use.query(CALLER, request))
    halved = name not in ("none", "since", "until")
    expected = 5 if name == "narrow prefix" else memory.entries // 2 if halved else memory.entries
    assert len(found) == min(expected, limit)
    assert found == sorted(found, key=lambda entry: entry["updatedAt"], reverse=True)
    clock(benchmark, lambda: use.query(CALLER, request), 1)


@pytest.mark.parametrize("durable", [False, True], ids=["written", "on disk"])
@pytest.mark.parametrize("held", [False, True], ids=["alone", "held"])
def test_audit_line_time(benchmark: BenchmarkFixture, tmp_path: Path, durable: bool, held: bool) -> None:  # noqa: FBT001
    """One line of the log, without anything it announces."""
    log = AuditLog(tmp_path / "audit.jsonl")
    line = b'{"v":1,"ts":"2026-01-31T12:00:00.000Z","key":"%b"}' % (b"x" * 450)
    units = 10 if durable else 100

    def run() -> None:
        for _ in range(units):
            log.append([line], Wait(10), durable=durable, held=held)

    run()
    assert log.path.read_bytes().splitlines() == link([line] * units, after=None, above=b"").lines
    clock(benchmark, run, units)


@pytest.mark.parametrize("work_of", ["read", "write", "evict"])
def test_work_does_not_grow_with_the_memory(tmp_path: Path, work_of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading, rewriting and evicting one entry look at as many rows in a memory of 10 as in one of 1,000."""
    walked = []
    rows = View._rows

    def counted(self: View, prefix: bytes) -> Iterator[Any]:
        for row in rows(self, prefix):
            walked.append(row[0])
            yield row

    monkeypatch.setattr(View, "_rows", counted)
    counts = []
    for entries in (10, 1000):
        with filled(tmp_path / str(entries), entries) as memory:
            use = memory.open("call", memory.used() + 5)
            walked.clear()
            if work_of == "read":
                use.read(CALLER, read_request(memory.key(4)))
            elif work_of == "write":
                use.write(CALLER, memory.request(4))
            else:
                use.write(CALLER, write_request("even/00000x", work.VALUE, "CACHE"))
                assert use.events.evicted[CALLER.gene_id] == 1
            counts.append(len(walked))
    assert counts[0] == counts[1] <= 2
