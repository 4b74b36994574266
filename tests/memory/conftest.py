"""A memory in a world of its own: store, clock, audit log and telemetry that tests can look at and break."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.memory.twins import A, Twins, paired, writing

from rotifer_host.audit import AuditLine, Written, decode_line, link
from rotifer_host.errors import AuditError
from rotifer_host.lock import Patience
from rotifer_host.memory import AgentMemory, Caller, DataPolicy, query_request, read_request, write_request
from rotifer_host.memory.entry import Record
from rotifer_host.store import ModelStore, Store, open_store
from rotifer_host.store.check import problems
from rotifer_host.testing.clock import ManualClock

AGENT = "agent-1"
QUOTA = 1 << 20


class Sink:
    """An audit log in a list; its `fails_at`-th append from now fails, or all do."""

    def __init__(self) -> None:
        self.lines: list[AuditLine] = []
        self.last = b""
        self.durable: list[bool] = []
        self.synced = 0
        self.fails_at: int | None = None
        self.always_fails = False
        self.sync_fails = False

    def append(
        self,
        lines: Sequence[bytes],
        patience: Patience,
        *,
        after: bytes | None = None,
        durable: bool,
        held: bool = False,
    ) -> Written:
        """Keep the lines, or fail."""
        del patience, held
        if self.fails_at is not None:
            self.fails_at -= 1
        if self.always_fails or self.fails_at == 0:
            message = "the disk of the log is full"
            raise AuditError(message)
        written = link(lines, after=after, above=self.last)
        self.last = written.last
        self.lines += map(decode_line, written.lines)
        self.durable += [durable] * len(lines)
        if durable:
            self._sync(written.lines)
        return written

    def sync(self) -> None:
        """Count, or fail."""
        self._sync()
        self.synced += 1

    def _sync(self, lines: Sequence[bytes] = ()) -> None:
        if self.sync_fails:
            message = "the log cannot be synced"
            error = AuditError(message)
            error.written = lines
            raise error

    def witness(self, patience: Patience) -> bytes:
        """Return the hash of the last line."""
        del patience
        self.sync()
        return self.last

    def actions(self) -> list[tuple[str, str | None]]:
        """Return action and key of every line."""
        return [(line.action.removeprefix("memory."), line.key) for line in self.lines]

    def take(self) -> list[tuple[str, str | None]]:
        """Return what `actions` does and forget the lines."""
        actions = self.actions()
        self.lines.clear()
        self.durable.clear()
        return actions


class Events:
    """Telemetry in a list."""

    def __init__(self) -> None:
        self.denied: list[tuple[str | None, str | None, str]] = []

    def access_denied(self, *, ts: str, agent_id: str | None, gene_id: str | None, operation: str) -> None:
        """Keep the event."""
        assert ts.endswith("Z")
        self.denied.append((agent_id, gene_id, operation))


class World:
    """One agent's memory and all that surrounds it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = ManualClock("2026-01-01T00:00:00Z")
        self.audit = Sink()
        self.telemetry = Events()
        self.policy = DataPolicy()
        self.quota = QUOTA
        self.memory = self.open()

    def open(self, **changed: Any) -> AgentMemory:
        """Return another use of the same memory."""
        arguments: dict[str, Any] = {
            "agent_id": AGENT,
            "agent_name": "formatter",
            "store": self.store,
            "audit": self.audit,
            "telemetry": self.telemetry,
            "clock": self.clock,
            "quota": self.quota,
            "policy": self.policy,
        }
        return AgentMemory(**(arguments | changed))

    def reopen(self, **changed: Any) -> None:
        """Begin another run on the same memory."""
        self.memory = self.open(**changed)

    @staticmethod
    def gene(letter: str, domain: str = "format") -> Caller:
        """Return a caller whose v2 id repeats one letter."""
        return Caller(f"v2:{letter * 64}", domain)

    def write(self, caller: Caller, key: str, value: bytes = b"x", category: str = "CACHE", **policies: Any) -> Any:
        """Write and return the entry."""
        return json.loads(self.memory.write(caller, write_request(key, value, category, **policies)))

    def read(self, caller: Caller, key: str, category: str | None = None) -> Any:
        """Read and return the entry or None."""
        return json.loads(self.memory.read(caller, read_request(key, category)))

    def query(self, caller: Caller, **fields: Any) -> list[str]:
        """Query and return the keys."""
        return [entry["key"] for entry in json.loads(self.memory.query(caller, query_request(**fields)))]

    def state(self) -> tuple[list[tuple[bytes, Record]], Any]:
        """Return all that is committed."""
        with self.store.snapshot() as snapshot:
            return list(snapshot.records()), snapshot.totals()

    def keys(self) -> set[str]:
        """Return the keys of all that is committed."""
        return {record.key for _, record in self.state()[0]}

    def problems(self) -> list[str]:
        """Return what the check of the store finds."""
        with self.store.snapshot() as snapshot:
            return problems(snapshot, AGENT)


@pytest.fixture(params=["model", "lmdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Run a test over each store there is."""
    opened: Store = (
        ModelStore() if request.param == "model" else open_store(tmp_path / "m", agent_id=AGENT, quota=QUOTA)
    )
    with opened:
        yield opened


@pytest.fixture
def world(store: Store) -> Iterator[World]:
    """Give a world on an empty store, and look whether the store is sound afterwards."""
    world = World(store)
    yield world
    assert world.problems() == []


@pytest.fixture
def new_world() -> Callable[[Store], World]:
    """Give a way to make worlds on stores of the test's own."""
    return World


@pytest.fixture
def spoilt_twins(tmp_path: Path) -> Iterator[Twins]:
    """Give both memories of `twins`, which need not be sound in the end."""
    with paired(tmp_path) as twins:
        twins.run((A, [writing("k"), writing("l", "", "PATTERN")]))
        yield twins


@pytest.fixture
def twins(spoilt_twins: Twins) -> Iterator[Twins]:
    """Give both memories with two entries, and see that they are sound in the end."""
    yield spoilt_twins
    assert spoilt_twins.each(lambda twin: twin.problems()) == []
