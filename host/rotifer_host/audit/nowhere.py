"""An audit log for a memory that nobody asks about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_host.audit.line import Written, link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rotifer_host.lock import Patience

__all__ = ["Nowhere"]


class Nowhere:
    """An `AuditSink` and a `TelemetrySink` that keep nothing and never fail."""

    def append(
        self,
        lines: Sequence[bytes],
        patience: Patience,
        *,
        after: bytes | None = None,
        durable: bool,
        held: bool = False,
    ) -> Written:
        """Return the lines as a log would have them."""
        del patience, durable, held
        return link(lines, after=after, above=b"")

    def sync(self) -> None:
        """Nothing is to be brought to the disk."""

    def witness(self, patience: Patience) -> bytes:
        """Return that there is no line."""
        del patience
        return b""

    def access_denied(self, *, ts: str, agent_id: str | None, gene_id: str | None, operation: str) -> None:
        """Keep nothing."""
