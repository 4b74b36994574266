"""The recorder itself: what it leaves when the host fails, and that nobody else pays for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rotifer_host import Limits, Recorder
from rotifer_host.record import read_recording, replay
from rotifer_host.sandbox import Deadline, ExchangeFunction, HostFunctions, HostTime, Run, assemble

CALLER = """(module (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1) (data (i32.const 8) "hello")
  (func (export "express") (param i32 i32) (result i32)
    (drop (call $read (i32.const 8) (i32.const 5) (i32.const 64) (i32.const 9)))
    (i32.const 0)))"""


def _let_in(_run: Run) -> None:
    """Refuse nobody."""


def _fail(_run: Run, _request: bytes, _out_cap: int) -> bytes:
    message = "a bug of the host"
    raise RuntimeError(message)


def test_a_run_that_a_bug_of_the_host_ended_is_recorded(file: Path, call_path: str) -> None:
    """Up to the call it ended in, without an outcome; it replays that far."""
    recorder = Recorder(file)
    functions = HostFunctions((ExchangeFunction("rotifer", "readMemory", _let_in, _fail),))
    sandbox = recorder.sandbox(functions, call_path=call_path, cache_dir=None)
    limits = Limits()
    module = sandbox.load(assemble(CALLER), name="caller")
    with pytest.raises(RuntimeError, match="a bug of the host"):
        sandbox.run(
            module,
            b"{}",
            limits=limits,
            deadline=Deadline(limits.deadline_ms),
            host_time=HostTime(limits.host_time_ms),
            services=None,
            context={},
            logical_ms=0,
        )
    recorder.save(agent=None, agent_id=None, composition=None, limits=limits)
    recording = read_recording(file)
    (part,) = recording.parts
    (event,) = part.events
    assert (part.outcome, event.function, event.result) == (None, "rotifer.readMemory", None)
    again = replay(recording, functions, call_path=call_path)
    assert (again.same, again.parts[0].calls) == (True, 1)


def test_who_records_nothing_loads_nothing_of_it() -> None:
    """The library without a recorder has no part of it in memory, let alone in the way."""
    program = (
        "import sys, rotifer_host.api; print([name for name in sys.modules if name.startswith('rotifer_host.record')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
