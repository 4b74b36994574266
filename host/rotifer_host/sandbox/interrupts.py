"""Ctrl-C and SIGTERM while a guest runs in the main thread.

A signal handler that raises would raise inside a host function, at a point where
no exception can be caught. So for the length of a run the program's own handlers
wait: the signal is noted and the run cancelled; when the guest has ended they are
put back and called: what they raise leaves the block.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` converts to enums and back: longer than a small guest runs
import os
from collections.abc import Callable
from threading import get_ident, main_thread
from types import FrameType, TracebackType
from typing import Final

import msgspec

from rotifer_host.sandbox.deadline import Deadline

__all__ = ["Interrupts"]

_SIGNALS: Final = (_signal.SIGINT, _signal.SIGTERM)
_Handler = Callable[[int, FrameType | None], object]

_main_thread = main_thread().ident


def _after_fork() -> None:
    """In a forked child the thread that forked is the main one."""
    global _main_thread  # noqa: PLW0603 - asked for at each run
    _main_thread = get_ident()


os.register_at_fork(after_in_child=_after_fork)


class Interrupts(msgspec.Struct):
    """A `with` block in which SIGINT and SIGTERM cancel `deadline` instead of calling their handlers.

    Only in the main thread, and only handlers written in Python: a signal that is
    ignored, or left to the system, stays so.
    """

    deadline: Deadline
    _handlers: dict[int, _Handler] = {}
    _received: list[int] = []

    def __enter__(self) -> None:
        if get_ident() != _main_thread:
            return
        try:
            for number in _SIGNALS:
                handler = _signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    _signal.signal(number, self._note)
        except BaseException:  # raised by a handler not yet replaced
            self._restore(list(self._handlers))
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handlers:
            self._restore(list(self._handlers))
            for number in self._received:
                self._handlers[number](number, None)

    def _restore(self, numbers: list[int]) -> None:
        while numbers:
            number = numbers.pop()
            try:
                _signal.signal(number, self._handlers[number])
            except BaseException:  # a handler just put back may raise at once
                self._restore(numbers)
                raise

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._received.append(number)
        self.deadline.cancel()
