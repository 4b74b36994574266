"""What a turn's memory did: part of the report of a run."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

__all__ = ["EventName", "TurnEvent", "TurnReport"]

EventName = Literal[
    "memory.committed",
    "memory.commit_failed",
    "diary.appended",
    "diary.declined",
    "diary.failed",
    "table.replaced",
    "table.unchanged",
    "table.failed",
]

_FAILED: Final = ("memory.commit_failed", "diary.failed", "table.failed")


class TurnEvent(msgspec.Struct, frozen=True):
    """What became of one source after the run."""

    event: EventName
    source: str
    """Its `id`."""
    message: str
    uncertain: bool = False
    """Whether a failed commit may have been made all the same."""

    @property
    def failed(self) -> bool:
        """Whether something was to be kept and, as far as is known, is not."""
        return self.event in _FAILED

    @property
    def warning(self) -> str:
        """The event as a sentence for the warnings of a run."""
        return f"{self.event}: {self.source}: {self.message}"


class TurnReport(msgspec.Struct, frozen=True, kw_only=True):
    """A turn; of one whose recall failed there is nothing but the identifiers."""

    runtime: str
    request_id: str
    """What the service got as `x-request-id`, and local memories are told nothing of."""
    recalled: dict[str, int]
    """Bytes in UTF-8 of each variable that was put into the input."""
    events: tuple[TurnEvent, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the member `turn` of the run document."""
        return {
            "runtime": self.runtime,
            "requestId": self.request_id,
            "recalled": self.recalled,
            "events": [msgspec.to_builtins(event) for event in self.events],
        }
