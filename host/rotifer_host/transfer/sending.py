"""Writing an agent into a file.

memory-api.en.md, "Moving an agent".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

import rotifer_host
from rotifer_host.clock import rfc3339
from rotifer_host.memory.retention import is_expired
from rotifer_host.transfer.lines import GeneLine, Head, LineWriter
from rotifer_host.transfer.order import in_order

if TYPE_CHECKING:
    from rotifer_host.agent.reach import KnownGene
    from rotifer_host.agent.record import AgentRecord
    from rotifer_host.store.protocol import Snapshot

__all__ = ["Exported", "send"]


class Exported(NamedTuple):
    """What was written."""

    entries: int
    bytes: int
    """Of keys and values."""
    left_behind: int
    """`CACHE` entries that stayed."""
    documents: tuple[str, ...]
    """What host modules and turn memory keep for the agent, as `json/memory`: it stayed."""


def send(  # noqa: PLR0913 - keywords: whom, where to, and what of it
    snapshot: Snapshot,
    stream: BinaryIO,
    *,
    name: str,
    record: AgentRecord,
    genes: Sequence[KnownGene],
    with_cache: bool,
    now_ms: int,
) -> Exported:
    """Write the agent as `snapshot` shows it, in bounded memory; what has expired stays behind.

    `name` is what errors call the stream. Raises `TransferError`, `StoreError`.
    """
    now_s = now_ms // 1000
    writer = LineWriter(stream, name)
    writer.head(
        Head(
            made_by=f"rotifer-host {rotifer_host.__version__}",
            exported_at=rfc3339(now_ms),
            cache=with_cache,
            agent=msgspec.to_builtins(record),
            genes=tuple(GeneLine(name=gene.name, gene_id=gene.gene_id, domain=gene.domain) for gene in genes),
        )
    )
    left_behind = 0
    for _, entry in in_order(snapshot):
        if is_expired(entry, now_s, record.dataPolicy):
            continue
        if entry.category == "CACHE" and not with_cache:
            left_behind += 1
            continue
        writer.entry(entry)
    writer.end()
    documents = tuple(f"{document.module}/{document.name}" for document, _ in snapshot.documents())
    return Exported(writer.tally.entries, writer.tally.bytes, left_behind, documents)
