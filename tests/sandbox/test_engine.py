"""The engine's settings, forks, the ticker, and what runs leave behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from wasmtime import _func

from rotifer_host.limits import Limits
from rotifer_host.sandbox import (
    Deadline,
    ExchangeFunction,
    GuestResult,
    HostTime,
    PlainFunction,
    Run,
    Sandbox,
    assemble,
    capi,
    epoch,
)
from rotifer_host.sandbox.active import RUNS
from rotifer_host.sandbox.engine import engine

RunGuest = Callable[..., GuestResult]
Writer = Callable[..., str]

PROGRAM = """
import os, sys
from rotifer_host.limits import Limits
from rotifer_host.sandbox import *

def run(number, body="", fuel=500_000_000, ms=60_000):
    wasm = assemble('(module (memory (export "memory") 1) (data (i32.const 0) "%d") (func (export "express")'
        ' (param i32 i32) (result i32) %s (i32.const 0)) (func (export "alloc") (param i32) (result i32)'
        ' (i32.const 64)))' % (number, body))
    box = Sandbox(HostFunctions(core_functions(), wasi_functions()))
    result = box.run(box.load(wasm, name="guest"), b"1", limits=Limits(fuel=fuel), deadline=Deadline(ms),
        host_time=HostTime(1000), services=None, context={}, logical_ms=0)
    return result.output if result.error is None else result.error.code
"""


def python(source: str) -> subprocess.CompletedProcess[str]:
    """Run a program that can make and run guests."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + source], capture_output=True, text=True, timeout=60, check=False
    )


def test_settings_in_a_process_of_their_own() -> None:
    """The engine's settings fit together: a wrong combination aborts the process that makes an engine of them."""
    done = python("print(run(7))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")


def test_fork() -> None:
    """A fork of a process that has run guests compiles and runs them too, with deadlines that end them."""
    done = python("""
assert run(1) == 1
child = os.fork()
if child == 0:
    print(run(2), run(3), run(4, "(loop (br 0))", 1 << 60, 30), flush=True)
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
""")
    assert (done.returncode, done.stdout) == (0, "2 3 DEADLINE_EXCEEDED\n")


def test_faulthandler_first() -> None:
    """Guests trap as always in a program that enabled faulthandler before its first sandbox."""
    done = python('import faulthandler; faulthandler.enable(); print(run(1, "(unreachable)"), run(2))')
    assert (done.returncode, done.stdout, done.stderr) == (0, "TRAP 2\n", "")


def test_faulthandler_later() -> None:
    """A faulthandler enabled later, which would take a guest's trap for a crash, is refused before any guest runs."""
    done = python("""
import faulthandler
from rotifer_host.errors import UsageError
assert run(1) == 1
faulthandler.enable()
try:
    run(1, "(unreachable)")
except UsageError as error:
    print(error.help)
faulthandler.disable()
print(run(1, "(unreachable)"))
""")
    assert (done.returncode, done.stdout) == (0, "call faulthandler.enable() before the first sandbox is made\nTRAP\n")


def test_same_floats_everywhere(run_guest: RunGuest, gene: Writer) -> None:
    """The bits of a NaN that a guest computes are always the same."""
    services: list[bytes] = []
    body = """(f32.store (i32.const 64) (f32.div (f32.const 0) (f32.const 0)))
        (f32.store (i32.const 68) (f32.add (f32.reinterpret_i32 (i32.const 0xffc12345)) (f32.const 1)))
        (call $peek (i32.const 64) (i32.const 8))"""
    run_guest(gene(body, imports='(import "test" "peek" (func $peek (param i32 i32)))'), services=services)
    assert services == [b"\0\0\xc0\x7f" * 2]


def tickers() -> list[threading.Thread]:
    """Return the ticker's threads."""
    return [thread for thread in threading.enumerate() if thread.name == "rotifer-ticker"]


def wait_for_tickers() -> None:
    """Wait until every ticker that has no runs has ended."""
    for thread in tickers():
        thread.join(10)


def test_ticker_runs_while_there_are_runs(run_guest: RunGuest, gene: Writer) -> None:
    """Runs that follow each other share one ticker thread, which ends when no more come."""
    wait_for_tickers()
    for _ in range(20):
        run_guest(gene())
    assert len(tickers()) <= 1
    wait_for_tickers()
    assert tickers() == []
    assert engine().ticker._deadlines == {}


def test_no_run_goes_without_a_ticker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that comes while the ticker is about to end is ticked for like any other."""
    ticked = threading.Event()
    monkeypatch.setattr(capi, "increment_epoch", lambda _engine: ticked.set())
    monkeypatch.setattr(epoch, "TICK_S", 0.0005)
    ticker = epoch.Ticker(engine().address)
    random = Random(1)  # noqa: S311 - only pauses
    for number in range(500):
        ticker.add(number, Deadline(60_000))
        for _ in range(2):  # the first may be the last of a ticker that ends
            ticked.clear()
            assert ticked.wait(10)
        ticker.remove(number)
        time.sleep(random.uniform(0, 0.005))
    wait_for_tickers()


def test_deadline_between_two_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ticker wakes up when a deadline passes, however far away the next tick is."""
    ticks: list[float] = []
    passed = threading.Event()
    deadlines = [Deadline(400), Deadline(200)]

    def tick(_engine: int) -> None:
        ticks.append(time.monotonic())
        if ticks[-1] >= deadlines[0].expiry:
            passed.set()

    monkeypatch.setattr(capi, "increment_epoch", tick)
    monkeypatch.setattr(epoch, "TICK_S", 30)
    ticker = epoch.Ticker(engine().address)
    for number, deadline in enumerate(deadlines):
        ticker.add(number, deadline)
    assert passed.wait(20)
    assert any(deadlines[1].expiry <= tick < deadlines[0].expiry for tick in ticks)
    monkeypatch.setattr(epoch, "TICK_S", 0.001)
    ticker.add(2, Deadline(1))
    for number in range(3):
        ticker.remove(number)
    wait_for_tickers()


def resident_bytes() -> int | None:
    """Return this process's resident memory; None where no /proc is mounted."""
    try:
        statm = Path("/proc/self/statm").read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_runs_leave_nothing(sandbox: Callable[..., Sandbox], gene: Writer) -> None:
    """Three thousand runs of every ending leave no handle, no run, no thread and no memory behind."""
    exchange = ExchangeFunction("rotifer", "call", lambda _run: None, lambda _run, request, _capacity: request)
    box = sandbox(exchange)
    imports = """(import "rotifer" "call" (func $call (param i32 i32 i32 i32) (result i32)))
        (import "env" "abort" (func $abort (param i32 i32 i32 i32)))"""
    call = "(drop (call $call (i32.const 0) (i32.const 100) (i32.const 4096) (i32.const 100)))"
    abort = "(call $abort (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"
    bodies = (call, call + abort, call + "(unreachable)", call + "(loop (br 0))")
    modules = [box.load(assemble(gene(body, imports=imports)), name="guest") for body in bodies]

    def run(times: int) -> None:
        for _ in range(times):
            for module in modules:
                box.run(
                    module,
                    b"1",
                    limits=Limits(fuel=50_000),
                    deadline=Deadline(60_000),
                    host_time=HostTime(60_000),
                    services=[],
                    context={},
                    logical_ms=0,
                )

    run(50)
    gc.collect()
    handles, memory = len(_func.FUNCTIONS.handles), resident_bytes()
    objects = sum(isinstance(thing, Run) for thing in gc.get_objects())
    run(750)
    gc.collect()
    assert len(_func.FUNCTIONS.handles) == handles
    assert RUNS == {}
    assert not isinstance(_func.LAST_EXCEPTION, BaseException)
    assert sum(isinstance(thing, Run) for thing in gc.get_objects()) <= objects
    assert len(tickers()) <= 1
    after = resident_bytes()
    if memory is None or after is None:
        pytest.skip("no /proc: whether memory grows cannot be measured")
    assert after - memory < 8 << 20


def test_sandboxes_leave_nothing(sandbox: Callable[..., Sandbox], gene: Writer) -> None:
    """Host functions go with their sandbox."""
    wasm = assemble(gene())
    sandbox().load(wasm, name="guest")
    gc.collect()
    handles = len(_func.FUNCTIONS.handles)
    for _ in range(50):
        sandbox().load(wasm, name="guest")
    gc.collect()
    assert len(_func.FUNCTIONS.handles) == handles


def test_exception_is_not_left_to_others(run_guest: RunGuest, gene: Writer) -> None:
    """A bug in a host function reaches its caller alone: no other user of the engine's library meets it."""

    def broken(_run: Run) -> None:
        message = "bug"
        raise ValueError(message)

    imports = '(import "test" "broken" (func $broken))'
    with pytest.raises(ValueError, match="bug"):
        run_guest(gene("(call $broken)", imports=imports), functions=(PlainFunction("test", "broken", (), (), broken),))
    assert _func.LAST_EXCEPTION is None


def test_tick_comes_when_a_deadline_passes(run_guest: RunGuest, gene: Writer) -> None:
    """A deadline shorter than a tick ends the run soon after it: nobody waits for a whole tick of many."""
    deadline = Deadline(3)
    result = run_guest(gene("(loop (br 0))"), limits=Limits(fuel=1 << 60), deadline=deadline)
    late = time.monotonic() - deadline.expiry
    assert result.status == "limit"
    assert 0 <= late < 5
