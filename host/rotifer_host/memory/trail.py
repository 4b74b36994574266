"""The audit lines and telemetry events of an agent's memory.

memory-api.en.md, "What gets recorded".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from rotifer_host import contract
from rotifer_host.audit import Action, AuditLine, AuditSink, append_if_possible, noted, take_back
from rotifer_host.clock import Clock, rfc3339
from rotifer_host.errors import AccessDeniedError, HostCallError
from rotifer_host.lock import Patience
from rotifer_host.memory.entry import Caller, Category, Record, key_json
from rotifer_host.store.protocol import Chain
from rotifer_host.telemetry import TelemetrySink

__all__ = ["Announced", "Attempt", "Changed", "Trail", "refused_outside_agent"]

_REMEMBERED_MEMBERS: Final = 256
_HOST_ACTIONS: Final = ("memory.evict", "memory.expire", *contract.TURN_ACTIONS)


class Changed(NamedTuple):
    """A document that changes."""

    key: str
    """Its name."""
    size: int | None
    """Its bytes from now on, None when it goes."""


Announced = tuple[Action, bytes, Record] | tuple[str, None, Changed]
"""A change to one entry: what is done, the entry's id, and the record as it will be, or as it was when it goes.

Or to a document, which has no entry id.
"""


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
        self, agent_id: str, agent_name: str, audit: AuditSink, telemetry: TelemetrySink, clock: Clock
    ) -> None:
        self._agent_id = agent_id
        self._agent_name = agent_name
        self._audit = audit
        self.append = audit.append
        """`AuditSink.append`: writes the lines of changes, all or none."""
        self._telemetry = telemetry
        self._clock = clock
        self.unwitnessed = False
        """Whether lines were written here that change nothing: the memory knows nothing of them yet."""

    def lines(self, count: int, caller: Caller | None, now_ms: int, changes: Sequence[Announced]) -> list[bytes]:
        """Return the line of each change, to come after `count` others, as `append` takes them."""
        start_of_all = f'{{"v":{contract.FORMAT_VERSION},"ts":"{rfc3339(now_ms)}",'
        lines = []
        for action, identity, record in changes:
            count += 1
            start = f"{start_of_all}{self.members(action, caller)}{key_json(record.key)}"
            if identity is not None and isinstance(record, Record):
                entry = f'"entryId":"{identity.hex()}","category":"{record.category}","bytes":{record.size}'
            else:
                size = "null" if record.size is None else record.size
                entry = f'"entryId":null,"category":null,"bytes":{size}'
            lines.append(f'{start},{entry},"seq":{count}}}'.encode())
        return lines

    def sync(self) -> None:
        """Bring every line to the disk; raises `AuditError`."""
        self._audit.sync()

    def witness(self, patience: Patience) -> bytes:
        """Return what stands for all lines up to now, which are on the disk then; raises what `append` does."""
        last = self._audit.witness(patience)
        self.unwitnessed = False
        return last

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
        self.unwitnessed |= append_if_possible(self._audit, [line], patience)
        if denied:
            self._telemetry.access_denied(
                ts=line.ts, agent_id=self._agent_id, gene_id=gene_id, operation=attempt.operation
            )

    @contextmanager
    def noted(  # noqa: PLR0913 - what is done, and by whom
        self,
        action: str,
        key: str,
        size: int | None,
        *,
        caller: Caller | None,
        now_ms: int,
        patience: Patience,
        chain: Chain | None,
    ) -> Iterator[None]:
        """Record what a host module does outside the memory in the block; take it back when the block raises.

        The line is on the disk before the block begins. Raises `AuditError` or `LockTimeoutError`.
        """
        line = AuditLine(
            ts=rfc3339(now_ms),
            agentId=self._agent_id,
            agent=self._agent_name,
            actor="deployer" if caller is None else "gene",
            geneId=None if caller is None else caller.gene_id,
            domain=None if caller is None else caller.domain,
            action=action,
            key=key,
            entryId=None,
            category=None,
            bytes=size,
            prev=msgspec.UNSET if chain is None else chain.head.hex() or None,
        )
        self.unwitnessed = True
        with noted(self._audit, line, patience, self._clock):
            yield

    def aborted(self, lines: Sequence[bytes], patience: Patience) -> None:
        """Take back lines whose changes were not saved after all, as far as the log can be written."""
        self.unwitnessed |= take_back(self._audit, lines, patience, self._clock)

    def members(self, action: str, caller: Caller | None) -> str:
        """Return the members from `agentId` to `action`, which are the same in many lines, and the name of the next."""
        return _members(self._agent_id, self._agent_name, action, caller)


@lru_cache(_REMEMBERED_MEMBERS)
def _members(agent_id: str, agent_name: str, action: str, caller: Caller | None) -> str:
    actor = "deployer" if caller is None else "gene"
    members = {
        "agentId": agent_id,
        "agent": agent_name,
        "actor": "host" if action in _HOST_ACTIONS else actor,
        "geneId": None if caller is None else caller.gene_id,
        "domain": None if caller is None else caller.domain,
        "action": action,
    }
    return f'{msgspec.json.encode(members)[1:-1].decode()},"key":'


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
    append_if_possible(audit, [line], patience)
    telemetry.access_denied(ts=line.ts, agent_id=agent_id, gene_id=gene_id, operation=operation)
    return refusal
