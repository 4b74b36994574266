"""What an agent's memory is made of, and what would go first when it is full.

memory-api.en.md, "Quota and cleanup" and "How long entries are kept".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from rotifer_host import contract
from rotifer_host.agent.explain import live_totals
from rotifer_host.agent.reach import KnownGene, reachable
from rotifer_host.clock import rfc3339
from rotifer_host.memory.entry import Category, DataPolicy, Record
from rotifer_host.memory.quota import entry_limit, evictable
from rotifer_host.memory.retention import is_expired

if TYPE_CHECKING:
    from rotifer_host.store.protocol import Snapshot

__all__ = ["CreatorShare", "MemoryStats", "NextEvicted", "Share", "memory_stats"]

_SHOWN_VICTIMS: Final = 10
_DAY: Final = contract.SECONDS_PER_DAY
_SPANS: Final = (("1 day", _DAY), ("7 days", 7 * _DAY), ("30 days", 30 * _DAY), ("365 days", 365 * _DAY))
_NEVER: Final = "never"


class Share(msgspec.Struct):
    """A part of the entries."""

    entries: int = 0
    bytes: int = 0
    """Of keys and values, as the quota counts them."""

    def add(self, record: Record) -> None:
        """Count an entry."""
        self.entries += 1
        self.bytes += record.weight


class CreatorShare(Share, rename="camel"):
    """The entries one version of a gene created."""

    gene_id: str = ""
    domain: str = ""
    genes: tuple[str, ...] = ()
    """Names of the genes of the genome that have this v2 id now; empty when it is an earlier version's."""


class NextEvicted(msgspec.Struct, frozen=True, rename="camel"):
    """An entry that would be removed to make room."""

    key: str
    category: Category
    bytes: int
    updated_at: str


class MemoryStats(msgspec.Struct, frozen=True, rename="camel"):
    """An agent's memory in numbers; what has expired is not counted."""

    used: int
    quota: int
    entries: int
    entry_limit: int
    evictable: Share
    """What a write may push out: everything but `PREFERENCE`."""
    unreachable: Share
    """What no gene of the agent can read, change or delete any more."""
    categories: dict[str, Share]
    creators: tuple[CreatorShare, ...]
    """The largest first."""
    ages: dict[str, Share]
    """By time since the last change: under `1 day`, `7 days`, `30 days`, `365 days`, or `older`."""
    expiries: dict[str, Share]
    """By time until it expires: within as many, `later`, or `never`."""
    next_expiry: str | None
    """RFC 3339."""
    next_evicted: tuple[NextEvicted, ...]
    """The first ten, in the order they would go."""

    def to_json(self) -> dict[str, Any]:
        """Return the members as `rotifer agent memory stats --json` has them."""
        members: dict[str, Any] = msgspec.to_builtins(self)
        return members


def memory_stats(
    snapshot: Snapshot, *, quota: int, policy: DataPolicy, genes: Sequence[KnownGene], now_ms: int
) -> MemoryStats:
    """Count everything there is in one walk; changes nothing."""
    now_s = now_ms // 1000
    totals = live_totals(snapshot, now_s, policy)
    categories = {category: Share() for category in contract.CATEGORIES}
    creators: dict[str, CreatorShare] = {}
    ages = {name: Share() for name in (*(name for name, _ in _SPANS), "older")}
    expiries = {name: Share() for name in (*(name for name, _ in _SPANS), "later", _NEVER)}
    unreachable, soonest = Share(), None
    for _, record in snapshot.records():
        if is_expired(record, now_s, policy):
            continue
        categories[record.category].add(record)
        if record.created_by not in creators:
            names = tuple(gene.name for gene in genes if gene.gene_id == record.created_by)
            creators[record.created_by] = CreatorShare(gene_id=record.created_by, domain=record.domain, genes=names)
        creators[record.created_by].add(record)
        ages[_span(now_s - record.updated_ms // 1000, "older")].add(record)
        second = record.expires_at(policy)
        expiries[_NEVER if second is None else _span(second - now_s, "later")].add(record)
        if second is not None:
            soonest = second if soonest is None else min(second, soonest)
        if reachable(record, genes) is False:
            unreachable.add(record)
    victims = (record for _, record in evictable(snapshot) if not is_expired(record, now_s, policy))
    going = [totals.of(category) for category in contract.EVICTION_ORDER]
    return MemoryStats(
        used=totals.used,
        quota=quota,
        entries=totals.entries,
        entry_limit=entry_limit(quota),
        evictable=Share(sum(tally.entries for tally in going), sum(tally.used for tally in going)),
        unreachable=unreachable,
        categories=categories,
        creators=tuple(sorted(creators.values(), key=lambda share: (-share.bytes, share.gene_id))),
        ages=ages,
        expiries=expiries,
        next_expiry=None if soonest is None else rfc3339(soonest * 1000),
        next_evicted=tuple(
            NextEvicted(record.key, record.category, record.weight, rfc3339(record.updated_ms))
            for record in islice(victims, _SHOWN_VICTIMS)
        ),
    )


def _span(seconds: int, beyond: str) -> str:
    return next((name for name, longest in _SPANS if seconds < longest), beyond)
