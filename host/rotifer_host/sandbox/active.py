"""Which run guest code belongs to: how one set of host functions serves every guest.

Host functions are made once and know no run; they find theirs by the context they are
called in, which is that of the thread that runs the guest.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rotifer_host.sandbox.run import Run

__all__ = ["current", "enter", "leave"]

_run: Final[ContextVar[Run]] = ContextVar("rotifer_run")

current: Final = _run.get
"""Returns the innermost run of this thread; raises `LookupError` where there is none, unless given what to return."""
enter: Final = _run.set
"""Makes a run the current one of this thread; returns what `leave` takes to make the one before it current again."""
leave: Final = _run.reset


def _after_fork() -> None:
    """In a forked child, end this thread's guest: it is the parent's to finish."""
    run = current(None)
    if run is not None:
        run.deadline.cancel()


os.register_at_fork(after_in_child=_after_fork)
