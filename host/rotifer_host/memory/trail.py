"""The audit lines and telemetry events of an agent's memory.

memory-api.en.md, "What gets recorded".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec
import orjson

from rotifer_host import contract
from rotifer_host.audit import Action, AuditLine, AuditSink, decode_line, encode_line, line_hash
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
from rotifer_host.store.protocol import Chain
from rotifer_host.telemetry import TelemetrySink

__all__ = ["Announced", "Attempt", "Trail", "refused_outside_agent"]

_HOST_ACTIONS: Final = ("memory.evict", "memory.expire")

_UNWRITABLE = (AuditError, LockTimeoutError, BudgetExhaustedError)


class Announced(NamedTuple):
    """A change to one entry."""

    action: Action
    identity: bytes
    record: Record
    """As it will be, or as it was when it goes."""


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
        self._constants: dict[tuple[Action, Caller | None], str] = {}

    def lines(
        self, chain: Chain, caller: Caller | None, now_ms: int, changes: Sequence[Announced]
    ) -> tuple[list[bytes], Chain]:
        """Return the line of each change, which go on from `chain`, and where they end."""
        lines = []
        count, head = chain
        ts = rfc3339(now_ms)
        for action, identity, record in changes:
            count += 1
            prev = f'"{head.hex()}"' if head else "null"
            line = (
                f'{{"v":{contract.FORMAT_VERSION},"ts":"{ts}",{self._constant(action, caller)},'
                f'"key":{orjson.dumps(record.key).decode()},"entryId":"{identity.hex()}","category":"{record.category}",'
                f'"bytes":{record.size},"seq":{count},"prev":{prev}}}'
            ).encode()
            head = line_hash(line).digest()
            lines.append(line)
        return lines, Chain(count, head)

    def append(self, lines: Sequence[bytes], patience: Patience, *, durable: bool, held: bool = False) -> None:
        """Write all lines or none, on the disk when `durable`; raises `AuditError` or `LockTimeoutError`."""
        self._audit.append(lines, patience, durable=durable, held=held)

    def sync(self) -> None:
        """Bring every line to the disk; raises `AuditError`."""
        self._audit.sync()

    def refused(  # noqa: PLR0913, PLR0917 - what happened, and what it was about
        self,
        refusal: HostCallError,
        attempt: Attempt,
        patience: Patience,
        chain: Chain | None,
        category: Category | None,
        size: int | None,
    ) -> None:
        """Record a refused access or a write refused for space; a line that cannot be written changes nothing.

        `chain` is where the agent's changes stand, None when the store cannot say.
        """
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
            prev=msgspec.UNSET if chain is None else chain.head.hex() or None,
        )
        _append_if_possible(self._audit, [line], patience)
        if denied:
            self._telemetry.access_denied(
                ts=line.ts, agent_id=self._agent_id, gene_id=gene_id, operation=attempt.operation
            )

    def aborted(self, lines: Sequence[bytes], patience: Patience) -> None:
        """Take back lines whose changes were not saved after all, as far as the log can be written."""
        if lines:
            now = rfc3339(self._clock.now_ms())
            _append_if_possible(self._audit, [_abort(line, now) for line in lines], patience)

    def _constant(self, action: Action, caller: Caller | None) -> str:
        """Return the members from `agentId` to `action`, which are the same in many lines."""
        known = self._constants.get((action, caller))
        if known is None:
            actor = "deployer" if caller is None else "gene"
            members = {
                "agentId": self._agent_id,
                "agent": self._agent_name,
                "actor": "host" if action in _HOST_ACTIONS else actor,
                "geneId": None if caller is None else caller.gene_id,
                "domain": None if caller is None else caller.domain,
                "action": action,
            }
            known = self._constants[action, caller] = msgspec.json.encode(members)[1:-1].decode()
        return known


def _abort(line: bytes, now: str) -> AuditLine:
    taken_back = decode_line(line)
    return msgspec.structs.replace(
        taken_back,
        ts=now,
        action="memory.abort",
        code=StorageError.code,
        reason=f"{taken_back.action} of {taken_back.ts} was not saved",
        seq=msgspec.UNSET,
        prev=line_hash(line).hexdigest(),
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
        audit.append([encode_line(line) for line in lines], patience, durable=False)
