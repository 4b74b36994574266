"""Which run a thread is in: how one set of host functions serves every guest.

Host functions are made once and know no run; they find theirs by the thread they
are called on, which is the thread that runs the guest.
"""

from __future__ import annotations

import os
from threading import get_ident
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rotifer_host.sandbox.run import Run

__all__ = ["RUNS", "enter", "leave"]

RUNS: Final[dict[int, Run]] = {}
"""The innermost run of each thread, by `threading.get_ident()`."""


def _after_fork() -> None:
    """In a forked child: the runs of other threads are not here, and this thread's is the parent's to finish."""
    for thread, run in list(RUNS.items()):
        if thread == get_ident():
            run.deadline.cancel()
        else:
            del RUNS[thread]


os.register_at_fork(after_in_child=_after_fork)


def enter(run: Run) -> Run | None:
    """Make `run` the current one of this thread; returns the one before it, for `leave`."""
    thread = get_ident()
    outer = RUNS.get(thread)
    RUNS[thread] = run
    return outer


def leave(outer: Run | None) -> None:
    """Make the run before this one the thread's current one again."""
    if outer is None:
        del RUNS[get_ident()]
    else:
        RUNS[get_ident()] = outer
