"""What happened to an agent's memory on behalf of which gene, for the report of a run."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Literal

__all__ = ["Events"]


class Events:
    """Counts by the v2 id of the gene whose calls were refused, or made the host remove entries."""

    def __init__(self) -> None:
        self.denied: defaultdict[str, int] = defaultdict(int)
        self.evicted: defaultdict[str, int] = defaultdict(int)
        self.expired: defaultdict[str, int] = defaultdict(int)
        self._lock = threading.Lock()

    def add(self, kind: Literal["denied", "evicted", "expired"], gene_id: str, count: int = 1) -> None:
        """Count; safe from several threads."""
        counter: defaultdict[str, int] = getattr(self, kind)
        with self._lock:
            counter[gene_id] += count
