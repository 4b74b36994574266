"""Compiling takes as long as a module's author wants: half a megabyte of nested blocks is minutes of work.

No deadline reaches the compiler and nothing stops it. So it works on a thread of its own, and whoever
asked waits for so long and no longer; a signal ends the wait at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from rotifer_host.errors import BadModuleError

__all__ = ["in_time"]

_MOST_S: Final = 120.0

_T = TypeVar("_T")


def in_time(work: Callable[[], _T], *, most_s: float = _MOST_S) -> _T:
    """Return what `work` returns, or raise what it raises, within `most_s` seconds.

    Raises `BadModuleError` when it takes longer: the thread is left to itself, and ends with its work or the process.
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    thread = threading.Thread(target=run, name="rotifer-compiler", daemon=True)
    thread.start()
    thread.join(most_s)
    if errors:
        raise errors[0]
    if not results:
        raise BadModuleError(
            f"compiling took more than {most_s:g} s",
            help="split its largest functions; blocks nested by the ten thousands are what takes longest",
        )
    return results[0]
