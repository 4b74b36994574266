"""Times that can be compared: all contestants in one process, in turns, each answer checked.

In each round every contestant is timed once, in an order that shifts from round to
round, so that what disturbs the machine for a while disturbs all of them. A ratio is
taken inside a round; its spread is that of these ratios, not of two separate medians.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bench.peers import Runner
from bench.work import Case

__all__ = ["Spread", "Timings", "time_case"]

_MAX_UNITS: Final = 1 << 20
_CHECKED_UNITS: Final = (0, 1, 3)
_IDLE_REPEATS: Final = 20


@dataclass(frozen=True)
class Spread:
    """A median with the quartiles around it."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """Summarise at least two values."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(low, median, high)

    def holds(self, value: float) -> bool:
        """Tell whether `value` lies between the quartiles."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Timings:
    """Nanoseconds by contestant, one figure a round."""

    case: Case
    rounds: Mapping[str, list[float]]

    def spread(self, name: str) -> Spread | None:
        """Return a contestant's time; None when it was not timed."""
        return Spread.of(self.rounds[name]) if name in self.rounds else None

    def ratio(self, slow: str, fast: str) -> Spread | None:
        """Return how many times as long `slow` takes as `fast`; None when one of them was not timed."""
        if slow not in self.rounds or fast not in self.rounds:
            return None
        return Spread.of([a / b for a, b in zip(self.rounds[slow], self.rounds[fast], strict=True)])


def time_case(
    case: Case, runners: Mapping[str, Runner], *, rounds: int, sample_ms: float, progress: Callable[[], None]
) -> Timings:
    """Time one case; `progress` is told of each round. Raises `AssertionError` for a wrong answer, timed or not."""
    plans = {name: _Plan.make(case, run, sample_ms / 1000) for name, run in runners.items()}
    times: dict[str, list[float]] = {name: [] for name in runners}
    order = list(runners)
    for _ in range(rounds):
        for name in order:
            times[name].append(plans[name].sample())
        order.append(order.pop(0))
        progress()
    return Timings(case, times)


@dataclass(frozen=True)
class _Plan:
    """How one contestant is timed: runs of `units`, `repeats` of them, less as many runs of none."""

    case: Case
    run: Runner
    units: int
    repeats: int

    @classmethod
    def make(cls, case: Case, run: Runner, sample_s: float) -> _Plan:
        """Check the answers, and find out how much work fills a sample."""
        for units in _CHECKED_UNITS:
            case.check(units, run(units))
        if case.units is None:
            units = 8
            while (elapsed := min(_time(run, units, 1)[0] for _ in range(2))) < sample_s / 2 and units < _MAX_UNITS:
                units *= 4 if elapsed < sample_s / 8 else 2
            return cls(case, run, units, 1)
        repeats = 1
        while _time(run, case.units, repeats)[0] < sample_s / 2:
            repeats *= 2
        return cls(case, run, case.units, repeats)

    def sample(self) -> float:
        """Return nanoseconds: of a whole run, or of one call."""
        seconds, output = _time(self.run, self.units, self.repeats)
        self.case.check(self.units, output)
        if self.case.whole_run:
            return seconds / self.repeats * 1e9
        idle, output = _time(self.run, 0, max(self.repeats, _IDLE_REPEATS))
        self.case.check(0, output)
        return (seconds / self.repeats - idle / max(self.repeats, _IDLE_REPEATS)) / self.units * 1e9


def _time(run: Runner, units: int, repeats: int) -> tuple[float, object]:
    """Return how many seconds `repeats` runs take, and what the last one answered."""
    gc.collect()
    gc.disable()
    try:
        output: object = run(units) if repeats > 1 else None  # that collection left the caches cold
        started = time.perf_counter()
        for _ in range(repeats):
            output = run(units)
        return time.perf_counter() - started, output
    finally:
        gc.enable()
