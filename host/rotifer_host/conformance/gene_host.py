"""The host that a gene is tested on: it answers memory calls from a script, else as an agent's memory would.

It sees a guest's pointers, which the host of everyday use keeps from its handlers. Its
memory is real, rules and all, and kept in this process; its clock stands still.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from rotifer_host import contract
from rotifer_host.agent.memory_calls import MemoryAccess
from rotifer_host.audit import Nowhere
from rotifer_host.conformance.gene_instance import Call, ObservedSandbox
from rotifer_host.errors import BufferTooSmallError, HostCallError, InvalidInputError
from rotifer_host.limits import Limits
from rotifer_host.memory import AgentMemory, Caller, DataPolicy, decode_delete, decode_query, decode_read, decode_write
from rotifer_host.modules import Granted
from rotifer_host.modules.functions import module_functions
from rotifer_host.modules.registry import usable_modules
from rotifer_host.sandbox import (
    Deadline,
    GuestResult,
    HostFunctions,
    HostTime,
    PlainFunction,
    Run,
    core_functions,
    encode_document,
    wasi_functions,
)
from rotifer_host.sandbox.result import Ending
from rotifer_host.store import ModelStore

__all__ = ["Answer", "GeneHost", "Request", "Script", "Trial", "refusal", "response"]

_AGENT: Final = "00000000-0000-4000-8000-000000000000"
_DOMAIN: Final = "conformance"
_NOW_MS: Final = 1_767_225_600_000
_DEADLINE_MS: Final = 20_000
_KEPT_REQUESTS: Final = 1000
_MOST_CALLS: Final = 2_000
"""For each call of `express`: a guest that makes more does not end."""
_UNPREDICTABLE: Final = ("random_get", "clock_time_get", "poll_oneoff")
GENE_ID: Final = f"v2:{'0' * 64}"
"""Who the tested gene is."""


class Request(NamedTuple):
    """A memory call as the guest made it."""

    call: str
    body: bytes
    out_cap: int


class Answer(NamedTuple):
    """What a memory call is answered: its result, and what is written at `out`."""

    result: int
    data: bytes = b""


Script = Callable[[Request, int], Answer | None]
"""Answers a call, of which so many of its name came before; None leaves it to memory."""


class Trial(NamedTuple):
    """One run of the guest, or several of one instance."""

    result: GuestResult
    requests: list[Request]
    """The memory calls, the first 1,000 of them."""
    strayed: list[str]
    """Calls whose pointers were not inside memory, in words."""
    refused: list[str]
    """Requests that memory refused as invalid, in words."""
    unpredictable: set[str]
    """The functions it asked whose answer is another one each time."""
    calls: list[Call]
    """What each call of `express` left."""

    @property
    def outcome(self) -> tuple[str, bytes, str]:
        """What a user would see: status, output, the gene's own words."""
        error = self.result.error
        return self.result.status, self.result.output_json, "" if error is None else f"{error.code}: {error.message}"


def response(data: bytes) -> Answer:
    """Answer a call with a response; where it does not fit, the guest gets -1."""
    return Answer(len(data), data)


def refusal(error: HostCallError, out_cap: int) -> Answer:
    """Refuse a call, with the payload whole, without its message, or with none, as `out_cap` has room."""
    for message in (error.message, ""):
        payload = encode_document({contract.ERROR_KEY: {"code": error.code, "message": message}})
        if len(payload) <= out_cap:
            return Answer(error.result, payload + b"\0" if len(payload) < out_cap else payload)
    return Answer(error.result)


class GeneHost:
    """Runs one module as often as it takes; each trial has a new instance.

    Raises `ModuleError` for a module that cannot run here.
    """

    def __init__(self, wasm: bytes) -> None:
        self._script: Script | None = None
        self._memory = _Memory()
        self._reset()
        memory = tuple(
            PlainFunction("rotifer", call, ("i32",) * 4, ("i32",), partial(self._call, call), contract.BUDGET_EXHAUSTED)
            for call in contract.MEMORY_CALLS
        )
        wasi = tuple(
            PlainFunction(each.module, each.name, each.params, each.results, partial(self._noted, each), each.exhausted)
            if isinstance(each, PlainFunction) and each.name in _UNPREDICTABLE
            else each
            for each in wasi_functions()
        )
        modules = usable_modules()
        self._grants: dict[str, dict[str, Any]] = {module.name: {} for module in modules}
        functions = HostFunctions(core_functions(), wasi, memory, module_functions(modules))
        self._sandbox = ObservedSandbox(functions, cache_dir=None)
        self._module = self._sandbox.load(wasm, name="gene")

    def forget(self) -> None:
        """Begin with an empty memory."""
        self._memory = _Memory()

    def run(
        self, document: bytes, script: Script | None = None, *, fuel: int = contract.DEFAULT_FUEL, times: int = 1
    ) -> Trial:
        """Run the guest on compact JSON, `times` times on one instance."""
        self._script = script
        self._reset()
        self._sandbox.times = times
        limits = Limits(fuel=fuel, deadline_ms=_DEADLINE_MS)
        deadline = Deadline(limits.deadline_ms)
        result = self._sandbox.run(
            self._module,
            document,
            limits=limits,
            deadline=deadline,
            host_time=HostTime(limits.host_time_ms),
            services=self._memory.access(self._grants, deadline),
            context={
                "agent_id": _AGENT,
                "timestamp": _NOW_MS,
                "permissions": {"memory": True, "network": False, "filesystem": False},
                "trace_id": _AGENT,
                "abi_version": contract.ABI_VERSION,
            },
            logical_ms=_NOW_MS,
        )
        return Trial(result, self._requests, self._strayed, self._refused, self._unpredictable, self._sandbox.calls)

    def _reset(self) -> None:
        self._requests: list[Request] = []
        self._strayed: list[str] = []
        self._refused: list[str] = []
        self._unpredictable: set[str] = set()
        self._counts = dict.fromkeys(contract.MEMORY_CALLS, 0)

    def _noted(self, function: PlainFunction, run: Run, *arguments: int) -> int | None:
        self._unpredictable.add(function.name)
        return function.handler(run, *arguments)

    def _call(self, call: str, run: Run, at: int, length: int, out: int, out_cap: int) -> int:  # noqa: PLR0913, PLR0917
        count = self._counts[call]
        self._counts[call] += 1
        if count >= _MOST_CALLS * self._sandbox.times:
            run.stop(Ending("failed", "ENDLESS", f"called {call} {_MOST_CALLS:,} times"))
        body = run.memory.read(at, length)
        if body is None or not run.memory.fits(out, out_cap):
            where = f"request {length} bytes at {at}, out {out_cap} bytes at {out}, memory {run.memory.size} bytes"
            self._strayed.append(f"{call}: {where}")
            return contract.INVALID_INPUT
        run.charge(length)
        request = Request(call, body, out_cap)
        if len(self._requests) < _KEPT_REQUESTS:
            self._requests.append(request)
        answer = None if self._script is None else self._script(request, count)
        if answer is None:
            answer = self._remembered(request)
        if answer.result > out_cap:
            needed = f"response needs {answer.result} bytes, out_cap is {out_cap}"
            answer = refusal(BufferTooSmallError(needed), out_cap)
        run.charge(len(answer.data) if answer.result >= 0 else 0)
        run.memory.write(out, answer.data)
        return answer.result

    def _remembered(self, request: Request) -> Answer:
        try:
            return response(self._memory.answer(request))
        except HostCallError as error:
            if isinstance(error, InvalidInputError):
                self._refused.append(f"{request.call}: {error.message}")
            return refusal(error, request.out_cap)


class _Memory:
    """An agent's memory that lasts as long as this object."""

    def __init__(self) -> None:
        sink = Nowhere()
        self._caller = Caller(GENE_ID, _DOMAIN)
        self._memory = AgentMemory(
            agent_id=_AGENT,
            agent_name="conformance",
            store=ModelStore(),
            audit=sink,
            telemetry=sink,
            clock=_Still(),
            quota=contract.DEFAULT_QUOTA_BYTES,
            policy=DataPolicy(),
        )

    def access(self, grants: dict[str, dict[str, Any]], deadline: Deadline) -> MemoryAccess:
        """Return what host modules get of it."""
        return MemoryAccess(
            self._memory, self._caller, Granted(_AGENT, "conformance", None, _Still(), deadline, grants)
        )

    def answer(self, request: Request) -> bytes:
        """Answer as the host does. Raises `HostCallError`."""

        def admit(size: int) -> None:
            if size > request.out_cap:
                raise BufferTooSmallError(f"response needs {size} bytes, out_cap is {request.out_cap}")

        if len(request.body) > contract.MAX_REQUEST_BYTES:
            raise InvalidInputError(f"a request has at most {contract.MAX_REQUEST_BYTES} bytes")
        match request.call:
            case "readMemory":
                return self._memory.read(self._caller, decode_read(request.body), admit)
            case "writeMemory":
                return self._memory.write(self._caller, decode_write(request.body), admit)
            case "queryMemory":
                return self._memory.query(self._caller, decode_query(request.body))
        self._memory.delete(self._caller, decode_delete(request.body))
        return b"null" if request.out_cap >= len(b"null") else b""


class _Still:
    """A clock that stands still: what a gene does must not depend on it."""

    def now_ms(self) -> int:
        return _NOW_MS
