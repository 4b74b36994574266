"""May a gene read, write or delete an entry, and by which rule: the rules asked without doing anything.

memory-api.en.md, "Access scopes", "Quota and cleanup" and "How long entries are kept".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from rotifer_host import contract
from rotifer_host.clock import rfc3339
from rotifer_host.errors import AccessDeniedError, HostCallError, NotFoundError, QuotaExceededError
from rotifer_host.memory.entry import (
    AccessPolicy,
    Caller,
    Category,
    DataPolicy,
    Record,
    RetentionPolicy,
    Scope,
    entry_id,
)
from rotifer_host.memory.policy import access_for_write, check_read, check_write
from rotifer_host.memory.quota import entry_limit, shortage
from rotifer_host.memory.retention import is_expired, retention_for_write
from rotifer_host.text import counted

if TYPE_CHECKING:
    from rotifer_host.agent.reach import KnownGene
    from rotifer_host.store.protocol import Snapshot, Totals

__all__ = ["EntryFacts", "Explanation", "Room", "Verdict", "explain", "live_totals"]

_EVERYTHING: Final = 1 << 40
_OPEN: Final = AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE")
_CLOSED: Final = AccessPolicy("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY", "PRIVATE")
_ONE_DAY: Final = RetentionPolicy(maxRetentionDays=1, autoDeleteOnTermination=False, anonymizationSupported=False)


class Verdict(msgspec.Struct, frozen=True):
    """What would come of a call."""

    allowed: bool
    rule: str
    """The rule that decides, in a sentence."""
    code: str | None = None
    """`MEMORY_…` of the refusal; None when it is allowed."""


class EntryFacts(msgspec.Struct, frozen=True, rename="camel"):
    """What the rules ask of a stored entry; never its value."""

    category: Category
    size: int
    """Raw bytes of the value."""
    created_by: str
    created_in: str
    """The domain its creator had then."""
    created_at: str
    updated_at: str
    access_policy: AccessPolicy
    retention_policy: RetentionPolicy | None
    expires_at: str | None
    """RFC 3339; None for never."""


class Room(msgspec.Struct, frozen=True, rename="camel"):
    """What fits under the key; sizes in bytes, of values without their key."""

    used: int
    quota: int
    entries: int
    entry_limit: int
    largest_value: int | None
    """The largest value that can be written, evicting all that may be evicted; None when not even an empty one."""
    largest_without_eviction: int | None


class Explanation(msgspec.Struct, frozen=True, rename="camel"):
    """Whether a gene may use a key, and why."""

    agent: str
    gene: str
    gene_id: str | None
    domain: str | None
    in_genome: bool
    key: str
    entry: EntryFacts | None
    """None when there is none, or it has expired."""
    read: Verdict
    write: Verdict
    """Of a write without policies: it creates the entry, or replaces its value."""
    delete: Verdict
    change_access_policy: Verdict
    change_retention_policy: Verdict
    kept: str
    """How long what is written now is kept, in words."""
    room: Room

    def to_json(self) -> dict[str, Any]:
        """Return the document of `rotifer agent explain --json`, version 1."""
        members: dict[str, Any] = msgspec.to_builtins(self)
        return {"v": contract.FORMAT_VERSION, **members}


def explain(  # noqa: PLR0913 - keywords: whose memory, which gene, which key, when
    snapshot: Snapshot,
    *,
    agent_id: str,
    agent: str,
    gene: KnownGene,
    in_genome: bool,
    key: str,
    quota: int,
    policy: DataPolicy,
    now_s: int,
) -> Explanation:
    """Ask every rule what it would say; `key` is one that is allowed."""
    record = snapshot.get(entry_id(agent_id, key))
    if record is not None and is_expired(record, now_s, policy):
        record = None
    totals = live_totals(snapshot, now_s, policy)
    room = _room(totals, len(key.encode()), record, quota)
    if gene.gene_id is None or gene.domain is None:
        lacking = f"a gene needs a v2 id to use memory, and this one has none: {gene.problem}"
        refused = Verdict(allowed=False, rule=lacking, code=AccessDeniedError.code)
        read = write = delete = access = retention = refused
    else:
        caller = Caller(gene.gene_id, gene.domain)
        read = _read(caller, record)
        write = _write(caller, record, room)
        delete = _delete(caller, record)
        access = _change(write, lambda: access_for_write(_another_access(record), record, caller, policy))
        retention = _change(write, lambda: retention_for_write(_another_retention(record), record, caller, policy))
    return Explanation(
        agent=agent,
        gene=gene.name,
        gene_id=gene.gene_id,
        domain=gene.domain,
        in_genome=in_genome,
        key=key,
        entry=None if record is None else _facts(record, policy),
        read=read,
        write=write,
        delete=delete,
        change_access_policy=access,
        change_retention_policy=retention,
        kept=_kept(record, policy),
        room=room,
    )


def live_totals(snapshot: Snapshot, now_s: int, policy: DataPolicy) -> Totals:
    """Return the counters without what has expired and is still to be removed."""
    totals = snapshot.totals()
    for expiry in snapshot.expired(now_s, policy, _EVERYTHING):
        totals = totals.after(snapshot.get(expiry.identity), None)
    return totals


def _read(caller: Caller, record: Record | None) -> Verdict:
    if record is None:
        return Verdict(allowed=True, rule="there is no entry with this key: readMemory answers null")
    return _asked(lambda: check_read(caller, record), "readScope", record.access.readScope, record)


def _write(caller: Caller, record: Record | None, room: Room) -> Verdict:
    if record is None:
        verdict = Verdict(allowed=True, rule="any gene of the agent may create an entry; this one would be its creator")
    else:
        verdict = _asked(lambda: check_write(caller, record), "writeScope", record.access.writeScope, record)
    if verdict.allowed and room.largest_value is None:
        full = "memory is full: not even an empty value fits, whatever is evicted"
        return Verdict(allowed=False, rule=full, code=QuotaExceededError.code)
    return verdict


def _delete(caller: Caller, record: Record | None) -> Verdict:
    if record is None:
        return Verdict(allowed=False, rule="there is no entry with this key", code=NotFoundError.code)
    return _asked(lambda: check_write(caller, record), "writeScope", record.access.writeScope, record)


def _change(write: Verdict, ask: Callable[[], object]) -> Verdict:
    """Judge a write that brings another policy."""
    if not write.allowed:
        return write
    try:
        ask()
    except HostCallError as refusal:
        return Verdict(allowed=False, rule=refusal.message, code=refusal.code)
    return Verdict(allowed=True, rule="the creator of an entry chooses its policies, within the agent's data policy")


def _asked(check: Callable[[], None], member: str, scope: Scope, record: Record) -> Verdict:
    who = {
        "CREATOR_GENE_ONLY": f"its creator is {record.created_by}",
        "SAME_DOMAIN": f"its creator's domain is {record.domain}",
        "ALL_GENES": "every gene of the agent is let in",
        "DEPLOYER_CONFIGURED": "the data policy has no setting for it yet",
    }[scope]
    try:
        check()
    except HostCallError as refusal:
        return Verdict(allowed=False, rule=f"{refusal.message}: {who}", code=refusal.code)
    return Verdict(allowed=True, rule=f"the entry's {member} is {scope}: {who}")


def _another_access(record: Record | None) -> AccessPolicy:
    return _CLOSED if record is not None and record.access == _OPEN else _OPEN


def _another_retention(record: Record | None) -> RetentionPolicy | None:
    """One no data policy finds too long."""
    return None if record is not None and record.retention == _ONE_DAY else _ONE_DAY


def _facts(record: Record, policy: DataPolicy) -> EntryFacts:
    second = record.expires_at(policy)
    return EntryFacts(
        category=record.category,
        size=record.size,
        created_by=record.created_by,
        created_in=record.domain,
        created_at=rfc3339(record.created_ms),
        updated_at=rfc3339(record.updated_ms),
        access_policy=record.access,
        retention_policy=record.retention,
        expires_at=None if second is None else rfc3339(second * 1000),
    )


def _kept(record: Record | None, policy: DataPolicy) -> str:
    retention = None if record is None else record.retention
    days = policy.maxRetentionDays if retention is None else retention.maxRetentionDays
    whose = "the agent's data policy" if retention is None else "the entry's own retention policy"
    return f"for ever, by {whose}" if days is None else f"{counted(days, 'day')} from each write, by {whose}"


def _room(totals: Totals, key_bytes: int, old: Record | None, quota: int) -> Room:
    sizes = range(contract.MAX_VALUE_BYTES + 1)

    def too_large(size: int) -> bool:
        try:
            shortage(totals, key_bytes + size, old, quota)
        except QuotaExceededError:
            return True
        return False

    most = bisect_left(sizes, x=True, key=too_large)
    evicts = bisect_left(
        sizes[:most], x=True, key=lambda size: not shortage(totals, key_bytes + size, old, quota).nothing
    )
    return Room(
        used=totals.used,
        quota=quota,
        entries=totals.entries,
        entry_limit=entry_limit(quota),
        largest_value=most - 1 if most else None,
        largest_without_eviction=evicts - 1 if evicts else None,
    )
