"""What happened to an agent's memory on behalf of which gene, for the report of a run."""

from __future__ import annotations

from threading import get_ident
from typing import Literal

__all__ = ["Events"]


class Events:
    """Counts by the v2 id of the gene whose calls were refused, or made the host remove entries.

    Each thread counts for itself, so that `take` tells apart genes that run at the same
    time, each on a thread of its own: they may be the same gene.
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int], int] = {}

    def add(self, kind: Literal["denied", "evicted", "expired"], gene_id: str, count: int = 1) -> None:
        """Count; safe from several threads."""
        key = (kind, gene_id, get_ident())
        self._counts[key] = self._counts.get(key, 0) + count

    def take(self, gene_id: str) -> tuple[int, int]:
        """Return how many entries were evicted and expired for a gene on this thread, and count anew."""
        if not self._counts:
            return 0, 0
        thread = get_ident()
        return self._counts.pop(("evicted", gene_id, thread), 0), self._counts.pop(("expired", gene_id, thread), 0)

    @property
    def denied(self) -> dict[str, int]:
        """Refused accesses by v2 id."""
        return self._by_gene("denied")

    @property
    def evicted(self) -> dict[str, int]:
        """Evicted entries by v2 id, less those taken."""
        return self._by_gene("evicted")

    @property
    def expired(self) -> dict[str, int]:
        """Expired entries by v2 id, less those taken."""
        return self._by_gene("expired")

    def _by_gene(self, kind: str) -> dict[str, int]:
        sums: dict[str, int] = {}
        for (counted, gene_id, _), count in list(self._counts.items()):
            if counted == kind:
                sums[gene_id] = sums.get(gene_id, 0) + count
        return sums
