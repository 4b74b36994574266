"""The engine's settings, forks, the ticker, and what runs leave behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

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
)
from rotifer_host.sandbox.active import current
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


@pytest.mark.parametrize("held", ["rotifer_host.sandbox.engine._lock", "rotifer_host.api.sandboxes._sandboxes_lock"])
def test_fork_while_another_thread_makes_what_all_share(held: str) -> None:
    """The child, where that thread does not exist, waits for nothing that it held."""
    done = python(f"""
import threading
from rotifer_host.api import sandboxes
module, name = {held.rpartition(".")[::2]}
locked = threading.Event()
def hold():
    with getattr(sys.modules[module], name):
        locked.set()
        threading.Event().wait()
threading.Thread(target=hold, daemon=True).start()
locked.wait()
child = os.fork()
if child == 0:
    print(sandboxes.sandbox_for("plain").call_path, run(7), flush=True)
    os._exit(0)
os._exit(os.waitpid(child, 0)[1])
""")
    assert (done.returncode, done.stdout) == (0, "plain 7\n")


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


def test_small_stack() -> None:
    """A thread whose stack a guest could overflow is refused before any guest runs; one of a megabyte is not."""
    done = python("""
import threading
from rotifer_host.errors import UsageError
def deep():
    try:
        print(run(1, "(drop (call 0 (i32.const 0) (i32.const 0)))"))
    except UsageError as error:
        print(error.message)
for size in (256, 1024):
    threading.stack_size(size << 10)
    thread = threading.Thread(target=deep)
    thread.start()
    thread.join()
""")
    refusal = "a guest needs a thread with 1 MB of stack; this one has 256 KB"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{refusal}\nSTACK_OVERFLOW\n", "")


def test_small_stack_of_the_main_thread() -> None:
    """The same holds for the main thread, whose stack is the system's to limit."""
    done = python("""
import resource
from rotifer_host.errors import UsageError
_, most = resource.getrlimit(resource.RLIMIT_STACK)
resource.setrlimit(resource.RLIMIT_STACK, (512 << 10, most))
try:
    run(1)
except UsageError as error:
    print(error.message)
resource.setrlimit(resource.RLIMIT_STACK, (most, most))
print(run(1))
""")
    refusal = "a guest needs a thread with 1 MB of stack; this one has 512 KB"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{refusal}\n1\n", "")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the child only does what is safe
def test_fork_in_a_host_call(run_guest: RunGuest, gene: Writer) -> None:
    """The guest of a host call that forks is the parent's: in the child its run ends as interrupted, at once."""
    children: list[int] = []

    def fork(_run: Run) -> None:
        children.append(os.fork())

    limits = Limits(fuel=1 << 60, deadline_ms=300)
    functions = (PlainFunction("test", "fork", (), (), fork),)
    imports = '(import "test" "fork" (func $fork))'
    result = run_guest(gene("(call $fork) (loop (br 0))", imports=imports), functions=functions, limits=limits)
    if children[0] == 0:
        os._exit(0 if result.error is not None and result.error.code == "INTERRUPTED" else 1)
    assert result.error is not None
    assert result.error.code == "DEADLINE_EXCEEDED"
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0


def test_another_interpreter() -> None:
    """Another interpreter of the process does not get the native path, and does not take it from the main one."""
    pytest.importorskip("_xxsubinterpreters", reason="this Python has no module of this name to make interpreters")
    pytest.importorskip("rotifer_host.sandbox._native", reason="the extension is not built")
    done = python("""
import _xxsubinterpreters
wasm = assemble('(module (import "test" "answer" (func $answer (result i32))) (memory (export "memory") 1)'
    ' (func (export "express") (param i32 i32) (result i32) (i32.store8 (i32.const 0) (call $answer)) (i32.const 0)))')
box = Sandbox(HostFunctions((PlainFunction("test", "answer", (), ("i32",), lambda run: ord("7")),)))
module = box.load(wasm, name="guest")
other = _xxsubinterpreters.create(isolated=False)
_xxsubinterpreters.run_string(other, '''
from rotifer_host.sandbox import available_call_paths
print(available_call_paths(), flush=True)
''')
_xxsubinterpreters.destroy(other)
print(box.call_path, box.run(module, b"1", limits=Limits(), deadline=Deadline(60_000), host_time=HostTime(60_000),
    services=None, context={}, logical_ms=0).output)
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "['raw', 'plain']\nnative 7\n", "")


def test_same_floats_everywhere(run_guest: RunGuest, gene: Writer) -> None:
    """The bits of a NaN that a guest computes are always the same."""
    services: list[bytes] = []
    body = """(f32.store (i32.const 64) (f32.div (f32.const 0) (f32.const 0)))
        (f32.store (i32.const 68) (f32.add (f32.reinterpret_i32 (i32.const 0xffc12345)) (f32.const 1)))
        (call $peek (i32.const 64) (i32.const 8))"""
    run_guest(gene(body, imports='(import "test" "peek" (func $peek (param i32 i32)))'), services=services)
    assert services == [b"\0\0\xc0\x7f" * 2]


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
    assert current(None) is None
    assert not isinstance(_func.LAST_EXCEPTION, BaseException)
    assert sum(isinstance(thing, Run) for thing in gc.get_objects()) <= objects
    assert engine().ticker.runs == 0
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
    """A deadline shorter than a tick ends the run, and not before it has passed."""
    deadline = Deadline(3)
    result = run_guest(gene("(loop (br 0))"), limits=Limits(fuel=1 << 60), deadline=deadline)
    late = time.monotonic() - deadline.expiry
    assert result.status == "limit"
    assert late >= 0
