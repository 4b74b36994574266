"""A clock that moves only when it is told to."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Final

__all__ = ["ManualClock"]

_START: Final = "2026-01-01T00:00:00Z"


class ManualClock:
    """A `rotifer_host.clock.Clock` that stands still until a test moves it, back if it likes.

    Threads may share it. It does not move the deadlines of runs, which use the
    machine's monotonic clock, and another process does not see it.
    """

    def __init__(self, start: str = _START) -> None:
        self._lock = threading.Lock()
        self._now_ms = 0
        self.set(start)

    def now_ms(self) -> int:
        """Return milliseconds since 1970-01-01T00:00:00Z."""
        return self._now_ms

    def set(self, time: str | int) -> None:
        """Set the time: RFC 3339 text with a zone, or milliseconds since 1970.

        Raises `ValueError` for text that is none.
        """
        if isinstance(time, str):
            moment = datetime.fromisoformat(time)
            if moment.tzinfo is None:
                message = f"{time!r} has no zone; end it with Z"
                raise ValueError(message)
            since = moment - datetime.fromtimestamp(0, UTC)
            time = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
        with self._lock:
            self._now_ms = time

    def advance(self, *, days: int = 0, seconds: int = 0, ms: int = 0) -> None:
        """Move the time by so much; negative amounts move it back."""
        with self._lock:
            self._now_ms += (days * 86_400 + seconds) * 1000 + ms
