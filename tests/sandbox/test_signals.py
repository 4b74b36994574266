"""Ctrl-C and SIGTERM while a guest runs in the main thread, each in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rotifer_host.sandbox import Deadline, Interrupts, available_call_paths

PROGRAM = """
import os, signal, sys, threading, time
from rotifer_host.limits import Limits
from rotifer_host.sandbox import *

GUESTS = {
    "spinning": "(loop (br 0))",
    "calling": "(loop (drop (call $budget)) (br 0))",
    "adding": "(loop (drop (call $add (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4))) (br 0))",
    "exchanging": "(loop (drop (call $echo (i32.const 0) (i32.const 50) (i32.const 64) (i32.const 50))) (br 0))",
    "waiting": "(loop (call $wait) (br 0))",
    "starting": "",
}
BODY = GUESTS[GUEST]
START = "(func $go (call $ready) (loop (br 0))) (start $go)" if GUEST == "starting" else ""

def wait(run):
    while run.deadline.remaining_s() > 0:
        time.sleep(0.001)

functions = HostFunctions(core_functions(), (
    PlainFunction("test", "wait", (), (), wait),
    PlainFunction("test", "add", ("i32",) * 4, ("i32",), lambda _run, *numbers: sum(numbers)),
    ExchangeFunction("test", "echo", lambda _run: None, lambda _run, request, _out_cap: request),
    PlainFunction("test", "ready", (), (), lambda _run: print("running", flush=True)),
))
box = Sandbox(functions, call_path=PATH)
module = box.load(assemble('''(module (import "rotifer" "remainingBudget" (func $budget (result i64)))
    (import "test" "add" (func $add (param i32 i32 i32 i32) (result i32)))
    (import "test" "echo" (func $echo (param i32 i32 i32 i32) (result i32)))
    (import "test" "wait" (func $wait)) (import "test" "ready" (func $ready)) (memory (export "memory") 1) %s
    (func (export "express") (param i32 i32) (result i32) (call $ready) %s (i32.const 0)))
    ''' % (START, BODY)), name="guest")

def run():
    return box.run(module, b"1", limits=Limits(fuel=1 << 60), deadline=Deadline(30_000),
        host_time=HostTime(30_000), services=None, context={}, logical_ms=0)

"""
GUESTS = ("spinning", "calling", "waiting", "starting")
PATHS = available_call_paths()


def interrupted(
    path: str, guest: str, source: str, number: int = signal.SIGINT, options: tuple[str, ...] = ()
) -> tuple[int, str, str]:
    """Start a program, send it a signal while its guest runs, and return its exit status, stdout and stderr.

    Once the signal is sent, its standard input ends.
    """
    setting = f"PATH, GUEST = {path!r}, {guest!r}\n"
    program = subprocess.Popen(
        [sys.executable, *options, "-c", setting + PROGRAM + source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "running\n"
        program.send_signal(number)
        out, err = program.communicate(timeout=20)
    finally:
        program.kill()
        program.wait()
    return program.returncode, out, err


IN_THE_MAIN_THREAD = """
try:
    print(run())
except KeyboardInterrupt:
    print("KeyboardInterrupt", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.mark.parametrize(
    ("guest", "times"),
    [("spinning", 10), ("calling", 10), ("adding", 5), ("exchanging", 5), ("waiting", 3), ("starting", 3)],
)
@pytest.mark.parametrize("path", PATHS)
def test_ctrl_c(path: str, guest: str, times: int) -> None:
    """Ctrl-C ends the guest at once and is raised as usual, every time, whatever the guest is doing."""
    for _ in range(times):
        assert interrupted(path, guest, IN_THE_MAIN_THREAD) == (0, "KeyboardInterrupt True\n", "")


HANDLER = """
received = []
signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
result = run()
print(result.status, result.error.code, received == [signal.SIGTERM])
"""


@pytest.mark.parametrize("guest", GUESTS)
@pytest.mark.parametrize("path", PATHS)
def test_handler_that_does_not_raise(path: str, guest: str) -> None:
    """A handler of the program's own is called once the guest has ended; if it returns, the run was interrupted."""
    for _ in range(3):
        assert interrupted(path, guest, HANDLER, signal.SIGTERM) == (0, "failed INTERRUPTED True\n", "")


EXITING = """
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(7))
run()
"""


@pytest.mark.parametrize("path", PATHS)
def test_handler_that_exits(path: str) -> None:
    """What a handler raises leaves the run."""
    assert interrupted(path, "spinning", EXITING, signal.SIGTERM) == (7, "", "")


@pytest.mark.parametrize("path", PATHS)
def test_default_action(path: str) -> None:
    """A signal left to the system ends the process as always."""
    assert interrupted(path, "spinning", "run()", signal.SIGTERM)[0] == -signal.SIGTERM


IGNORED = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
def stop(deadline):
    sys.stdin.read()
    deadline.cancel()
deadline = Deadline(30_000)
threading.Thread(target=stop, args=(deadline,)).start()
result = box.run(module, b"1", limits=Limits(fuel=1 << 60), deadline=deadline, host_time=HostTime(30_000),
    services=None, context={}, logical_ms=0)
print(result.error.code, signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
"""


@pytest.mark.parametrize("path", PATHS)
def test_ignored_signal(path: str) -> None:
    """A signal the program ignores stays ignored."""
    assert interrupted(path, "spinning", IGNORED) == (0, "INTERRUPTED True\n", "")


NESTED = """
inner = module
outer_functions = HostFunctions(core_functions(), (PlainFunction("test", "wait", (), (), lambda _run: run() and None),))
outer_box = Sandbox(outer_functions, call_path=PATH)
outer = outer_box.load(assemble('''(module (import "test" "wait" (func $wait)) (memory (export "memory") 1)
    (func (export "express") (param i32 i32) (result i32) (call $wait) (loop (br 0)) (i32.const 0)))'''), name="outer")
try:
    outer_box.run(outer, b"1", limits=Limits(fuel=1 << 60), deadline=Deadline(30_000), host_time=HostTime(30_000),
        services=None, context={}, logical_ms=0)
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""


@pytest.mark.parametrize("path", PATHS)
def test_nested_runs(path: str) -> None:
    """Ctrl-C ends a guest that runs inside another guest's host call, and the outer one with it."""
    assert interrupted(path, "spinning", NESTED) == (0, "KeyboardInterrupt\n", "")


FORKED = """
def fork():
    global child
    child = os.fork()
    if child == 0:
        received = []
        signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
        result = run()
        print(result.status, result.error.code, received == [signal.SIGTERM], flush=True)
        os._exit(0)
    os.waitpid(child, 0)

signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, number))
thread = threading.Thread(target=fork)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("path", PATHS)
def test_the_thread_that_forked(path: str) -> None:
    """In a forked process the thread that forked is the main one: its guests end at a signal."""
    ended = interrupted(path, "spinning", FORKED, signal.SIGTERM, options=("-W", "ignore::DeprecationWarning"))
    assert ended == (0, "failed INTERRUPTED True\n", "")


def test_every_handler_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers are put back whatever one of them raises as soon as it is."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    own = [lambda _number, _frame: None for _ in before]

    def raising(number: int, handler: object) -> None:
        signal.signal(number, handler)  # type: ignore[arg-type]
        if handler in own:
            raise KeyboardInterrupt(number)

    fake = SimpleNamespace(getsignal=signal.getsignal, signal=raising)
    try:
        signal.signal(signal.SIGINT, own[0])
        signal.signal(signal.SIGTERM, own[1])
        monkeypatch.setattr("rotifer_host.sandbox.interrupts._signal", fake)
        with pytest.raises(KeyboardInterrupt), Interrupts(Deadline(1000)):
            assert not {signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)} & set(own)
        assert [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)] == own
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
