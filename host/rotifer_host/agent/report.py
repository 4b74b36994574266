"""What a run reports: the document of `rotifer run --json` and `rotifer agent run --json`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from rotifer_host import contract
from rotifer_host.turn_memory.report import TurnReport

__all__ = ["CallReport", "GeneReport", "RunError", "RunResult", "Status"]

Status = Literal["ok", "rejected", "failed", "limit"]

_EXIT_STATUS = {
    "ok": contract.EXIT_OK,
    "rejected": contract.EXIT_FAILED,
    "failed": contract.EXIT_FAILED,
    "limit": contract.EXIT_LIMIT,
}


class RunError(msgspec.Struct, frozen=True):
    """Why a run did not end with an output."""

    code: str
    """`TRAP`, `FUEL_EXHAUSTED`, `INVALID_INPUT` for a rejection, …"""
    message: str
    backtrace: tuple[str, ...] = ()
    """The guest's frames by function name, innermost first; empty where there is none."""

    def to_json(self) -> dict[str, str]:
        """Return it as it stands in the run document."""
        return {"code": self.code, "message": self.message}


class CallReport(msgspec.Struct, frozen=True):
    """All calls of one host function by one gene."""

    count: int
    errors: dict[int, int]
    """How often each negative result was returned."""
    bytes_in: int
    """Request bytes, from guest to host."""
    bytes_out: int
    """Response bytes, from host to guest."""
    micros: float


class GeneReport(msgspec.Struct, frozen=True):
    """One gene of a run."""

    name: str
    gene_id: str | None
    status: Status
    duration_ms: float
    fuel: int
    """Fuel used, what host calls charged included; 0, and `null` in the document, where none could be counted.

    That is a gene that ran on Node.js, or that was stopped before its first host call.
    """
    peak_memory_bytes: int
    host_calls: dict[str, CallReport]
    denied: int
    evicted: int
    expired: int
    log: str
    """As far as it is kept: 64 KiB, like `stderr`."""
    stderr: str
    log_dropped: int = 0
    """Bytes of the log that were not kept."""
    stderr_dropped: int = 0
    error: RunError | None = None
    """Why the gene did not end `ok`; not always the run's error: another branch may have given the output."""

    def to_json(self) -> dict[str, Any]:
        """Return the gene's part of the run document."""
        return {
            "name": self.name,
            "geneId": self.gene_id,
            "status": self.status,
            "durationMs": round(self.duration_ms, 3),
            "fuel": self.fuel or None,
            "peakMemoryBytes": self.peak_memory_bytes,
            "hostCalls": {
                name: {
                    "count": calls.count,
                    "errors": {str(result): times for result, times in sorted(calls.errors.items(), reverse=True)},
                    "bytesIn": calls.bytes_in,
                    "bytesOut": calls.bytes_out,
                    "micros": round(calls.micros, 1),
                }
                for name, calls in self.host_calls.items()
            },
            "denied": self.denied,
            "evicted": self.evicted,
            "expired": self.expired,
            "log": self.log,
            "stderr": self.stderr,
            "logDropped": self.log_dropped,
            "stderrDropped": self.stderr_dropped,
            "error": None if self.error is None else self.error.to_json(),
        }


class RunResult(msgspec.Struct, frozen=True):
    """One run of an agent, or of one gene on its own (then `agent` and `agent_id` are None)."""

    status: Status
    output: Any
    """The output as a JSON value; None unless `status` is `ok` (and when the output is `null`)."""
    error: RunError | None
    agent: str | None
    agent_id: str | None
    composition: str | None
    call_path: str
    """How host calls reached Python: `native`, `raw` or `plain`."""
    duration_ms: float
    genes: tuple[GeneReport, ...] = ()
    """In the order of their places in the composition, whatever the order they ended in; only those that ran.

    After them the gene that writes the diary, when it did.
    """
    warnings: tuple[str, ...] = ()
    """What was not as asked for: genes of a `Par` that ran one after another."""
    turn: TurnReport | None = None
    """What the agent's turn memory did, None where it has none."""

    @property
    def exit_status(self) -> int:
        """The exit status of the command line: 0 ok, 1 failed or rejected, 3 a limit was hit."""
        return _EXIT_STATUS[self.status]

    def to_json(self) -> dict[str, Any]:
        """Return the run document, version 1."""
        return {
            "v": contract.FORMAT_VERSION,
            "status": self.status,
            "output": self.output,
            "error": None if self.error is None else self.error.to_json(),
            "agent": self.agent,
            "agentId": self.agent_id,
            "composition": self.composition,
            "callPath": self.call_path,
            "durationMs": round(self.duration_ms, 3),
            "genes": [gene.to_json() for gene in self.genes],
            "warnings": list(self.warnings),
            "turn": None if self.turn is None else self.turn.to_json(),
        }
