"""Who is compared, and the one shape all of them have.

A peer brings its own engine, its own way to bind host functions and its own copy of
the memory; the cases, requests and expected answers are the same for all
(`bench/work.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from bench.work import Case

__all__ = ["Missing", "Peer", "Runner"]

Runner = Callable[[int], object]
"""Run a case's guest once, from nothing, on so many units; returns its output, bytes or the JSON value."""


class Missing(Exception):  # noqa: N818 - says that something is not there
    """A peer, or a case of it, cannot be timed on this machine; the message says what it lacks."""


class Peer(Protocol):
    """One way to run guests with a memory."""

    name: str
    """How it is called in tables."""

    def runner(self, case: Case) -> AbstractContextManager[Runner]:
        """Prepare the work that is not timed: compile the guest, bind its imports.

        Raises `Missing` for a case this peer has no counterpart of.
        """
        ...
