"""What a measurement comes to: the document of `rotifer bench --json`.

Times are microseconds. A `Spread` is over runs: a figure of each run, its median and
the quartiles around it. Percentiles are over single calls.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from rotifer_host import contract

__all__ = ["CallReport", "Machine", "PathReport", "Percentiles", "Report", "Split", "Spread"]

_DIGITS: Final = 4


class Spread(msgspec.Struct, frozen=True):
    """A median with the quartiles around it."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarise at least two values."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(round(low, _DIGITS), round(median, _DIGITS), round(high, _DIGITS))

    def differs(self, other: Spread) -> bool:
        """Tell whether two figures differ by more than they scatter.

        Their medians must be further apart than either's quartiles are, and the ranges
        between the quartiles must not touch.
        """
        apart = abs(self.median - other.median)
        scatter = max(self.high - self.low, other.high - other.low)
        return apart > scatter and (self.high < other.low or other.high < self.low)


class Percentiles(msgspec.Struct, frozen=True):
    """Half, nine tenths and ninety-nine hundredths of all calls took no longer."""

    p50: float
    p90: float
    p99: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Percentiles:
        """Summarise at least one value by nearest rank."""
        ordered = sorted(values)
        ranks = (-(-len(ordered) * hundredths // 100) for hundredths in (50, 90, 99))
        return cls(*(round(ordered[rank - 1], _DIGITS) for rank in ranks))


class Split(msgspec.Struct, frozen=True):
    """What one stage takes of a call."""

    mean: float
    """Its share in the average call: the median over runs of its time divided by all calls."""
    calls: Percentiles | None
    """Of the calls that the handler or the shortcut answered; None where no call is timed on its own."""


class CallReport(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """All calls of one host function on one call path; counts are of one run, the median one."""

    count: int
    again: int
    """Calls answered by a response given before, without asking the handler."""
    shortcuts: int = 0
    """Calls answered in C by the function's shortcut, in the handler's place; measurements before them have none."""
    errors: dict[str, int]
    """How often each negative result was returned."""
    bytes_in: float
    """Request bytes of the average call."""
    bytes_out: float
    """Response bytes of the average call."""
    fuel: float
    """What the average call was charged."""
    micros: Spread
    """The average call of a bare run."""
    each_run: list[float]
    """The same, run by run."""
    percentiles: Percentiles | None
    """Of single calls: the handler's or shortcut's time in split runs, and the way to it and back.

    Those are other runs than the ones of `micros`, and may have met another disk: what
    these belong to is the sum of `stages`, not `micros.median`.
    """
    stages: dict[str, Split]
    rest: float
    """`micros.median` less the means of all stages: what is not explained, less than zero where too much is."""


class PathReport(msgspec.Struct, frozen=True, rename="camel"):
    """One call path."""

    call_path: str
    run: Spread
    """A whole run: start, guest, host calls, saving."""
    each_run: list[float]
    """The same, run by run."""
    end: dict[str, float]
    """What a run spends in each stage outside of host calls: saving at its end."""
    fuel: int
    """Fuel of a run, all genes together."""
    peak_memory_bytes: int
    """The largest linear memory of its genes."""
    calls: dict[str, CallReport]


class Machine(msgspec.Struct, frozen=True, rename="camel"):
    """What the figures were taken on."""

    node: str
    processor: str
    cpus: int
    system: str
    python: str
    file_system: str
    """The type of the one the memory lies on: what a sync costs is its cost."""
    load_before: float
    versions: dict[str, str]


class Report(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One measurement."""

    v: int = contract.FORMAT_VERSION
    target: str
    kind: Literal["agent", "gene"]
    genes: dict[str, str]
    """v2 ids by name."""
    memory: Literal["copy", "empty", "own"]
    """`copy` of the agent's memory, an `empty` one, or the agent's `own`."""
    input_bytes: int
    input_sha256: str
    durability: Literal["call", "run"]
    runs: int
    """Timed bare runs on each call path; as many split ones stand beside them."""
    warmup: int
    started_at: str
    """RFC 3339."""
    outputs: int
    """How many different outputs the runs had; more than one only where that was allowed."""
    warnings: list[str] = []
    """What was not measured as asked for; measurements before there were any have none."""
    timing_nanos: list[float]
    """What timing one seam cost and what was subtracted for it: inside the stage, and around it."""
    machine: Machine
    paths: list[PathReport]

    def to_json(self) -> dict[str, Any]:
        """Return the document as JSON values."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return document
