"""An agent with a real log and a real memory file, and ways to spoil the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.audit import AuditLog
from rotifer_host.errors import AccessDeniedError
from rotifer_host.memory import AgentMemory, Caller, DataPolicy, delete_request, read_request, write_request
from rotifer_host.store import Store, open_store
from rotifer_host.telemetry import TelemetryLog
from rotifer_host.testing.clock import ManualClock
from rotifer_host.verify import AgentCheck, MemoryFile, Proof, check_agent, verify_log

AGENT = "agent-1"
QUOTA = 1 << 16
GENE = Caller(f"v2:{'a' * 64}", "format")
OTHER = Caller(f"v2:{'b' * 64}", "search")


class Kept:
    """One agent: memory file, log, clock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "audit.jsonl"
        self.file = MemoryFile(AGENT, folder / "memory", self.open_file)
        self.log = AuditLog(self.path)
        self.clock = ManualClock("2026-01-01T00:00:00Z")
        self.policy = DataPolicy()
        self.telemetry = TelemetryLog(folder / "telemetry.jsonl", enabled=False)
        self.store = self.open_file()
        self.memory = self.open()

    def open_file(self) -> Store:
        """Open the memory file, made if there is none."""
        return open_store(self.file.path, agent_id=AGENT, quota=QUOTA, last_line=self.log.last_hash)

    def lose(self) -> None:
        """Have the memory file gone, and open what is there then."""
        self.store.close()
        for path in self.file.path.parent.glob(f"{self.file.path.name}*"):
            path.unlink()
        self.store = self.open_file()
        self.memory = self.open()

    def open(self, **changed: Any) -> AgentMemory:
        """Return a use of the memory."""
        arguments: dict[str, Any] = {
            "agent_id": AGENT,
            "agent_name": "formatter",
            "store": self.store,
            "audit": self.log,
            "telemetry": self.telemetry,
            "clock": self.clock,
            "quota": QUOTA,
            "policy": self.policy,
        }
        return AgentMemory(**(arguments | changed))

    def write(self, key: str, value: bytes = b"x", category: str = "CACHE", **policies: Any) -> None:
        """Write an entry as its gene."""
        self.memory.write(GENE, write_request(key, value, category, **policies))

    def delete(self, key: str) -> None:
        """Delete an entry as its gene."""
        self.memory.delete(GENE, delete_request(key))

    def refuse(self, memory: AgentMemory | None = None) -> None:
        """Have a read refused; lines of a run that wait are in the log then, too."""
        with pytest.raises(AccessDeniedError):
            (memory or self.memory).read(OTHER, read_request("a"))

    def lines(self) -> list[bytes]:
        """Return the lines of the log."""
        return self.path.read_bytes().splitlines(keepends=True)

    def spoil(self, change: Callable[[list[bytes]], Any]) -> None:
        """Change the lines of the log behind everybody's back."""
        lines = self.lines()
        change(lines)
        self.path.write_bytes(b"".join(lines))

    def proof(self, *older: Path) -> Proof:
        """Verify the log."""
        return verify_log((*older, self.path), [self.file])[1][AGENT]

    def problems(self, *older: Path) -> list[str]:
        """Return what keeps the log from proving the memory."""
        log, proofs = verify_log((*older, self.path), [self.file])
        return proofs[AGENT].problems(log.name)

    def check(self) -> AgentCheck:
        """Check all that must hold."""
        return check_agent(
            store=self.store,
            memory=self.open(),
            agent_id=AGENT,
            logs=[self.path],
            clock=self.clock,
            policy=self.policy,
        )


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """Give an agent without entries."""
    kept = Kept(tmp_path)
    yield kept
    kept.memory.rollback()
    kept.store.close()


@pytest.fixture
def busy(kept: Kept) -> Kept:
    """Give an agent with seven changes on seven lines, and a refusal on the fifth of eight."""
    for key in ("a", "b", "c"):
        kept.write(key)
    kept.write("a", b"22")
    kept.refuse()
    kept.delete("b")
    kept.write("d", b"333", "PATTERN")
    kept.write("c", b"")
    return kept
