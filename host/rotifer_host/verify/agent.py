"""The check of one agent: its memory file, its audit lines, and one against the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rotifer_host.lock import Wait
from rotifer_host.memory.entry import Caller, Record
from rotifer_host.memory.request import QueryRequest, ReadRequest
from rotifer_host.memory.retention import is_expired
from rotifer_host.store.check import problems
from rotifer_host.store.protocol import Chain, DocumentName, Snapshot
from rotifer_host.text import counted
from rotifer_host.verify.chain import END, Proof, prove
from rotifer_host.verify.log import ReadLog, read_log
from rotifer_host.verify.order import Place
from rotifer_host.verify.replay import replay, replay_documents

if TYPE_CHECKING:
    from rotifer_host.clock import Clock
    from rotifer_host.memory import AgentMemory, DataPolicy
    from rotifer_host.store import Store

__all__ = ["AgentCheck", "MemoryFile", "check_agent", "check_without_memory", "verify_log"]


class AgentCheck(NamedTuple):
    """What was found; sound when there are no problems."""

    entries: int
    """Those that have not expired."""
    used: int
    """Their bytes of keys and values."""
    expired: int
    """Entries whose time is up and that are still to be removed."""
    problems: list[str]
    """Sentences."""
    proof: Proof
    torn: str | None
    """Where the log ends with what a crash, or a write going on, has left of a line."""


class MemoryFile(NamedTuple):
    """Where an agent's memory lies; there may be none yet."""

    agent_id: str
    path: Path
    open: Callable[[], Store]


class _State(NamedTuple):
    chain: Chain
    records: list[tuple[bytes, Record]]
    documents: list[tuple[DocumentName, int]]
    begun_below: bytes


def check_agent(  # noqa: PLR0913 - keywords: a memory, its log, and who reads it when
    *,
    store: Store,
    memory: AgentMemory,
    agent_id: str,
    logs: Sequence[Path],
    clock: Clock,
    policy: DataPolicy,
) -> AgentCheck:
    """Check all that must hold of an agent's memory, whatever happened to it; changes nothing.

    Every saved change has its line in the audit log before it, and every line can be
    read; counters and indexes are what the entries say; nothing expired is served or
    counted, though it is not removed yet. `logs` are the log's files, oldest first;
    `memory` is a use of `store` that holds no changes. Raises `StoreError` and
    `AuditError` for what cannot be read, `LockTimeoutError` when a run holds the memory.
    """
    still = store.begin(Wait())  # no change from here on: nothing is removed when it is asked for
    try:
        with store.snapshot() as snapshot:
            state = _state(snapshot, store.begun_below)
            found = problems(snapshot, agent_id)
        now_s = clock.now_ms() // 1000
        live: list[Record] = []
        gone: list[Record] = []
        for _, record in state.records:
            (gone if is_expired(record, now_s, policy) else live).append(record)
        used = sum(record.weight for record in live)
        found += _expired_seen(memory, used, gone)
        log = read_log(logs)
    finally:
        still.abort()
    proof = _prove(log, agent_id, state)
    found += proof.problems(log.name) + log.problems()
    return AgentCheck(len(live), used, len(gone), found, proof, log.torn_at)


def check_without_memory(agent_id: str, logs: Sequence[Path]) -> AgentCheck:
    """Check an agent that has no memory file: there must be no changes on record. Raises `AuditError`."""
    log = read_log(logs)
    proof = _prove(log, agent_id, None)
    return AgentCheck(0, 0, 0, proof.problems(log.name) + log.problems(), proof, log.torn_at)


def verify_log(logs: Sequence[Path], memories: Iterable[MemoryFile]) -> tuple[ReadLog, dict[str, Proof]]:
    """Prove memories by the files of the log, oldest first; gives a proof by agent id.

    Changes nothing, and can be used beside runs. Raises `StoreError` and `AuditError`
    for what cannot be read.
    """
    states = {memory.agent_id: _read(memory) for memory in memories}
    log = read_log(logs)  # after the memories: so it holds all lines of what they hold
    return log, {agent_id: _prove(log, agent_id, state) for agent_id, state in states.items()}


def _read(memory: MemoryFile) -> _State | None:
    if not memory.path.exists():
        return None
    with memory.open() as store, store.snapshot() as snapshot:
        return _state(snapshot, store.begun_below)


def _state(snapshot: Snapshot, begun_below: bytes) -> _State:
    return _State(snapshot.chain(), list(snapshot.records()), list(snapshot.documents()), begun_below)


def _prove(log: ReadLog, agent_id: str, state: _State | None) -> Proof:
    lines = log.by_agent.get(agent_id, ())
    if state is None:
        return prove(lines, Chain(), END)
    begun_below = log.order.hashes.get(state.begun_below.hex(), Place(0, 0))  # nothing of a log that is not there
    proof = prove(lines, state.chain, begun_below)
    if state.chain.seen and state.chain.seen.hex() not in log.order.hashes:
        proof.contradictions.append("the log ends before a line that the memory saw in it, or that line was changed")
    whole = not (proof.missing or proof.changed)
    proof.contradictions += replay(proof.changes, state.records, log.name, whole=whole)
    proof.contradictions += replay_documents(proof.changes, state.documents, whole=whole)
    return proof


def _expired_seen(memory: AgentMemory, used: int, gone: Sequence[Record]) -> list[str]:
    """Ask for what has expired on every path there is, each as the gene that may see it."""
    listing = memory.list()
    keys = {record.key for record in gone}
    found = [f"the expired entry {entry.key!a} is listed" for entry in listing.entries if entry.key in keys]
    if listing.used != used:
        found.append(f"{counted(listing.used, 'byte')} counted as used, a recount gives {used}")
    for record in gone:
        creator = Caller(record.created_by, record.domain)
        if memory.read(creator, ReadRequest(record.key)) != b"null":
            found.append(f"the expired entry {record.key!a} is served")
        first = msgspec.json.decode(memory.query(creator, QueryRequest(key_prefix=record.key, limit=1)))
        if first and first[0]["key"] in keys:
            found.append(f"the expired entry {record.key!a} is found by a query")
    return found
