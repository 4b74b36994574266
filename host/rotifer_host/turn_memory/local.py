"""The runtime `axon_go` here: diary and memory table in the agent's own store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rotifer_host.errors import RotiferError
from rotifer_host.turn_memory.report import TurnEvent

if TYPE_CHECKING:
    from rotifer_host.turn_memory.diary import DiaryMemory
    from rotifer_host.turn_memory.sources import MemorySource
    from rotifer_host.turn_memory.table import TableMemory

__all__ = ["LocalMemory"]


class LocalMemory:
    """The local memories of one turn, each with its source."""

    def __init__(self, memories: Sequence[tuple[MemorySource, DiaryMemory | TableMemory]]) -> None:
        self._memories = memories

    def recall(self) -> dict[str, str]:
        """Return the text of each variable. Raises `StoreError`, `HostCallError`."""
        return {source.variable: memory.recall() for source, memory in self._memories}

    def remember(self, output: Any) -> list[TurnEvent]:  # noqa: ANN401 - any JSON value
        """Keep what each of them makes of the turn; what one cannot keep is no concern of the others."""
        events = []
        for source, memory in self._memories:
            try:
                event = memory.remember(output)
            except RotiferError as error:
                event = TurnEvent(memory.failed, source.id, f"{error.code}: {error.message}")
            if event is not None:
                events.append(event)
        return events
