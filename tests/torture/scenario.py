"""One scenario that creates, updates, evicts, expires, deletes and is denied, played by a guest.

`play` makes its calls through a sandbox and never raises; `verdict` says what does
not fit between what the calls answered and what lies on the disk afterwards.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tests.torture.invariants import State, audit_lines, state_of, unsaved, unsound_in
from tests.torture.place import NOBODY, Place, Reference, gene, live

from rotifer_host import contract
from rotifer_host.agent.memory_calls import MEMORY_CALLS, memory_functions
from rotifer_host.errors import BufferTooSmallError, HostCallError, RotiferError
from rotifer_host.limits import Limits
from rotifer_host.memory import (
    AgentMemory,
    Caller,
    Durability,
    decode_delete,
    decode_query,
    decode_read,
    decode_write,
)
from rotifer_host.sandbox import (
    Deadline,
    HostFunctions,
    HostTime,
    Module,
    PlainFunction,
    Run,
    Sandbox,
    assemble,
    core_functions,
    wasi_functions,
)

__all__ = ["ENDED", "SCENARIO", "Answer", "Guest", "Played", "Step", "answered", "play", "recovered", "verdict"]

_OUT: Final = 131_072
_ROOM: Final = 65_536
_IMPORTS: Final = "".join(
    f'(import "rotifer" "{call}" (func (param i32 i32 i32 i32) (result i32)))' for call in MEMORY_CALLS
)
_GUEST: Final = f"""(module
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
        (i32.const 0)))"""


class Step(NamedTuple):
    """A memory call of a gene; time passes before it."""

    caller: Caller
    call: str
    request: dict[str, Any]
    room: int = _ROOM
    seconds: int = 1


class Answer(NamedTuple):
    """What a guest got; `ENDED` when the host ended its run instead."""

    result: int
    response: bytes = b""


class Played(NamedTuple):
    """How a scenario went."""

    answers: list[Answer | None]
    """One for each call made; None for a run that was ended."""
    saved: bool
    """Whether the end of the run said that everything is kept."""


ENDED: Final = None
DOCUMENTED: Final = frozenset(
    (
        contract.BUFFER_TOO_SMALL,
        contract.ACCESS_DENIED,
        contract.QUOTA_EXCEEDED,
        contract.INVALID_INPUT,
        contract.NOT_FOUND,
        contract.STORAGE_ERROR,
        contract.BUDGET_EXHAUSTED,
    )
)


def _write(letter: str, key: str, size: int, category: str = "CACHE", **more: Any) -> Step:
    value = base64.b64encode(key[:1].encode() * size).decode()
    request = {"key": key, "value": value, "category": category}
    seconds = more.pop("seconds", 1)
    return Step(gene(letter), "writeMemory", request | more, seconds=seconds)


_DAY: Final = 86_400
_A_DAY: Final = {"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False}
_OWN: Final = {"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}

SCENARIO: Final = (
    _write("a", "keep", 900, "PREFERENCE"),
    _write("a", "cache/1", 700),
    _write("b", "day", 300, "CONTEXT", retentionPolicy=_A_DAY),
    _write("a", "secret", 100, "PATTERN", accessPolicy=_OWN),
    Step(gene("b"), "readMemory", {"key": "keep"}),  # notes another reader
    Step(gene("b"), "readMemory", {"key": "secret"}),  # denied
    _write("b", "secret", 10, "PATTERN"),  # denied
    Step(gene("b"), "deleteMemory", {"key": "secret"}),  # denied
    _write("a", "keep", 950, "PREFERENCE"),  # update
    _write("b", "cache/2", 800),
    _write("a", "cache/3", 1500),  # evicts cache/1
    Step(gene("a"), "queryMemory", {"keyPrefix": "cache/"}),
    Step(gene("a"), "readMemory", {"key": "keep"}, room=16),  # -1
    _write("a", "large", 3900, "PREFERENCE"),  # -8
    Step(gene("a"), "writeMemory", {"key": "", "value": "", "category": "CACHE"}),  # -10
    Step(gene("a"), "deleteMemory", {"key": "cache/3"}),
    Step(gene("a"), "deleteMemory", {"key": "cache/3"}),  # -12
    _write("a", "day", 20, "CONTEXT", seconds=_DAY),  # expires b's, and makes a new one
    Step(gene("a"), "queryMemory", {}, seconds=31 * _DAY),  # all that follows the data policy expires
    _write("b", "cache/4", 400),
    Step(gene("b"), "readMemory", {"key": "cache/4"}),
)


class _Asker:
    """What the guest of a step asks its host, beside the memory of the agent."""

    def __init__(self, memory: AgentMemory, step: Step) -> None:
        self.memory = memory
        self.caller = step.caller
        self.step = step
        self.answer: Answer | None = ENDED


def _which(run: Run) -> int:
    return MEMORY_CALLS.index(run.services.step.call)


def _room(run: Run) -> int:
    return int(run.services.step.room)


def _answered(run: Run, result: int) -> None:
    signed = result - (result >> 31 << 32)
    run.services.answer = Answer(signed, (run.memory.read(_OUT, max(signed, 0)) or b""))


class Guest:
    """A module that makes one call for each run, on one call path."""

    def __init__(self, call_path: str) -> None:
        own = (
            PlainFunction("torture", "which", (), ("i32",), _which),
            PlainFunction("torture", "room", (), ("i32",), _room),
            PlainFunction("torture", "answered", ("i32",), (), _answered),
        )
        self.call_path = call_path
        functions = HostFunctions(core_functions(), wasi_functions(), memory_functions(), own)
        self._sandbox = Sandbox(functions, call_path=call_path)
        self._module: Module = self._sandbox.load(assemble(_GUEST), name="guest")

    def ask(self, memory: AgentMemory, step: Step, deadline: Deadline) -> Answer | None:
        """Make the call of a step; `ENDED` when it ended the run. Raises what a bug in the host raises."""
        asker = _Asker(memory, step)
        limits = Limits()
        self._sandbox.run(
            self._module,
            json.dumps(step.request, separators=(",", ":")).encode(),
            limits=limits,
            deadline=deadline,
            host_time=HostTime(limits.host_time_ms),
            services=asker,
            context={},
            logical_ms=0,
        )
        return asker.answer


def play(place: Place, guest: Guest, durability: Durability = "call") -> Played:
    """Play the scenario as one run of an agent, until its end or until the host ends it."""
    answers: list[Answer | None] = []
    deadline = Deadline(60_000)
    try:
        with place.open(durability, deadline) as (_, memory):
            for step in SCENARIO:
                place.clock.advance(seconds=step.seconds)
                try:
                    answers.append(guest.ask(memory, step, deadline))
                except OSError:  # the clock's own: no refusal, so it ends the run
                    answers.append(ENDED)
                    with suppress(OSError):
                        memory.rollback()
                    return Played(answers, saved=False)
            memory.finish()
    except (RotiferError, OSError):  # also the clock's, at the end of the run
        return Played(answers, saved=False)
    return Played(answers, saved=True)


def verdict(place: Place, played: Played, durability: Durability, *, log_works: bool = True) -> list[str]:
    """Return what is wrong with a place after a scenario in an empty one; `place` has a working clock again."""
    found = [
        f"call {number} answered {answer.result}"
        for number, answer in enumerate(played.answers)
        if answer is not None and answer.result < 0 and answer.result not in DOCUMENTED
    ]
    reference = Reference()
    kept = durability == "call" or played.saved
    for number, (step, answer) in enumerate(zip(SCENARIO, played.answers, strict=False)):
        reference.clock.advance(seconds=step.seconds)
        if answer is not None and answer.result >= 0 and kept:
            response = _happen(reference.memory, step)
            if response is None or _blot(response) != _blot(answer.response):
                found.append(f"call {number} answered {answer.response!r}, not {response!r}")
    place.clock.set(reference.clock.now_ms())
    with place.open() as (store, memory):
        held = live(store, place.clock.now_ms())
        without_change = unsaved(audit_lines(place), State(), state_of(store))
        found += unsound_in(place, store, memory)
    if held != reference.live():
        found.append(f"the memory holds {[key for key, _ in held]}, not {[key for key, _ in reference.live()]}")
    if without_change is None:
        found.append("a change has no line in the audit log")
    elif without_change and log_works:
        found.append(f"lines stand in the log for what was not done: {without_change}")
    return found


def answered(played: Played, result: int) -> int:
    """Return how many calls answered with a result."""
    return sum(answer is not None and answer.result == result for answer in played.answers)


def recovered(place: Place, guest: Guest) -> list[str]:
    """Return what does not work once nothing fails any more: reading, deleting, and filling the room again."""
    problems = []
    deadline = Deadline(60_000)
    with place.open("call", deadline) as (store, memory):
        entries = memory.list().entries
        steps = [Step(gene("a"), "readMemory", {"key": entry.key}, seconds=0) for entry in entries]
        answers = [guest.ask(memory, step, deadline) for step in steps]
        problems += [f"reading {step.request} gave {a}" for step, a in zip(steps, answers, strict=True) if not _fine(a)]
        for category in contract.CATEGORIES:
            memory.delete_as_deployer(category=category)
        left = memory.list()
        if left.used or left.entries:
            problems.append(f"after deleting everything {left} is left")
        answer = guest.ask(memory, _write("a", "large", 3900, "PREFERENCE"), deadline)
        if not _fine(answer):
            problems.append(f"the freed room could not be used: {answer}")
        return problems + unsound_in(place, store, memory)


def _fine(answer: Answer | None) -> bool:
    return answer is not None and (answer.result >= 0 or answer.result == contract.ACCESS_DENIED)


def _blot(response: bytes) -> bytes:
    """Blot `lastAccessedBy` out: a fault may cost it."""
    document = json.loads(response or b"null")
    for entry in document if isinstance(document, list) else [document]:
        if entry is not None:
            entry["lastAccessedBy"] = NOBODY
    return json.dumps(document).encode()


_DO: Final[dict[str, Callable[[AgentMemory, Caller, bytes, Callable[[int], None]], bytes]]] = {
    "readMemory": lambda memory, caller, raw, admit: memory.read(caller, decode_read(raw), admit),
    "writeMemory": lambda memory, caller, raw, admit: memory.write(caller, decode_write(raw), admit),
    "queryMemory": lambda memory, caller, raw, _: memory.query(caller, decode_query(raw)),
    "deleteMemory": lambda memory, caller, raw, admit: memory.delete(caller, decode_delete(raw), admit),
}


def _happen(memory: AgentMemory, step: Step) -> bytes | None:
    """Make a call of the reference; None when it is refused there."""

    def admit(length: int) -> None:
        if length > step.room:
            raise BufferTooSmallError("no room")

    try:
        return _DO[step.call](memory, step.caller, json.dumps(step.request).encode(), admit)
    except HostCallError:
        return None
