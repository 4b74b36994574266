"""Which run a thread is in: how one set of host functions serves every guest.

Host functions are made once and know no run; they find theirs by the thread they
are called on, which is the thread that runs the guest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rotifer_host.sandbox.run import Run

__all__ = ["RUNS", "entered"]

RUNS: Final[dict[int, Run]] = {}
"""The innermost run of each thread, by `threading.get_ident()`."""


@contextmanager
def entered(run: Run) -> Iterator[None]:
    """Make `run` the current one of this thread, and the one before it afterwards."""
    thread = get_ident()
    outer = RUNS.get(thread)
    RUNS[thread] = run
    try:
        yield
    finally:
        if outer is None:
            del RUNS[thread]
        else:
            RUNS[thread] = outer
