"""A run that another thread ends."""

from __future__ import annotations

import threading

import pytest

from rotifer_host import Deadline, Limits
from rotifer_host.testing import temporary_agent

ENDLESS = """(module (import "rotifer" "log" (func $log (param i32 i32 i32))) (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32)
    (loop $for_ever (call $log (i32.const 1) (i32.const 0) (i32.const 1)) (br $for_ever)) i32.const 0))"""


@pytest.mark.parametrize("call_path", ["auto", "raw", "plain"])
def test_a_cancelled_deadline_ends_its_run(call_path: str) -> None:
    """A run ends failed when its deadline is cancelled, and its other limits stay."""
    deadline = Deadline(600_000)
    timer = threading.Timer(0.1, deadline.cancel)
    with temporary_agent({"endless": ENDLESS}) as agent:
        timer.start()
        try:
            result = agent.run({}, limits=Limits(fuel=1 << 62), deadline=deadline, call_path=call_path)
        finally:
            timer.join()
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "INTERRUPTED")


def test_a_deadline_takes_the_place_of_the_limit() -> None:
    """A deadline that was given counts, and not the one in the limits."""
    with temporary_agent({"endless": ENDLESS}) as agent:
        result = agent.run({}, limits=Limits(fuel=1 << 62, deadline_ms=600_000), deadline=Deadline(50))
    assert result.error is not None
    assert (result.status, result.error.message) == ("limit", "not done after 50 ms")
