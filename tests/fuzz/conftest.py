"""A guest that makes whatever host calls it is told to, over a real memory, and what may come of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from rotifer_host import Agent, Limits, contract
from rotifer_host.agent.memory_calls import MemoryAccess, memory_functions
from rotifer_host.clock import Clock
from rotifer_host.memory import AgentMemory, Caller
from rotifer_host.sandbox import (
    Deadline,
    GuestResult,
    HostFunctions,
    HostTime,
    PlainFunction,
    Run,
    Sandbox,
    assemble,
    available_call_paths,
    core_functions,
    wasi_functions,
)
from rotifer_host.store import Store
from rotifer_host.testing import temporary_agent

IDLE = """(module (memory (export "memory") 1) (data (i32.const 0) "1")
    (func (export "express") (param i32 i32) (result i32) (i32.const 0)))"""
GUEST = Path(__file__).with_name("caller.wat")
SIZE: Final = 2 * 65_536
"""Bytes of the calling guest's memory."""
FILL: Final = bytes(range(1, 252)) * (SIZE // 251 + 1)

ERRORS: Final = {
    "readMemory": {-1, -2, -4, -10, -13},
    "writeMemory": {-1, -2, -4, -8, -10, -13},
    "queryMemory": {-1, -2, -4, -10, -13},
    "deleteMemory": {-2, -4, -10, -12, -13},
    "readContext": {-1, -4, -10},
}
"""The negative results each call may answer."""
CODES: Final = {
    -1: "MEMORY_BUFFER_TOO_SMALL",
    -2: "MEMORY_ACCESS_DENIED",
    -8: "MEMORY_QUOTA_EXCEEDED",
    -10: "MEMORY_INVALID_INPUT",
    -12: "MEMORY_NOT_FOUND",
    -13: "MEMORY_STORAGE_ERROR",
}
CALLS: Final = (*contract.MEMORY_CALLS, "readContext")


class Call(NamedTuple):
    """One host call: its name, its four numbers as unsigned, and bytes to put into memory before it."""

    name: str
    numbers: tuple[int, int, int, int]
    at: int = 0
    request: bytes = b""


@dataclass
class Script:
    """The calls a guest makes, and what came of each; memory is looked at before and after."""

    calls: Sequence[Call]
    access: MemoryAccess
    store: Store
    results: list[int] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    """What lies in `out` after each call, as far as it lies inside memory."""
    before: bytes = b""
    state: object = None
    next: int = 0

    def committed(self) -> object:
        """Return all entries and counters that are committed."""
        with self.store.snapshot() as snapshot:
            return list(snapshot.records()), snapshot.totals()


def _next(run: Run) -> int:
    """Prepare the next call; give its number, or -1 when there is none left."""
    script: Script = run.services.script
    if script.next == len(script.calls):
        return -1
    call = script.calls[script.next]
    content = bytearray(FILL[:SIZE])
    content[call.at : call.at + len(call.request)] = call.request
    run.memory.write(0, bytes(content[:SIZE]))
    script.before = run.memory.read(0, SIZE) or b""
    script.state = script.committed()
    return CALLS.index(call.name)


def _number(run: Run, index: int) -> int:
    script: Script = run.services.script
    return script.calls[script.next].numbers[index]


def _done(run: Run, result: int) -> None:
    """Look at what a call did. An assertion that fails is raised by `Sandbox.run`."""
    script: Script = run.services.script
    call = script.calls[script.next]
    script.next += 1
    answer = result - (result >> 31 << 32)
    after = run.memory.read(0, SIZE) or b""
    out, room = call.numbers[2:]
    inside = out + room <= SIZE
    script.results.append(answer)
    script.answers.append(after[out : out + room] if inside else b"")
    assert answer >= 0 or answer in ERRORS[call.name], (call, answer)
    written = answer if answer >= 0 else 0 if answer == contract.BUDGET_EXHAUSTED or not inside else room
    assert written <= room
    if not inside:
        assert answer in (contract.INVALID_INPUT, contract.BUDGET_EXHAUSTED), (call, answer)
    assert after[: out if inside else SIZE] == script.before[: out if inside else SIZE]
    if inside:
        assert after[out + written :] == script.before[out + written :]
    if answer < 0:
        assert script.committed() == script.state, call
    if answer >= 0 and call.name != "deleteMemory":
        assert answer == 0 or json.loads(after[out : out + answer]) is not Ellipsis
    elif answer < 0 and answer != contract.BUDGET_EXHAUSTED and call.name != "readContext" and inside:
        payload = after[out : out + room]
        if payload != script.before[out : out + room]:
            error, _ = json.JSONDecoder().raw_decode(payload.split(b"\0")[0].decode("utf-8", "ignore"))
            assert error[contract.ERROR_KEY]["code"] == CODES[answer]


class _Services(MemoryAccess):
    """What memory calls and the functions above find on their run."""

    script: Script


CONTROL = (
    PlainFunction("fuzz", "next", (), ("i32",), _next),
    PlainFunction("fuzz", "number", ("i32",), ("i32",), _number),
    PlainFunction("fuzz", "done", ("i32",), (), _done),
)


class Border:
    """Makes scripted calls on one call path, as one gene of one agent."""

    call = Call

    def __init__(self, agent: Agent, call_path: str, path: Path) -> None:
        self.agent = agent
        self.path = path
        """Where its memory file lies, when it is one."""
        functions = HostFunctions(core_functions(), wasi_functions(), memory_functions(), CONTROL)
        self.sandbox = Sandbox(functions, call_path=call_path)
        self.module = self.sandbox.load(assemble(GUEST.read_text(encoding="utf-8")), name="caller")

    def run(
        self, calls: Sequence[Call], store: Store, *, clock: Clock, fuel: int = 1 << 40
    ) -> tuple[Script, GuestResult]:
        """Make the calls in one run; what they did is in the script."""
        memory: AgentMemory = self.agent._memory(store)
        memory._clock = clock
        services = _Services(memory, Caller("v2:" + "a" * 64, "fuzz"))
        services.script = Script(calls, services, store)
        try:
            result = self.sandbox.run(
                self.module,
                b"1",
                limits=Limits(fuel=fuel),
                deadline=Deadline(60_000),
                host_time=HostTime(30_000),
                services=services,
                context={"agent_id": "a", "timestamp": 1},
                logical_ms=1,
            )
        finally:
            memory.finish()
        return services.script, result


@pytest.fixture(scope="session")
def borders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Border]]:
    """Give a border for each call path."""
    folder = tmp_path_factory.mktemp("memory")
    with temporary_agent({"idle": IDLE}, memory_quota=64 << 10) as agent:
        yield {path: Border(agent, path, folder / path) for path in available_call_paths()}
