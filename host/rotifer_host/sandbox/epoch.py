"""Ending guests on time: one ticker for the engine, one check for each guest.

The ticker advances the engine's epoch. That ends nobody: it makes every running
guest call back on its own thread, where its own run's deadline and cancellation
are looked at. So no run shortens another's deadline, none ends early, and
cancelling one leaves the rest alone.
"""

from __future__ import annotations

import os
import threading
from threading import get_ident
from time import monotonic
from typing import Any, Final

from rotifer_host.sandbox import capi
from rotifer_host.sandbox._ffi import ffi
from rotifer_host.sandbox.active import RUNS
from rotifer_host.sandbox.deadline import Deadline

__all__ = ["EPOCH_CALLBACK", "TICK_S", "Ticker"]

TICK_S: Final = 0.010
_IDLE_TICKS: Final = 5
"""Ticks without a run after which the thread ends: runs that follow each other at once share one thread."""


class Ticker:
    """Advances an engine's epoch every 10 ms, and when a deadline passes, while there are runs."""

    def __init__(self, engine: int) -> None:
        self._engine = engine
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._deadlines: dict[object, Deadline] = {}
        self._running = False
        self._next_tick = 0.0

    def add(self, run: object, deadline: Deadline) -> None:
        """Tick for this run until `remove`."""
        with self._changed:
            self._deadlines[run] = deadline
            if not self._running:
                threading.Thread(target=self._tick, name="rotifer-ticker", daemon=True).start()
                self._running = True
            elif deadline.expiry < self._next_tick:
                self._changed.notify()

    def remove(self, run: object) -> None:
        """Tick for this run no longer."""
        with self._changed:
            self._deadlines.pop(run, None)

    def _tick(self) -> None:
        idle = 0
        with self._changed:
            while self._deadlines or idle < _IDLE_TICKS:
                now = monotonic()
                self._next_tick = min(
                    (deadline.expiry for deadline in self._deadlines.values() if now < deadline.expiry < now + TICK_S),
                    default=now + TICK_S,
                )
                self._changed.wait(self._next_tick - now)
                capi.increment_epoch(self._engine)
                # Looked at last: a run may have come during the wait, and counts on this thread.
                idle = 0 if self._deadlines else idle + 1
            self._running = False


def _on_epoch(_context: int, _data: int, delta: Any, kind: Any) -> int:  # noqa: ANN401 - cffi has no types
    if not RUNS[get_ident()].may_go_on():
        return capi.new_error()
    delta[0] = 1
    kind[0] = 0
    return 0


def _on_error(_kind: type[BaseException], error: BaseException, _trace: object) -> int:
    """Keep whatever a signal handler raised just here, and end the guest it arrived in."""
    RUNS[get_ident()].keep(error)
    return capi.new_error()


_callback: Final = ffi.callback("size_t(size_t, size_t, uint64_t *, uint8_t *)", _on_epoch, error=0, onerror=_on_error)
EPOCH_CALLBACK: Final = int(ffi.cast("size_t", _callback))
"""Address of the function every store calls when the epoch advances."""
