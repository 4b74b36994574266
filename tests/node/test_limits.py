"""Time, memory and host time of a script: the process ends, the host does not."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from rotifer_host import contract
from rotifer_host.agent.memory_calls import NoMemory
from rotifer_host.errors import AccessDeniedError
from rotifer_host.limits import Limits
from rotifer_host.node.runner import NodeRunner
from rotifer_host.sandbox import Deadline, GuestResult, HostTime

Express = Callable[..., GuestResult]
MakeRunner = Callable[[str], NodeRunner]

ENDLESS = {
    "a loop": "export function express() { for (;;); }",
    "a loop while loading": "for (;;); export function express() {}",
    "a timer": "export const express = () => new Promise(() => setInterval(() => {}, 1000))",
    "printing": 'export function express() { for (;;) console.log("x".repeat(1000)) }',
    "asking": 'export function express(i, { memory }) { for (;;) try { memory.readMemory("k") } catch {} }',
}
HUNGRY = {
    "objects": "const a = []; for (;;) a.push({ x: [1, 2, Math.random()] })",
    "buffers": "const a = []; for (;;) a.push(Buffer.alloc(16 << 20, 1))",
    "linear memory": "const m = new WebAssembly.Memory({ initial: 1 }); for (;;) m.grow(256)",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_deadline(name: str, express: Express) -> None:
    """A script that would never end is ended at the deadline."""
    result = express(ENDLESS[name], deadline_ms=400)

    assert result.error is not None
    assert (result.status, result.error.code) == ("limit", "DEADLINE_EXCEEDED")
    assert result.error.message == "not done after 400 ms"


@pytest.mark.parametrize("name", HUNGRY)
def test_memory(name: str, express: Express) -> None:
    """A script that wants more memory than the limit ends with that limit, wherever the memory comes from."""
    result = express(f"export function express() {{ {HUNGRY[name]} }}", memory_bytes=32 * contract.MIB)

    assert result.error is not None
    assert (result.status, result.error.code) == ("limit", "MEMORY_EXCEEDED")
    assert result.error.message == "used up its memory of 32 MB"


def test_memory_that_node_cannot_start_with(express: Express) -> None:
    """A limit below what Node.js itself needs is hit before anything starts."""
    result = express("export const express = () => 1", memory_bytes=contract.MIB)

    assert result.error is not None
    assert (result.status, result.error.code) == ("limit", "MEMORY_EXCEEDED")
    assert "16 MB" in result.error.message


def test_the_largest_limits_there_are(express: Express) -> None:
    """Limits beyond what V8 and the kernel can say are as good as none."""
    most = (1 << 63) - 1

    assert express("export const express = () => 1", memory_bytes=most, host_time_ms=most, fuel=most).output == 1


def test_host_time(make_runner: MakeRunner) -> None:
    """A call that finds the host time of the run used up ends the run, since no code of the Memory API says that."""
    spent = HostTime(1)
    spent.add(0.002)
    calls = []

    def refuse(call: str) -> AccessDeniedError:
        calls.append(call)
        return AccessDeniedError(call)

    result = make_runner('export const express = (i, { memory }) => memory.readMemory("k")').run(
        b"null",
        limits=Limits(),
        deadline=Deadline(60_000),
        host_time=spent,
        services=NoMemory(refuse),
        context={},
        logical_ms=0,
        version=None,
    )

    assert result.error is not None
    assert (result.status, result.error.code, calls) == ("limit", "HOST_TIME_EXCEEDED", [])
    assert result.host_calls["readMemory"].errors == {contract.BUDGET_EXHAUSTED: 1}


def test_cancelling(make_runner: MakeRunner) -> None:
    """Another thread can cancel a run."""
    deadline = Deadline(60_000)
    threading.Timer(0.2, deadline.cancel).start()

    result = make_runner("export function express() { for (;;); }").run(
        b"null",
        limits=Limits(),
        deadline=deadline,
        host_time=HostTime(60_000),
        services=NoMemory(AccessDeniedError),
        context={},
        logical_ms=0,
        version=None,
    )

    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "INTERRUPTED")
