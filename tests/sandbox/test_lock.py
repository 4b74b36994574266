"""Python's lock while a guest runs: whoever else wants it, gets it."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

import pytest

from rotifer_host.sandbox import Deadline, GuestResult, PlainFunction, Run

RunGuest = Callable[..., GuestResult]
Writer = Callable[..., str]

BODY = "(call $begin) (loop $l (br $l))"
IMPORT = '(import "test" "begin" (func $begin))'
DEADLINE_MS = 30_000


def interrupted(run_guest: RunGuest, gene: Writer, begin: Callable[[Run], None]) -> bool:
    """Run a guest that calls `begin` and then computes for ever; tell whether it was cancelled before its deadline."""
    functions = (PlainFunction("test", "begin", (), (), begin),)
    result = run_guest(gene(BODY, imports=IMPORT), functions=functions, deadline=Deadline(DEADLINE_MS))
    assert result.error is not None
    return result.error.code == "INTERRUPTED"


def test_a_thread_that_comes_later(run_guest: RunGuest, gene: Writer) -> None:
    """A thread that is started while a guest runs computes beside it."""
    threads = []

    def compute_and_cancel(run: Run) -> None:
        sum(range(100_000))
        run.deadline.cancel()

    def begin(run: Run) -> None:
        threads.append(threading.Thread(target=compute_and_cancel, args=(run,)))
        threads[0].start()

    assert interrupted(run_guest, gene, begin)
    threads[0].join()


def test_a_thread_that_python_does_not_know(
    run_guest: RunGuest, gene: Writer, tickers: Callable[[], set[int | None]]
) -> None:
    """A thread of C's that calls into Python for the first time while a guest computes gets the lock."""
    extension = pytest.importorskip("rotifer_host.sandbox._native", reason="the extension is not built")
    runs: list[Run] = []

    def cancel(_subject: int) -> None:
        runs[0].deadline.cancel()

    tick = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(cancel)
    ticker = extension.Ticker(increment=ctypes.cast(tick, ctypes.c_void_p).value, subject=0, tick_s=0.02)
    marks: list[int] = []

    def begin(run: Run) -> None:
        runs.append(run)
        marks.append(ticker.add(run.deadline.expiry))

    assert interrupted(run_guest, gene, begin)
    ticker.remove(marks[0])
    while tickers():  # the callback must outlive it
        time.sleep(0.002)
