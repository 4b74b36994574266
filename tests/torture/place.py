"""One agent's memory and log on disk, and a reference that no fault reaches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rotifer_host.audit import AuditLog, Nowhere
from rotifer_host.lock import Patience
from rotifer_host.memory import AgentMemory, Caller, DataPolicy, Durability
from rotifer_host.memory.entry import response_for
from rotifer_host.memory.retention import is_expired
from rotifer_host.store import ModelStore, Store, open_store
from rotifer_host.telemetry import TelemetryLog
from rotifer_host.testing import ManualClock

__all__ = [
    "AGENT",
    "FOR_EVER",
    "NOBODY",
    "POLICIES",
    "QUOTA",
    "THIRTY_DAYS",
    "Live",
    "Place",
    "Reference",
    "gene",
    "live",
]

AGENT: Final = "agent-1"
QUOTA: Final = 4000
FOR_EVER: Final = DataPolicy()
"""With which C answers ordinary requests on the native call path."""
THIRTY_DAYS: Final = DataPolicy(maxRetentionDays=30)
"""With which it answers none, and entries expire."""
POLICIES: Final = {"for ever": FOR_EVER, "thirty days": THIRTY_DAYS}
NOBODY: Final = f"v2:{'0' * 64}"

Live = list[tuple[str, bytes]]
"""Key and JSON of each entry that has not expired, from the one changed first to the one changed last."""


def gene(letter: str, domain: str = "format") -> Caller:
    """Return a caller whose v2 id repeats one letter."""
    return Caller(f"v2:{letter * 64}", domain)


def live(store: Store, now_ms: int, policy: DataPolicy) -> Live:
    """Return what a store holds at a time; `lastAccessedBy`, which a fault may cost, is blotted out."""
    with store.snapshot() as snapshot:
        records = [record for _, record in snapshot.records() if not is_expired(record, now_ms // 1000, policy)]
    records.sort(key=lambda record: record.sequence)
    return [(record.key, response_for(record, NOBODY)) for record in records]


class Place:
    """The files of one agent as they lie in `.rotifer`: `memory/<id>`, `audit.jsonl`, `telemetry.jsonl`."""

    def __init__(self, folder: Path, quota: int = QUOTA, agent_id: str = AGENT, policy: DataPolicy = FOR_EVER) -> None:
        self.folder = folder
        self.quota = quota
        self.policy = policy
        self.agent_id = agent_id
        self.memory_path = folder / "memory" / agent_id
        self.audit_path = folder / "audit.jsonl"
        self.clock = ManualClock()
        self.log = AuditLog(self.audit_path)

    @contextmanager
    def open(
        self, durability: Durability = "call", patience: Patience | None = None
    ) -> Iterator[tuple[Store, AgentMemory]]:
        """Open the store, with a memory for one run; both files are closed afterwards."""
        try:
            with open_store(self.memory_path, agent_id=self.agent_id, quota=self.quota) as store:
                yield store, self.on(store, durability, patience)
        finally:
            self.log.close()

    def on(self, store: Store, durability: Durability = "call", patience: Patience | None = None) -> AgentMemory:
        """Return a memory for one run."""
        return AgentMemory(
            agent_id=self.agent_id,
            agent_name="formatter",
            store=store,
            audit=self.log,
            telemetry=TelemetryLog(self.folder / "telemetry.jsonl", enabled=True),
            clock=self.clock,
            quota=self.quota,
            policy=self.policy,
            durability=durability,
            patience=patience,
        )


class Reference:
    """What an agent's memory holds when exactly the given calls have happened, in plain Python."""

    def __init__(self, policy: DataPolicy) -> None:
        self.policy = policy
        self.store = ModelStore()
        self.clock = ManualClock()
        log = Nowhere()
        self.memory = AgentMemory(
            agent_id=AGENT,
            agent_name="formatter",
            store=self.store,
            audit=log,
            telemetry=log,
            clock=self.clock,
            quota=QUOTA,
            policy=policy,
        )

    def live(self) -> Live:
        """Return what it holds now."""
        return live(self.store, self.clock.now_ms(), self.policy)
