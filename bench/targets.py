"""What the project set out to reach, and whether a set of timings does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.contest import BARE, EXTISM, FLOOR, ORDINARY, held
from bench.measure import Spread, Timings

__all__ = ["Target", "Verdict", "targets", "verdict"]

_FASTEST: Final = "fastest"
"""Stands for whichever call path the host chooses by itself."""


@dataclass(frozen=True)
class Target:
    """`contestant` against `rival` in one case: so many times as fast, or within so many times its time."""

    case: str
    contestant: str
    rival: str
    at_least: float | None = None
    within: float | None = None

    @property
    def words(self) -> str:
        """The target as one reads it."""
        if self.at_least is not None:
            return f"{self.contestant}: {self.at_least:g} times as fast as {self.rival}"
        return f"{self.contestant}: within {self.within:g} times {self.rival}"


@dataclass(frozen=True)
class Verdict:
    """What was found for a target; `ratio` is None where one of the two was not timed."""

    target: Target
    ratio: Spread | None
    words: str


def targets(call_paths: list[str]) -> list[Target]:
    """Return all targets; those that name no call path are asked of the one the host would choose."""
    fastest = call_paths[0]
    return [
        Target("noop", "native", ORDINARY, at_least=90),
        Target("noop", "native", "plain", at_least=90),
        Target("noop", "raw", ORDINARY, at_least=15),
        Target("noop", "raw", "plain", at_least=15),
        Target("read", "native", ORDINARY, at_least=25),
        Target("read", "native", EXTISM, at_least=12),
        Target("read", "native", FLOOR, within=5),
        Target("read", "raw", ORDINARY, at_least=12),
        Target("read", "raw", EXTISM, at_least=6),
        Target("write100", held(fastest), BARE, within=3),
        Target("start", fastest, ORDINARY, at_least=2),
        *(
            Target("run", name, rival, at_least=factor)
            for name in (fastest, held(fastest))
            for rival, factor in ((EXTISM, 10), (ORDINARY, 8))
        ),
    ]


def verdict(target: Target, timings: Mapping[str, Timings]) -> Verdict:
    """Compare a target with what one place's timings, by case, show."""
    case = timings.get(target.case)
    if case is None:
        return Verdict(target, None, "not timed here")
    if target.at_least is not None:
        ratio = case.ratio(target.rival, target.contestant)
        reached = None if ratio is None else ratio.median / target.at_least
        bound = target.at_least
    else:
        ratio = case.ratio(target.contestant, target.rival)
        bound = target.within or 0.0
        reached = None if ratio is None else bound / ratio.median
    if ratio is None or reached is None:
        absent = next(name for name in (target.contestant, target.rival) if name not in case.rounds)
        return Verdict(target, None, f"not measured: there is no {absent} here")
    if ratio.holds(bound):
        return Verdict(target, ratio, "on the line: the spread holds the target")
    if reached >= 1:
        return Verdict(target, ratio, f"met, by a factor of {reached:.3g}")
    return Verdict(target, ratio, f"**missed**, by a factor of {1 / reached:.3g}")
