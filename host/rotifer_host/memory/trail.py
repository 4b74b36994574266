"""The audit lines and telemetry events of an agent's memory.

memory-api.en.md, "What gets recorded".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from rotifer_host.audit import Action, Actor, AuditLine, AuditSink
from rotifer_host.clock import Clock, rfc3339
from rotifer_host.errors import (
    AccessDeniedError,
    AuditError,
    BudgetExhaustedError,
    HostCallError,
    LockTimeoutError,
    StorageError,
)
from rotifer_host.lock import Patience
from rotifer_host.memory.entry import Caller, Category, Record
from rotifer_host.telemetry import TelemetrySink

__all__ = ["Attempt", "Trail", "refused_outside_agent"]

_UNWRITABLE = (AuditError, LockTimeoutError, BudgetExhaustedError)


class Attempt(NamedTuple):
    """A gene's call on one entry."""

    operation: str
    """`readMemory`, …"""
    caller: Caller
    now_ms: int
    identity: bytes
    key: str


class Trail:
    """Writes what happens to one agent's memory; the caller is None where the deployer acts."""

    def __init__(
        self, *, agent_id: str, agent_name: str, audit: AuditSink, telemetry: TelemetrySink, clock: Clock
    ) -> None:
        self._agent_id = agent_id
        self._agent_name = agent_name
        self._audit = audit
        self._telemetry = telemetry
        self._clock = clock

    def line(self, action: Action, caller: Caller | None, now_ms: int, identity: bytes, record: Record) -> AuditLine:
        """Return the line for a change of `record`: as it will be, or as it was when it goes."""
        actor: Actor = "deployer" if caller is None else "gene"
        return AuditLine(
            ts=rfc3339(now_ms),
            agentId=self._agent_id,
            agent=self._agent_name,
            actor="host" if action in ("memory.evict", "memory.expire") else actor,
            geneId=None if caller is None else caller.gene_id,
            domain=None if caller is None else caller.domain,
            action=action,
            key=record.key,
            entryId=identity.hex(),
            category=record.category,
            bytes=record.size,
        )

    def append(self, lines: Sequence[AuditLine], patience: Patience, *, durable: bool) -> None:
        """Write all lines or none, on the disk when `durable`; raises `AuditError` or `LockTimeoutError`."""
        self._audit.append(lines, patience, durable=durable)

    def sync(self) -> None:
        """Bring every line to the disk; raises `AuditError`."""
        self._audit.sync()

    def refused(
        self, refusal: HostCallError, attempt: Attempt, patience: Patience, category: Category | None, size: int | None
    ) -> None:
        """Record a refused access or a write refused for space; a line that cannot be written changes nothing."""
        denied = isinstance(refusal, AccessDeniedError)
        gene_id = attempt.caller.gene_id
        line = AuditLine(
            ts=rfc3339(attempt.now_ms),
            agentId=self._agent_id,
            agent=self._agent_name,
            actor="gene",
            geneId=gene_id,
            domain=attempt.caller.domain,
            action="memory.deny" if denied else "memory.reject",
            key=attempt.key,
            entryId=attempt.identity.hex(),
            category=category,
            bytes=size,
            code=refusal.code,
            reason=f"{attempt.operation}: {refusal.message}",
        )
        _append_if_possible(self._audit, [line], patience)
        if denied:
            self._telemetry.access_denied(
                ts=line.ts, agent_id=self._agent_id, gene_id=gene_id, operation=attempt.operation
            )

    def aborted(self, lines: Sequence[AuditLine], patience: Patience) -> None:
        """Take back lines whose changes were not saved after all, as far as the log can be written."""
        if lines:
            now = rfc3339(self._clock.now_ms())
            _append_if_possible(
                self._audit,
                [
                    msgspec.structs.replace(
                        line,
                        ts=now,
                        action="memory.abort",
                        code=StorageError.code,
                        reason=f"{line.action} of {line.ts} was not saved",
                    )
                    for line in lines
                ],
                patience,
            )


def refused_outside_agent(  # noqa: PLR0913 - keywords, what an audit line needs
    *,
    audit: AuditSink,
    telemetry: TelemetrySink,
    clock: Clock,
    patience: Patience,
    agent_id: str | None,
    agent_name: str | None,
    gene_id: str | None,
    domain: str | None,
    operation: str,
) -> AccessDeniedError:
    """Record a memory call by a gene that has no agent or no v2 id, and return its refusal.

    memory-api.en.md, "Which genes can use memory".
    """
    if agent_id is None:
        refusal = AccessDeniedError("memory belongs to an agent, and this gene runs outside of any")
    else:
        refusal = AccessDeniedError("a gene needs a v2 id to use memory, and this gene has none")
    line = AuditLine(
        ts=rfc3339(clock.now_ms()),
        agentId=agent_id,
        agent=agent_name,
        actor="gene",
        geneId=gene_id,
        domain=domain,
        action="memory.deny",
        key=None,
        entryId=None,
        category=None,
        bytes=None,
        code=refusal.code,
        reason=f"{operation}: {refusal.message}",
    )
    _append_if_possible(audit, [line], patience)
    telemetry.access_denied(ts=line.ts, agent_id=agent_id, gene_id=gene_id, operation=operation)
    return refusal


def _append_if_possible(audit: AuditSink, lines: Sequence[AuditLine], patience: Patience) -> None:
    with suppress(*_UNWRITABLE):
        audit.append(lines, patience, durable=False)
