"""Doing several things at once, each to its end, with no thread left behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from rotifer_host.sandbox import Interrupts

if TYPE_CHECKING:
    from rotifer_host.sandbox import Deadline

__all__ = ["all_at_once"]

_Result = TypeVar("_Result")


def all_at_once(works: Sequence[Callable[[], _Result]], deadline: Deadline) -> list[_Result]:
    """Do each of `works` on a thread of its own, the first on this one, and return their results in their order.

    What one of them raises cancels `deadline`, and is raised when all have ended; that
    of the first in their order. So does a signal: SIGINT and SIGTERM reach the program's
    own handlers once all have ended. When no more threads can be had, the rest is done
    here, one after another.
    """
    results: dict[int, _Result] = {}
    errors: dict[int, BaseException] = {}

    def work(index: int) -> None:
        try:
            results[index] = works[index]()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors[index] = error
            deadline.cancel()

    threads: list[Thread] = []
    with Interrupts(deadline):
        try:
            for index in range(1, len(works)):
                thread = Thread(target=work, args=(index,), name="rotifer-branch")
                thread.start()
                threads.append(thread)
        except RuntimeError:  # the system gives no more
            pass
        except BaseException:
            deadline.cancel()
            _wait_for(threads, deadline)
            raise
        work(0)
        for index in range(len(threads) + 1, len(works)):
            work(index)
        _wait_for(threads, deadline)
    for index in sorted(errors):
        raise errors[index]
    return [results[index] for index in range(len(works))]


def _wait_for(threads: Sequence[Thread], deadline: Deadline) -> None:
    """Wait for all of them, whatever a signal handler raises meanwhile: that is raised afterwards."""
    interruption: BaseException | None = None
    for thread in threads:
        while thread.is_alive():
            try:
                thread.join()
            except BaseException as error:  # noqa: BLE001 - raised below
                deadline.cancel()
                interruption = interruption or error
    if interruption is not None:
        raise interruption
