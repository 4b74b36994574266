"""The ticker, in C and as a thread of Python's."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from rotifer_host.sandbox import GuestResult, epoch
from rotifer_host.sandbox.engine import engine

RunGuest = Callable[..., GuestResult]
Writer = Callable[..., str]
Maker = Callable[[Callable[[], None], float], epoch.Ticker]

PATIENCE_S = 20


def native() -> Any:
    """Return the extension."""
    return pytest.importorskip("rotifer_host.sandbox._native", reason="the extension is not built")


@pytest.fixture
def wait_for_tickers(tickers: Callable[[], set[int | None]]) -> Callable[[], None]:
    """Return a function that waits until every ticker has ended: they must have no runs."""

    def wait() -> None:
        patience = time.monotonic() + PATIENCE_S
        while tickers():
            assert time.monotonic() < patience
            time.sleep(0.002)

    return wait


@pytest.fixture(params=["thread", "native"])
def make_ticker(request: pytest.FixtureRequest, wait_for_tickers: Callable[[], None]) -> Iterator[Maker]:
    """Return a maker of tickers that call a function of Python's; waits for their threads in the end."""
    alive = []

    def make(increment: Callable[[], None], tick_s: float) -> epoch.Ticker:
        if request.param == "thread":
            return epoch.ThreadTicker(increment, tick_s)
        callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _subject: increment())
        alive.append(callback)
        address = ctypes.cast(callback, ctypes.c_void_p).value or 0
        ticker: epoch.Ticker = native().Ticker(increment=address, subject=0, tick_s=tick_s)
        return ticker

    yield make
    wait_for_tickers()


def test_ticker_runs_while_there_are_runs(
    run_guest: RunGuest, gene: Writer, tickers: Callable[[], set[int | None]], wait_for_tickers: Callable[[], None]
) -> None:
    """Runs that follow each other share one ticker thread, which ends when no more come."""
    wait_for_tickers()
    for _ in range(20):
        run_guest(gene())
    assert len(tickers()) <= 1
    wait_for_tickers()
    assert engine().ticker.runs == 0


def test_no_run_goes_without_a_ticker(make_ticker: Maker) -> None:
    """A run that comes while the ticker is about to end is ticked for like any other."""
    ticked = threading.Event()
    ticker = make_ticker(ticked.set, 0.0005)
    random = Random(1)  # noqa: S311 - only pauses
    for _ in range(150):
        mark = ticker.add(time.monotonic() + 60)
        for _ in range(2):  # the first may be the last of a ticker that ends
            ticked.clear()
            assert ticked.wait(PATIENCE_S)
        ticker.remove(mark)
        time.sleep(random.uniform(0, 0.005))


def test_deadline_between_two_ticks(make_ticker: Maker) -> None:
    """The ticker wakes up when a deadline passes, however far away the next tick is."""
    ticks: list[float] = []
    passed = threading.Event()
    started = time.monotonic()
    near, far = started + 0.1, started + 0.55

    def tick() -> None:
        ticks.append(time.monotonic())
        if ticks[-1] >= near:
            passed.set()

    ticker = make_ticker(tick, 0.6)
    marks = [ticker.add(far), ticker.add(near)]
    assert passed.wait(PATIENCE_S)
    assert any(near <= tick < far for tick in ticks)
    for mark in marks:
        ticker.remove(mark)


def test_runs_are_counted(make_ticker: Maker) -> None:
    """Each run counts once, deadlines that are equal too, and many at once."""
    ticker = make_ticker(lambda: None, 0.001)
    expiry = time.monotonic() + 60
    marks = [ticker.add(expiry) for _ in range(100)]
    assert ticker.runs == 100
    for mark in marks:
        ticker.remove(mark)
    assert ticker.runs == 0


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the child only does what is safe
def test_a_fork_starts_afresh(make_ticker: Maker) -> None:
    """In a forked process there are no runs and no thread, and a run gets both."""
    ticked = threading.Event()
    ticker = make_ticker(ticked.set, 0.001)
    mark = ticker.add(time.monotonic() + 60)
    assert ticked.wait(PATIENCE_S)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ticker.reset()
            ticked.clear()
            forgotten = ticker.runs == 0
            ticker.remove(mark)
            ticker.add(time.monotonic() + 60)
            status = 0 if forgotten and ticked.wait(PATIENCE_S) else 2
        finally:
            os._exit(status)
    ticker.remove(mark)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_ticks_need_no_lock(wait_for_tickers: Callable[[], None]) -> None:
    """The ticker in C ticks while a thread keeps the interpreter lock."""
    extension = native()
    library = ctypes.PyDLL(None, use_errno=True)  # calls keep the lock
    semaphore = ctypes.create_string_buffer(64)
    assert library.sem_init(semaphore, 0, 0) == 0
    increment = ctypes.cast(library.sem_post, ctypes.c_void_p).value
    ticker = extension.Ticker(increment=increment, subject=ctypes.addressof(semaphore), tick_s=0.001)
    mark = ticker.add(time.monotonic() + 60)
    until = (ctypes.c_long * 2)(int(time.time()) + PATIENCE_S, 0)
    waited = library.sem_timedwait(semaphore, until)
    ticker.remove(mark)
    wait_for_tickers()
    assert waited == 0, os.strerror(ctypes.get_errno())
