"""A guest that makes the memory calls it is told to, one by one, and what came of each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rotifer_host import contract
from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.sandbox import HostFunctions, Module, PlainFunction, Run, Sandbox, assemble, core_functions

if TYPE_CHECKING:
    from tests.memory.twins import Twin

__all__ = [
    "LARGE",
    "PAGE",
    "SMALL",
    "SPIN",
    "TRAP",
    "Act",
    "Call",
    "Kept",
    "Made",
    "Script",
    "Step",
    "deleting",
    "guest",
    "querying",
    "reading",
    "writing",
]

SMALL: Final = 2
LARGE: Final = 96
"""Pages of the guest's memory: the first half is for requests, the second for responses."""
PAGE: Final = 65_536

_GUEST: Final = Path(__file__).with_name("twins.wat").read_text(encoding="utf-8")
_FILL: Final = bytes(range(1, 252)) * (LARGE * PAGE // 251 + 1)
_NEEDED: Final = re.compile(rb"response needs (\d+) bytes")
_PROBE: Final = 120
"""Room for the payload that says how much is needed, and for no entry."""
_SHOWN: Final = 1200

_END: Final = -1
TRAP: Final = -2
SPIN: Final = -3


class Call(NamedTuple):
    """One host call."""

    name: str
    request: bytes
    cap: int | None = None
    """Room for the response; None for as much as there is."""
    fits: int | None = None
    """Instead of `cap`: so many bytes more than the response needs, after another call that found that out."""
    overlaps: int | None = None
    """`out` begins so many bytes after the request does, not in the other half of memory."""
    numbers: tuple[int, int, int, int] | None = None
    """The four numbers, as unsigned, whatever they are."""


Act = Callable[["Twin"], object]
Step = Call | Act | int
"""A call, something to be done to each twin before the next one, or `TRAP` or `SPIN`."""


class Kept(NamedTuple):
    """All that is on the disk."""

    rows: dict[bytes, bytes]
    commits: int
    """Number of the last transaction."""
    lines: bytes
    events: bytes


class Made(NamedTuple):
    """What came of a call."""

    name: str
    request: bytes
    """The begin of it."""
    result: int
    answer: bytes
    """The begin of what lies in `out`."""
    memory: int
    """Hash of all of the guest's memory."""
    kept: Kept | None
    """All that is on the disk, where each call is watched."""


def reading(key: str, category: str | None = None, **how: Any) -> Call:
    """Return a `readMemory` as a guest writes it, compact."""
    request = {"key": key} if category is None else {"key": key, "category": category}
    return Call("readMemory", _json(request), **how)


def writing(key: str, value: str = "AQID", category: str = "CACHE", *, how: Any = None, **policies: Any) -> Call:
    """Return a `writeMemory` with a value in base64."""
    return Call("writeMemory", _json({"key": key, "value": value, "category": category} | policies), **(how or {}))


def querying(**fields: Any) -> Call:
    """Return a `queryMemory`."""
    return Call("queryMemory", _json(fields))


def deleting(key: str) -> Call:
    """Return a `deleteMemory`."""
    return Call("deleteMemory", _json({"key": key}))


def _json(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


class Script:
    """The steps a guest is on."""

    def __init__(self, twin: Twin, steps: Sequence[Step]) -> None:
        self.made: list[Made] = []
        self.numbers = (0, 0, 0, 0)
        self._twin = twin
        self._steps = iter(steps)
        self._call = Call("", b"")
        self._probing = False

    def next(self, run: Run) -> int:
        """Prepare the next call and return its number, or what else the guest is to do."""
        if self._probing:
            self._probing = False
            needed = _NEEDED.search(self.made[-1].answer)
            if self.made[-1].result == contract.BUFFER_TOO_SMALL and needed is not None:
                return self._prepare(run, int(needed[1]) + (self._call.fits or 0))
        for step in self._steps:
            if isinstance(step, Call):
                self._call, self._probing = step, step.fits is not None
                return self._prepare(run, _PROBE if self._probing else step.cap)
            if isinstance(step, int):
                return step
            step(self._twin)
        return _END

    def done(self, run: Run, result: int) -> None:
        """Note what a call did."""
        signed = result - (result >> 31 << 32)
        _, _, out, cap = self.numbers
        after = run.memory.read(0, run.memory.size) or b""
        shown = after[out : out + (cap if signed < 0 else signed)][:_SHOWN]
        if signed < 0:
            shown = shown.split(b"\0")[0]
        kept = self._twin.kept() if self._twin.watched else None
        self.made.append(Made(self._call.name, self._call.request[:_SHOWN], signed, shown, hash(after), kept))

    def _prepare(self, run: Run, cap: int | None) -> int:
        size, call = run.memory.size, self._call
        content = bytearray(_FILL[:size])
        content[: len(call.request)] = call.request
        run.memory.write(0, bytes(content[:size]))
        out = size // 2 if call.overlaps is None else call.overlaps
        self.numbers = call.numbers or (0, len(call.request), out, size - out if cap is None else cap)
        return contract.MEMORY_CALLS.index(call.name)


def _script(run: Run) -> Script:
    script = run.context["script"]  # not in `services`: what those are is a part of what is tested
    assert isinstance(script, Script)
    return script


_CONTROL: Final = (
    PlainFunction("twins", "next", (), ("i32",), lambda run: _script(run).next(run) & 0xFFFFFFFF),
    PlainFunction("twins", "number", ("i32",), ("i32",), lambda run, index: _script(run).numbers[index]),
    PlainFunction("twins", "done", ("i32",), (), lambda run, result: _script(run).done(run, result)),
)


@cache
def guest(call_path: str, pages: int) -> tuple[Sandbox, Module]:
    """Return a sandbox with the given call path, and the guest with so many pages of memory."""
    sandbox = Sandbox(HostFunctions(core_functions(), memory_functions(), _CONTROL), call_path=call_path)
    return sandbox, sandbox.load(assemble(_GUEST.replace("PAGES", str(pages))), name="caller")
