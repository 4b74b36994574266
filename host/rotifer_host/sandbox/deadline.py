"""How long a run may take, and how long the host may work for it."""

from __future__ import annotations

from array import array
from time import monotonic
from typing import Final

from rotifer_host.errors import BudgetExhaustedError
from rotifer_host.sandbox.result import Ending

__all__ = ["Deadline", "HostTime", "out_of_host_time", "overdue"]

_LATEST_NS: Final = (1 << 63) - 1
"""What a call path in C can hold; three hundred years."""


class Deadline:
    """The wall-clock limit of a run, counting from now; all genes of the run share it.

    It is the run's `rotifer_host.lock.Patience` too: host calls that wait, wait no
    longer than this. Any thread may call `cancel`.
    """

    __slots__ = ("cell", "expiry", "limit_ms", "stop_ns")

    def __init__(self, ms: int) -> None:
        self.limit_ms = ms
        self.expiry = monotonic() + ms / 1000
        """When it passes, in seconds of the monotonic clock."""
        self.stop_ns = min(int(self.expiry * 1e9), _LATEST_NS)
        """From which nanosecond on no host call begins: when it passes, or the beginning of time once cancelled."""
        self.cell = array("b", [0])
        """One byte, not 0 once cancelled: what a call path in C looks at."""

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
        self.stop_ns = 0

    def remaining_s(self) -> float:
        """Return the seconds left, 0.0 or less when none. Raises `BudgetExhaustedError` once cancelled."""
        if self.cell[0]:
            raise BudgetExhaustedError("the run was interrupted")
        return self.expiry - monotonic()


class HostTime:
    """The time host calls may take in all genes of a run together.

    Genes that run side by side add to one number without a lock: an addition that
    gets lost counts one host call less.
    """

    __slots__ = ("cell", "limit_ms", "limit_ns")

    def __init__(self, limit_ms: int) -> None:
        self.limit_ms = limit_ms
        self.limit_ns = min(limit_ms * 1_000_000, _LATEST_NS)
        self.cell = array("Q", [0])
        """Nanoseconds spent: call paths add to them in place."""

    def add(self, seconds: float) -> None:
        """Count time spent in the host."""
        self.cell[0] += int(seconds * 1e9)

    @property
    def spent_s(self) -> float:
        """Seconds spent so far."""
        return self.cell[0] / 1e9

    @property
    def remaining_s(self) -> float:
        """Seconds left, 0.0 or less when none."""
        return self.limit_ms / 1000 - self.spent_s


def overdue(deadline: Deadline) -> Ending | None:
    """Return the ending of a run that was cancelled or whose deadline has passed."""
    if deadline.cancelled:
        return Ending("failed", "INTERRUPTED", "the run was interrupted")
    if deadline.passed:
        return Ending("limit", "DEADLINE_EXCEEDED", f"not done after {deadline.limit_ms} ms")
    return None


def out_of_host_time(host_time: HostTime) -> Ending:
    """Return the ending of a run whose host calls took too long."""
    return Ending("limit", "HOST_TIME_EXCEEDED", f"host calls took more than {host_time.limit_ms} ms")
