"""Time by stage: which part of the host had the clock, and for how long.

Stages nest as calls do, and time belongs to the innermost. What timing itself costs is
calibrated and subtracted, stage by stage and crossing by crossing.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Final

__all__ = ["HANDLER_STAGES", "STAGES", "Calls", "Overhead", "Record", "Recorder", "calibrate"]

STAGES: Final = ("boundary", "copy", "decode", "rules", "store", "audit", "sync", "render", "shortcut", "again")
"""Where the time of a host call goes.

| stage      | what                                                                             |
|------------|----------------------------------------------------------------------------------|
| `boundary` | from the guest to the handler and back: import, checks of pointers, fuel, counts |
| `copy`     | request out of, and response into, the guest's memory                            |
| `decode`   | the request's JSON, to a checked request                                         |
| `rules`    | the memory rules, and all of a handler that no other stage has                   |
| `store`    | looking up and putting entries, locks and transactions included                  |
| `audit`    | the audit line (and the telemetry event of a refusal), but for its sync          |
| `sync`     | waiting for the disk: the audit log's flush, and the commit                      |
| `render`   | an entry as JSON                                                                 |
| `shortcut` | what is answered in C, by the function's shortcut in the place of the handler:   |
|            | rules, store, audit line and all else that has no seam of its own there          |
| `again`    | calls answered by a response given before, without asking the handler            |
"""

HANDLER_STAGES: Final = STAGES[2:-1]
"""Those behind the way in, which split runs time."""

_TIMED: Final = ("outside", *HANDLER_STAGES)
_OUTSIDE: Final = 0
_RULES: Final = _TIMED.index("rules")
_SHORTCUT: Final = _TIMED.index("shortcut")
_CALIBRATION_CALLS: Final = 2_000
_CALIBRATION_ROUNDS: Final = 9


@dataclass(frozen=True, slots=True)
class Overhead:
    """Nanoseconds that timing one call of a seam adds."""

    inside: float = 0.0
    """To the stage that is entered."""
    around: float = 0.0
    """To the stage it is entered from."""


class Calls:
    """What the present split run has seen of one host function."""

    __slots__ = ("handled", "refused", "shortcuts")

    def __init__(self) -> None:
        self.handled: list[Record] = []
        """Those that reached the handler."""
        self.shortcuts: list[Record] = []
        """Those that the shortcut answered."""
        self.refused = 0
        """How many of them were refused."""


class Record:
    """One host call, or all that lies outside of any, as it was timed: what timing cost is taken off later."""

    __slots__ = ("around", "inside", "nanos")

    def __init__(self) -> None:
        self.nanos = [0] * len(_TIMED)
        self.inside = [0] * len(_TIMED)
        self.around = [0] * len(_TIMED)

    def corrected(self, overhead: Overhead) -> tuple[float, ...]:
        """Return the nanoseconds in each of `HANDLER_STAGES` without what timing cost."""
        inside, around = overhead.inside, overhead.around
        return tuple(
            max(0.0, nanos - inside * entered - around * left)
            for nanos, entered, left in zip(self.nanos[1:], self.inside[1:], self.around[1:], strict=True)
        )


class Recorder:
    """Sorts time into stages; for one thread, and one run at a time."""

    def __init__(self, overhead: Overhead | None = None) -> None:
        self.overhead = Overhead() if overhead is None else overhead
        self.calls: dict[tuple[str, str], Calls] = {}
        self._outside = Record()
        self._record = self._outside
        self._attempt: Record | None = None
        self._stack = [_OUTSIDE]
        self._since = perf_counter_ns()

    def next_run(self) -> None:
        """Start a run: nothing is known of it yet."""
        for calls in self.calls.values():
            calls.handled.clear()
            calls.shortcuts.clear()
            calls.refused = 0
        self._outside = self._record = Record()
        self._stack = [_OUTSIDE]

    def outside(self) -> tuple[float, ...]:
        """Return the nanoseconds that the present run spent in each of `HANDLER_STAGES` outside of host calls."""
        return self._outside.corrected(self.overhead)

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function`, whose time now belongs to `stage`; so does that of the iterator it returns."""
        at = _TIMED.index(stage)

        def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the function takes and gives
            self._enter(at)
            try:
                answer = function(*arguments, **named)
            finally:
                self._leave()
            return _TimedWalk(self, at, answer) if hasattr(answer, "__next__") else answer

        return call

    def handler(self, call_path: str, label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the handler of a host function, each call of which is recorded on its own."""
        calls = self.calls.setdefault((call_path, label), Calls())

        def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - the same
            self._record = record = self._attempt or Record()
            self._attempt = None
            self._enter(_RULES)
            try:
                return function(*arguments, **named)
            except BaseException:
                calls.refused += 1
                raise
            finally:
                self._leave()
                self._record = self._outside
                calls.handled.append(record)
                self._since = perf_counter_ns()

        return call

    def unchanged_until(self, call_path: str, label: str, function: Callable[[Any], int | None]) -> Callable[..., Any]:
        """Return what says how long a response may be given again, which is a part of the call it is asked after."""
        handled = self.calls.setdefault((call_path, label), Calls()).handled

        def call(run: object) -> int | None:
            self._record = handled[-1]
            self._enter(_RULES)
            try:
                return function(run)
            finally:
                self._leave()
                self._record = self._outside
                self._since = perf_counter_ns()

        return call

    def shortcut(self, call_path: str, label: str, shortcut: object) -> object:
        """Return the shortcut of a host function, each call of which is recorded on its own.

        What it spends on a request that it leaves to the handler is a part of the handler's call.
        """
        from rotifer_host.bench import _shortcuts  # noqa: PLC0415 - built only where shortcuts are

        calls = self.calls.setdefault((call_path, label), Calls())

        def enter() -> None:
            self._attempt = None
            self._record = Record()
            self._enter(_SHORTCUT)

        def leave(answered: bool | None) -> None:  # noqa: FBT001 - called from C
            self._leave()
            record, self._record = self._record, self._outside
            if answered is None:
                self._attempt = record
            else:
                calls.shortcuts.append(record)
                calls.refused += not answered
            self._since = perf_counter_ns()

        return _shortcuts.timed(shortcut, enter, leave)

    def _enter(self, at: int) -> None:
        now = perf_counter_ns()
        record, top = self._record, self._stack[-1]
        record.nanos[top] += now - self._since
        record.around[top] += 1
        record.inside[at] += 1
        self._stack.append(at)
        self._since = perf_counter_ns()  # again: bookkeeping belongs to nobody

    def _leave(self) -> None:
        now = perf_counter_ns()
        self._record.nanos[self._stack.pop()] += now - self._since
        self._since = perf_counter_ns()


class _TimedWalk:
    """An iterator whose steps belong to a stage."""

    def __init__(self, recorder: Recorder, at: int, walk: Iterator[Any]) -> None:
        self._recorder = recorder
        self._at = at
        self._walk = walk

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:  # noqa: ANN401 - whatever is walked
        self._recorder._enter(self._at)  # noqa: SLF001 - a part of it
        try:
            return next(self._walk)
        finally:
            self._recorder._leave()  # noqa: SLF001


def calibrate() -> Overhead:
    """Measure what timing a seam costs on this machine."""
    rounds = [_calibration_round() for _ in range(_CALIBRATION_ROUNDS)]
    return Overhead(
        statistics.median(each.inside for each in rounds), statistics.median(each.around for each in rounds)
    )


def _calibration_round() -> Overhead:
    def seam(_self: object, _argument: object) -> None:
        """Take what a typical seam takes and do nothing."""

    recorder = Recorder()
    timed = recorder.timed("store", seam)
    count = range(_CALIBRATION_CALLS)

    def empty_loop() -> None:
        for _ in count:
            pass

    def bare_loop() -> None:
        for _ in count:
            seam(None, None)

    def timed_loop() -> None:
        for _ in count:
            timed(None, None)

    loop, bare = _nanos(empty_loop), _nanos(bare_loop)
    recorder.handler("", "calibration", timed_loop)()
    spent = dict(zip(HANDLER_STAGES, recorder.calls["", "calibration"].handled[0].corrected(Overhead()), strict=True))
    return Overhead(
        max(0.0, spent["store"] - (bare - loop)) / _CALIBRATION_CALLS,
        max(0.0, spent["rules"] - loop) / _CALIBRATION_CALLS,
    )


def _nanos(function: Callable[[], None]) -> int:
    started = perf_counter_ns()
    function()
    return perf_counter_ns() - started
