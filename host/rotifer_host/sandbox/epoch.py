"""Ending guests on time: one ticker for the engine, one check for each guest.

The ticker advances the engine's epoch. That ends nobody: it makes every running
guest call back on its own thread, where its own run's deadline and cancellation
are looked at. So no run shortens another's deadline, none ends early, and
cancelling one leaves the rest alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, Protocol

from rotifer_host.sandbox import capi
from rotifer_host.sandbox._ffi import ffi
from rotifer_host.sandbox.active import current

try:
    from rotifer_host.sandbox import _native
except ImportError:  # not built: there was no C compiler
    _native = None  # type: ignore[assignment]

__all__ = ["EPOCH_CALLBACK", "ThreadTicker", "Ticker", "ticker_for"]

_TICK_S: Final = 0.010
_IDLE_TICKS: Final = 5
"""Ticks without a run after which the thread ends: runs that follow each other at once share one thread."""


class Ticker(Protocol):
    """Advances an engine's epoch every 10 ms, and when a deadline passes, while there are runs."""

    @property
    def runs(self) -> int:
        """How many runs it ticks for."""
        ...

    def add(self, expiry: float, /) -> float:
        """Tick for a run whose deadline passes at this second of the monotonic clock; returns what `remove` takes."""
        ...

    def remove(self, mark: float, /) -> None:
        """Tick for this run no longer."""
        ...

    def reset(self) -> None:
        """Start afresh in a forked process, where no thread but one exists."""
        ...


def ticker_for(engine: int) -> Ticker:
    """Return the ticker of an engine: in C where that is built, where it needs nobody's lock."""
    if _native is None:
        ticker: Ticker = ThreadTicker(lambda: capi.increment_epoch(engine), _TICK_S)
    else:
        name = "wasmtime_engine_increment_epoch"
        increment = capi.addresses([name])[name]
        ticker = _native.Ticker(increment=increment, subject=capi.shared_engine(engine), tick_s=_TICK_S)

    def after_fork() -> None:
        ticker.reset()
        capi.increment_epoch(engine)  # nothing ticks for a guest whose host call forked, and it is to end

    os.register_at_fork(after_in_child=after_fork)
    return ticker


class ThreadTicker:
    """A `Ticker` that is a thread of Python's, and calls `increment`."""

    def __init__(self, increment: Callable[[], None], tick_s: float) -> None:
        self._increment = increment
        self._tick_s = tick_s
        self.reset()

    def reset(self) -> None:
        """Start afresh in a forked process, where no thread but one exists."""
        self._changed = threading.Condition(threading.Lock())
        self._expiries: list[float] = []
        self._running = False
        self._next_tick = 0.0

    @property
    def runs(self) -> int:
        """How many runs it ticks for."""
        return len(self._expiries)

    def add(self, expiry: float, /) -> float:
        """Tick for a run whose deadline passes at this second of the monotonic clock; returns what `remove` takes."""
        with self._changed:
            self._expiries.append(expiry)
            if not self._running:
                threading.Thread(target=self._tick, name="rotifer-ticker", daemon=True).start()
                self._running = True
            elif expiry < self._next_tick:
                self._changed.notify()
        return expiry

    def remove(self, mark: float, /) -> None:
        """Tick for this run no longer."""
        with self._changed:
            if mark in self._expiries:  # a fork forgets the runs of its parent
                self._expiries.remove(mark)  # of two that are equal either will do

    def _tick(self) -> None:
        idle = 0
        with self._changed:
            while self._expiries or idle < _IDLE_TICKS:
                now = monotonic()
                self._next_tick = min(
                    (expiry for expiry in self._expiries if now < expiry < now + self._tick_s),
                    default=now + self._tick_s,
                )
                self._changed.wait(self._next_tick - now)
                self._increment()
                # Looked at last: a run may have come during the wait, and counts on this thread.
                idle = 0 if self._expiries else idle + 1
            self._running = False


def _on_epoch(_context: int, _data: int, delta: Any, kind: Any) -> int:  # noqa: ANN401 - cffi has no types
    if not current().may_go_on():
        return capi.new_error()
    delta[0] = 1
    kind[0] = 0
    return 0


def _on_error(_kind: type[BaseException], error: BaseException, _trace: object) -> int:
    """Keep whatever a signal handler raised just here, and end the guest it arrived in."""
    current().keep(error)
    return capi.new_error()


_callback: Final = ffi.callback("size_t(size_t, size_t, uint64_t *, uint8_t *)", _on_epoch, error=0, onerror=_on_error)
EPOCH_CALLBACK: Final = int(ffi.cast("size_t", _callback))
"""Address of the function that a store calls when the epoch advances, where it is not in C."""
