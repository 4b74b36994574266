"""How long a run may take, and how long the host may work for it."""

from __future__ import annotations

from array import array
from math import inf
from time import monotonic
from typing import Final

from rotifer_host.errors import BudgetExhaustedError
from rotifer_host.sandbox.result import Ending

__all__ = ["Deadline", "HostTime", "out_of_host_time", "overdue"]

_LATEST_NS: Final = (1 << 63) - 1
"""What a call path in C can hold; three hundred years."""
_UNSPENT: Final = array("Q", [0])


class Deadline:
    """The wall-clock limit of a run, counting from now; all genes of the run share it.

    It is the run's `rotifer_host.lock.Patience` too: host calls that wait, wait no
    longer than this. Any thread may call `cancel`.
    """

    __slots__ = ("cell", "expiry", "limit_ms", "stop")

    def __init__(self, ms: int) -> None:
        self.limit_ms = ms
        self.expiry = monotonic() + ms / 1000
        """When it passes, in seconds of the monotonic clock."""
        self.stop = self.expiry
        """From which second on no host call begins: when it passes, or the beginning of time once cancelled."""
        self.cell = bytearray(1)
        """One byte, not 0 once cancelled: what a call path in C looks at."""

    @property
    def stop_ns(self) -> int:
        """When it passes, in nanoseconds, for a call path in C, which looks at `cell` too."""
        return min(int(self.expiry * 1e9), _LATEST_NS)

    @property
    def cancelled(self) -> bool:
        """Tell whether the run was cancelled."""
        return self.cell[0] != 0

    @property
    def passed(self) -> bool:
        """Tell whether the time is up."""
        return monotonic() >= self.expiry

    def cancel(self) -> None:
        """End the run that uses this deadline, and no other, within one tick (10 ms) of guest code."""
        self.cell[0] = 1
        self.stop = -inf

    def remaining_s(self) -> float:
        """Return the seconds left, 0.0 or less when none. Raises `BudgetExhaustedError` once cancelled."""
        if self.cell[0]:
            raise BudgetExhaustedError("the run was interrupted")
        return self.expiry - monotonic()


class HostTime:
    """The time host calls may take in all genes of a run together.

    Genes that run side by side count it without a lock: what gets lost is one host call.
    """

    __slots__ = ("cell", "left", "limit_ms", "limit_ns")

    def __init__(self, limit_ms: int) -> None:
        self.limit_ms = limit_ms
        self.limit_ns = min(limit_ms * 1_000_000, _LATEST_NS)
        self.cell = _UNSPENT[:]
        """Nanoseconds spent: what a call path in C looks at, and adds to in place."""
        self.left = limit_ms / 1000
        """Seconds left, 0.0 or less when none: what a call path in Python looks at, and takes from in place."""

    def add(self, seconds: float) -> None:
        """Count time spent in the host, whatever the call path."""
        self.cell[0] += int(seconds * 1e9)
        self.left -= seconds

    @property
    def spent_s(self) -> float:
        """Seconds spent so far."""
        return self.limit_ms / 1000 - self.remaining_s

    @property
    def remaining_s(self) -> float:
        """Seconds left, 0.0 or less when none, by the call path in use: a run has one."""
        return min(self.left, self.limit_ms / 1000 - self.cell[0] / 1e9)


def overdue(deadline: Deadline) -> Ending | None:
    """Return the ending of a run that was cancelled or whose deadline has passed."""
    if deadline.cell[0]:
        return Ending("failed", "INTERRUPTED", "the run was interrupted")
    if monotonic() >= deadline.expiry:
        return Ending("limit", "DEADLINE_EXCEEDED", f"not done after {deadline.limit_ms} ms")
    return None


def out_of_host_time(host_time: HostTime) -> Ending:
    """Return the ending of a run whose host calls took too long."""
    return Ending("limit", "HOST_TIME_EXCEEDED", f"host calls took more than {host_time.limit_ms} ms")
