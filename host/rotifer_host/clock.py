"""The one seam through which the host reads the time of day.

Rules take a `Clock`, never `time.time()`: tests pass `rotifer_host.testing.ManualClock`.
Deadlines use the monotonic clock and are not part of this seam.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Final, Protocol

__all__ = ["LAST_MS", "Clock", "SystemClock", "rfc3339"]

LAST_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z, the last instant RFC 3339 can write."""

_REMEMBERED_TIMES: Final = 1024


class Clock(Protocol):
    """Tells the time of day."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970-01-01T00:00:00Z, at most 2^62 of them either way.

        What it raises ends the run that asked.
        """
        ...


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Return milliseconds since 1970-01-01T00:00:00Z."""
        return time.time_ns() // 1_000_000


@lru_cache(_REMEMBERED_TIMES)
def rfc3339(ms: int) -> str:
    """Return RFC 3339 text in UTC with milliseconds and `Z`; beyond the years 1970 to 9999 the nearest instant."""
    ms = min(max(ms, 0), LAST_MS)
    seconds, millis = divmod(ms, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{millis:03d}Z"
