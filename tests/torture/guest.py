"""A guest that makes one memory call for each run, and the calls it can be told to make.

Its host gives it the memory as an agent's run does, so that on the native call path C
answers what is ordinary: where entries are kept for ever.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final, NamedTuple

from rotifer_host import contract
from rotifer_host.agent.memory_calls import MemoryAccess, memory_functions
from rotifer_host.limits import Limits
from rotifer_host.memory import AgentMemory, Caller, ordinary
from rotifer_host.sandbox import (
    Deadline,
    HostFunctions,
    HostTime,
    Module,
    PlainFunction,
    Run,
    Sandbox,
    assemble,
    available_call_paths,
    core_functions,
    wasi_functions,
)

__all__ = ["ENDED", "Answer", "Guest", "Refused", "Step", "delete", "query", "read", "write"]

_OUT: Final = 131_072
_ROOM: Final = 65_536
_IMPORTS: Final = "".join(
    f'(import "rotifer" "{call}" (func (param i32 i32 i32 i32) (result i32)))' for call in contract.MEMORY_CALLS
)
_WASM: Final = assemble(f"""(module
    (type $call (func (param i32 i32 i32 i32) (result i32)))
    {_IMPORTS}
    (import "torture" "which" (func $which (result i32)))
    (import "torture" "room" (func $room (result i32)))
    (import "torture" "answered" (func $answered (param i32)))
    (memory (export "memory") 4)
    (table 4 funcref) (elem (i32.const 0) 0 1 2 3)
    (data (i32.const 0) "1")
    (func (export "alloc") (param i32) (result i32) (i32.const 1024))
    (func (export "express") (param $at i32) (param $len i32) (result i32)
        (call $answered (call_indirect (type $call)
            (local.get $at) (local.get $len) (i32.const {_OUT}) (call $room) (call $which)))
        (i32.const 0)))""")


class Step(NamedTuple):
    """A memory call of a gene; time passes before it."""

    caller: Caller
    call: str
    request: dict[str, Any]
    room: int = _ROOM
    seconds: int = 1


def write(caller: Caller, key: str, value: bytes, category: str = "CACHE", **more: Any) -> Step:
    """Return a `writeMemory`, with further members of the request."""
    seconds = more.pop("seconds", 1)
    request = {"key": key, "value": base64.b64encode(value).decode(), "category": category}
    return Step(caller, "writeMemory", request | more, seconds=seconds)


def read(caller: Caller, key: str, category: str | None = None, room: int = _ROOM) -> Step:
    """Return a `readMemory`."""
    return Step(caller, "readMemory", {"key": key} if category is None else {"key": key, "category": category}, room)


def query(caller: Caller, **fields: Any) -> Step:
    """Return a `queryMemory`."""
    return Step(caller, "queryMemory", fields)


def delete(caller: Caller, key: str) -> Step:
    """Return a `deleteMemory`."""
    return Step(caller, "deleteMemory", {"key": key})


class Answer(NamedTuple):
    """What a guest got; `ENDED` when the host ended its run instead."""

    result: int
    response: bytes = b""
    by_shortcut: bool = False
    """Whether C answered, in the place of the memory rules."""


ENDED: Final = None


class Refused(Exception):  # noqa: N818 - a result, and no error of the host's
    """A call was answered with an error."""

    def __init__(self, result: int) -> None:
        super().__init__(f"answered {result}")
        self.result = result


def _which(run: Run) -> int:
    return contract.MEMORY_CALLS.index(run.context["step"].call)  # type: ignore[attr-defined]


def _room(run: Run) -> int:
    return run.context["step"].room  # type: ignore[attr-defined, no-any-return]


def _answered(run: Run, result: int) -> None:
    signed = result - (result >> 31 << 32)
    answers: list[Answer] = run.context["answers"]  # type: ignore[assignment]
    answers.append(Answer(signed, run.memory.read(_OUT, max(signed, 0)) or b""))


class Guest:
    """A module that makes one call for each run, on one call path; by itself on the one that agents run on."""

    def __init__(self, call_path: str | None = None) -> None:
        own = (
            PlainFunction("torture", "which", (), ("i32",), _which),
            PlainFunction("torture", "room", (), ("i32",), _room),
            PlainFunction("torture", "answered", ("i32",), (), _answered),
        )
        self.call_path = call_path or available_call_paths()[0]
        self.takes_shortcuts = self.call_path == "native" and ordinary.WRITE is not None
        """Whether C answers what is ordinary: not on other call paths, and not without a C compiler."""
        functions = HostFunctions(core_functions(), wasi_functions(), memory_functions(), own)
        self._sandbox = Sandbox(functions, call_path=self.call_path)
        self._module: Module = self._sandbox.load(_WASM, name="guest")

    def ask(self, memory: AgentMemory, step: Step, deadline: Deadline | None = None) -> Answer | None:
        """Make the call of a step; `ENDED` when it ended the run. Raises what a bug in the host raises."""
        answers: list[Answer] = []
        limits = Limits()
        result = self._sandbox.run(
            self._module,
            json.dumps(step.request, separators=(",", ":")).encode(),
            limits=limits,
            deadline=deadline or Deadline(60_000),
            host_time=HostTime(limits.host_time_ms),
            services=MemoryAccess(memory, step.caller),
            context={"step": step, "answers": answers},
            logical_ms=0,
            version=memory.version,
        )
        if not answers:
            return ENDED
        return answers[0]._replace(by_shortcut=result.host_calls[step.call].shortcuts > 0)

    def get(self, memory: AgentMemory, step: Step) -> Answer:
        """Make the call of a step, which must not end the run; raises `Refused` when it is answered with an error."""
        answer = self.ask(memory, step)
        if answer is None or answer.result < 0:
            raise Refused(contract.BUDGET_EXHAUSTED if answer is None else answer.result)
        return answer
