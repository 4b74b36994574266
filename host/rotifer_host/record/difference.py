"""Where two runs part: the first thing that is not the same, in words and in data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from rotifer_host.record.recording import Asked, Exchange, Outcome, Part, to_bytes
from rotifer_host.text import counted

__all__ = [
    "OF_THE_CLOCK",
    "Difference",
    "compare_call",
    "compare_outcome",
    "ending",
    "first_difference",
    "left_over",
    "shown_around",
]

_SHOWN: Final = 60
_Event = Exchange | Asked
OF_THE_CLOCK: Final = ("DEADLINE_EXCEEDED", "HOST_TIME_EXCEEDED", "INTERRUPTED")


@dataclass(frozen=True, slots=True)
class Difference:
    """The first thing that was not as recorded."""

    gene: str
    part: int
    """Which of the recorded genes' runs, from 1."""
    call: int | None
    """Which of its recorded host calls, from 1; None for what the run ended with."""
    what: str
    """`request`, `out_cap`, `function`, `output`, …"""
    recorded: str
    """Text about the recorded run; may hold the guest's own text."""
    now: str
    at: int | None = None
    """Where bytes begin to differ, counted from 0."""

    def __str__(self) -> str:
        """Say where and what."""
        where = "at its end" if self.call is None else f"at host call {self.call}"
        byte = "" if self.at is None else f", from byte {self.at}"
        return f"{self.gene} (part {self.part}) differs {where}: {self.what}{byte}"


def compare_call(gene: str, part: int, call: int, recorded: _Event | None, now: _Event) -> Difference | None:
    """Compare what a guest asks now with what it asked then; None when it is the same.

    Answers are not looked at: they are the recorded ones.
    """
    if recorded is None:
        return Difference(gene, part, call, "function", "no further call", now.function)
    if recorded.function == now.function and isinstance(recorded, Exchange) and isinstance(now, Exchange):
        return _compare_requests(Difference(gene, part, call, "request", "", ""), recorded, now)
    for what in ("function", "arguments"):
        then, seen = getattr(recorded, what, None), getattr(now, what, None)
        if then != seen:
            return Difference(gene, part, call, what, str(then), str(seen))
    return None


def _compare_requests(place: Difference, recorded: Exchange, now: Exchange) -> Difference | None:
    if recorded.request is None and now.request is None:
        return None
    if recorded.request is None or now.request is None:
        return replace(place, what="refusal", recorded="refused before its request was looked at", now="let in")
    then, seen = to_bytes(recorded.request), to_bytes(now.request)
    if then != seen:
        at = first_difference(then, seen)
        return replace(place, recorded=shown_around(then, at), now=shown_around(seen, at), at=at)
    if recorded.outCap != now.outCap:
        return replace(place, what="out_cap", recorded=str(recorded.outCap), now=str(now.outCap))
    return None


def left_over(part: Part, number: int, made: int) -> Difference | None:
    """Return the first call that was recorded and not made, of a run that made `made` of them."""
    if made >= len(part.events):
        return None
    function = part.events[made].function
    return Difference(part.gene, number, made + 1, "function", function, "no further call, the run ended")


def compare_outcome(gene: str, part: int, recorded: Outcome, now: Outcome) -> Difference | None:
    """Compare how a gene's run ended; None when it is the same.

    Fuel is left out: versions of the engine count differently.
    """
    for what, then, seen in _pairs(recorded, now):
        if then == seen:
            continue
        if isinstance(then, bytes) and isinstance(seen, bytes):
            at = first_difference(then, seen)
            return Difference(gene, part, None, what, shown_around(then, at), shown_around(seen, at), at)
        return Difference(gene, part, None, what, str(then), str(seen))
    return None


def _pairs(recorded: Outcome, now: Outcome) -> list[tuple[str, object, object]]:
    return [
        ("status", ending(recorded), ending(now)),
        ("output", to_bytes(recorded.output), to_bytes(now.output)),
        ("log", recorded.log.encode(), now.log.encode()),
        ("stderr", recorded.stderr.encode(), now.stderr.encode()),
        ("log", _dropped(recorded.logDropped), _dropped(now.logDropped)),
        ("stderr", _dropped(recorded.stderrDropped), _dropped(now.stderrDropped)),
        ("answers", _json(recorded.answers), _json(now.answers)),
        ("memory", f"{recorded.peakMemoryBytes} bytes", f"{now.peakMemoryBytes} bytes"),
    ]


def _dropped(size: int) -> str:
    return f"{counted(size, 'byte')} dropped"


def ending(outcome: Outcome) -> str:
    """Say how a recorded run ended."""
    error = outcome.error
    if error is None:
        return outcome.status
    timed = " (which depends on time, not on answers)" if error.code in OF_THE_CLOCK else ""
    return f"{outcome.status}, {error.code}{timed}: {error.message}"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def first_difference(one: bytes, other: bytes) -> int:
    """Return the first place where two texts differ, the end of the shorter one if that begins the other."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def shown_around(data: bytes, at: int) -> str:
    """Show the bytes around the first difference, and how many there are."""
    start = max(at - _SHOWN // 2, 0)
    piece = data[start : start + _SHOWN].decode("utf-8", "replace")
    return f"{'…' if start else ''}{piece}{'…' if start + _SHOWN < len(data) else ''} ({counted(len(data), 'byte')})"
