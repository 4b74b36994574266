"""How long a run may take, and how long the host may work for it."""

from __future__ import annotations

from array import array
from time import monotonic

from rotifer_host.errors import BudgetExhaustedError

__all__ = ["Deadline", "HostTime"]


class Deadline:
    """The wall-clock limit of a run, counting from now; all genes of the run share it.

    It is the run's `rotifer_host.lock.Patience` too: host calls that wait, wait no
    longer than this. Any thread may call `cancel`.
    """

    __slots__ = ("cell", "expiry", "limit_ms")

    def __init__(self, ms: int) -> None:
        self.limit_ms = ms
        self.expiry = monotonic() + ms / 1000
        """When it passes, in seconds of the monotonic clock."""
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

    __slots__ = ("cell", "limit_ms")

    def __init__(self, limit_ms: int) -> None:
        self.limit_ms = limit_ms
        self.cell = array("Q", [0])
        """Nanoseconds spent: a call path in C adds to them in place."""

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
