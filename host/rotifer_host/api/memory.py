"""An agent's memory outside of runs: as one of its genes, and as its deployer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from rotifer_host.agent.reach import know_genes, reachable
from rotifer_host.errors import UsageError
from rotifer_host.memory import (
    Caller,
    delete_request,
    parse_entries,
    parse_entry,
    query_request,
    read_request,
    stored_entry,
    write_request,
)

if TYPE_CHECKING:
    from rotifer_host.agent.stats import MemoryStats
    from rotifer_host.api.agent import Agent
    from rotifer_host.memory import AccessPolicy, Category, Listing, MemoryEntry, RetentionPolicy
    from rotifer_host.verify import AgentCheck

__all__ = ["DeployerMemory", "GeneMemory"]


class GeneMemory:
    """An agent's memory, acting as one of its genes: the four calls, under every rule.

    Each call stands on its own. They raise `HostCallError` of the kinds in
    memory-api.en.md, "Errors", and `LockTimeoutError` when another process holds the
    memory for more than 10 s.
    """

    def __init__(self, agent: Agent, caller: Caller) -> None:
        self._agent = agent
        self._caller = caller

    def read(self, key: str, category: Category | None = None) -> MemoryEntry | None:
        """Return the entry of `key`, or None; with `category` only if it is of that category."""
        request = read_request(key, category)
        with self._agent._opened() as memory:
            return parse_entry(memory.read(self._caller, request))

    def write(
        self,
        key: str,
        value: bytes,
        category: Category,
        access_policy: AccessPolicy | None = None,
        retention_policy: RetentionPolicy | UnsetType | None = UNSET,
    ) -> MemoryEntry:
        """Create or replace the entry of `key` and return it as stored.

        `retention_policy` left out (`UNSET`) keeps what is stored; None makes the entry
        follow the agent's data policy.
        """
        request = write_request(key, value, category, access_policy, retention_policy)
        with self._agent._opened() as memory:
            return stored_entry(memory.write(self._caller, request))

    def query(
        self,
        *,
        category: Category | None = None,
        key_prefix: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> list[MemoryEntry]:
        """Return the readable entries that match all given filters, most recently updated first.

        `since` (inclusive) and `until` (exclusive) are RFC 3339; `limit` is 1 to 1000, default 100.
        """
        request = query_request(category=category, key_prefix=key_prefix, since=since, until=until, limit=limit)
        with self._agent._opened() as memory:
            return parse_entries(memory.query(self._caller, request))

    def delete(self, key: str) -> None:
        """Delete the entry of `key`. Raises `NotFoundError` when there is none."""
        request = delete_request(key)
        with self._agent._opened() as memory:
            memory.delete(self._caller, request)


class DeployerMemory:
    """An agent's memory as its deployer sees it: not bound by access policies, and writing none."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def list(self, category: Category | None = None) -> Listing:
        """Return used bytes, quota, and every entry without its value."""
        agent = self._agent
        genes = know_genes(agent._project._folder, agent._record.all_genes)
        with agent._opened() as memory:
            return memory.list(category, reachable=lambda record: reachable(record, genes))

    def stats(self) -> MemoryStats:
        """Count the entries by category, creator, age and expiry, and say what would be evicted next; changes nothing.

        Raises `StoreError`.
        """
        from rotifer_host.agent.stats import memory_stats  # noqa: PLC0415 - a run needs none of it

        agent = self._agent
        project = agent._project
        with agent._open_store() as store, store.snapshot() as snapshot:
            return memory_stats(
                snapshot,
                quota=agent.quota,
                policy=agent.data_policy,
                genes=know_genes(project._folder, agent._record.all_genes),
                now_ms=project._clock.now_ms(),
            )

    def check(self, *, older: Sequence[Path] = ()) -> AgentCheck:
        """Check the memory file and what the audit log says of it; changes nothing.

        `older` names files the log was moved to, the oldest first. Raises `StoreError`
        and `AuditError` for what cannot be read, `LockTimeoutError` when a run holds the
        memory for more than 10 s.
        """
        from rotifer_host.verify import check_agent, check_without_memory  # noqa: PLC0415 - a run needs none of it

        agent = self._agent
        project = agent._project
        logs = (*older, project.audit_path)
        if not project._folder.memory_path(agent.id).exists():
            return check_without_memory(agent.id, logs)
        with agent._open_store(distrusted=True) as store:
            return check_agent(
                store=store,
                memory=agent._memory(store),
                agent_id=agent.id,
                logs=logs,
                clock=project._clock,
                policy=agent.data_policy,
            )

    def delete(self, *, key: str | None = None, category: Category | None = None) -> int:
        """Delete one entry by key or all of a category, and return how many went.

        Give exactly one. Raises `UsageError` otherwise, `NotFoundError` for a key that does not exist.
        """
        if (key is None) == (category is None):
            raise UsageError("give exactly one of key and category")
        with self._agent._opened() as memory:
            return memory.delete_as_deployer(key=key, category=category)
