"""What happens in a run, with times: its genes, and each memory call that reaches the rules."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from rotifer_host import contract
from rotifer_host.agent.memory_calls import MemoryAccess, NoMemory
from rotifer_host.errors import HostCallError
from rotifer_host.memory import QueryRequest, WriteRequest, parse_entry

if TYPE_CHECKING:
    from rotifer_host.agent.run import LoadedGene
    from rotifer_host.agent.runner import Runner
    from rotifer_host.memory import AgentMemory
    from rotifer_host.sandbox import GuestResult

__all__ = ["MOST_CALLS", "Call", "Part", "Trace"]

MOST_CALLS: Final = 2000
"""So many calls of a run are kept; of the rest, only how many there were."""
_LONGEST_RESPONSE: Final = 4 * contract.KIB
_SHOWN_BYTES: Final = 256


class Call(msgspec.Struct):
    """One memory call; times in milliseconds, from the start of the run."""

    name: str
    """`readMemory`, …"""
    asks: str
    """The key, or the filter as JSON; the guest's own text."""
    started_ms: float
    took_ms: float = 0.0
    result: int | None = None
    """Bytes of the response, or the negative result; None when the run ended in the call."""
    code: str | None = None
    message: str | None = None
    category: str | None = None
    value: bytes | None = None
    """The beginning of what was written or read; None where there is none."""
    size: int | None = None
    """Bytes of the whole value."""


class Part(msgspec.Struct):
    """One gene's run, times as in `Call`."""

    name: str
    gene_id: str | None
    document: bytes
    """Its input."""
    started_ms: float
    ended_ms: float | None = None
    result: Any = None
    """The `GuestResult`; None when the host itself failed."""
    calls: list[Call] = []


class Trace:
    """Notes one run; branches of it may run at the same time."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        """In the order they started."""
        self.dropped = 0
        """Calls beyond `MOST_CALLS`."""
        self._kept = 0
        self._lock = threading.Lock()
        self._started = time.perf_counter()

    def begin(self) -> None:
        """Count times from now: the genes are loaded, and what follows is the run."""
        self._started = time.perf_counter()

    def now_ms(self) -> float:
        """Return the milliseconds since `begin`."""
        return (time.perf_counter() - self._started) * 1000

    def traced(self, gene: LoadedGene) -> LoadedGene:
        """Return a gene that runs as this one does, and is noted."""
        return gene._replace(runner=_TracedRunner(self, gene))

    def note_part(self, part: Part) -> None:
        """Add a gene's run."""
        with self._lock:
            self.parts.append(part)

    def note_call(self, part: Part, call: Call) -> None:
        """Add a call to a gene's run, while there are not too many."""
        with self._lock:
            if self._kept == MOST_CALLS:
                self.dropped += 1
                return
            self._kept += 1
        part.calls.append(call)


class _TracedRunner:
    def __init__(self, trace: Trace, gene: LoadedGene) -> None:
        self._trace = trace
        self._gene = gene
        self._runner: Runner = gene.runner

    @property
    def compiled(self) -> bool:
        return self._runner.compiled

    def run(self, text: bytes, *, services: MemoryAccess | NoMemory, **setting: Any) -> GuestResult:  # noqa: ANN401 - what `Runner.run` takes
        trace = self._trace
        part = Part(self._gene.name, self._gene.gene_id, bytes(text), trace.now_ms())
        trace.note_part(part)
        seen: MemoryAccess | NoMemory
        if isinstance(services, NoMemory):
            seen = NoMemory(lambda name: _refused(trace, part, name, services))
        else:
            seen = services._replace(memory=cast("AgentMemory", _TracedMemory(trace, part, services.memory)))
        try:
            part.result = result = self._runner.run(text, services=seen, **setting)
        finally:
            part.ended_ms = trace.now_ms()
        return result

    def close(self) -> None:
        self._runner.close()


class _TracedMemory:
    """An `AgentMemory` whose four operations are noted."""

    def __init__(self, trace: Trace, part: Part, memory: AgentMemory) -> None:
        self._trace = trace
        self._part = part
        self._memory = memory

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else a memory has
        return getattr(self._memory, name)

    def unchanged_until(self) -> None:
        """Let no call be answered without coming here."""

    def read(self, *arguments: Any) -> bytes:  # noqa: ANN401 - the operation's own, here and below
        return self._noted("readMemory", self._memory.read, arguments)

    def write(self, *arguments: Any) -> bytes:  # noqa: ANN401
        return self._noted("writeMemory", self._memory.write, arguments)

    def query(self, *arguments: Any) -> bytes:  # noqa: ANN401
        return self._noted("queryMemory", self._memory.query, arguments)

    def delete(self, *arguments: Any) -> bytes:  # noqa: ANN401
        return self._noted("deleteMemory", self._memory.delete, arguments)

    def _noted(self, name: str, operation: Callable[..., bytes], arguments: tuple[Any, ...]) -> bytes:
        request = arguments[1]
        call = Call(name, _asked(request), self._trace.now_ms())
        if isinstance(request, WriteRequest):
            call.category, call.value, call.size = request.category, request.value[:_SHOWN_BYTES], len(request.value)
        try:
            response = operation(*arguments)
            call.result = len(response)
        except HostCallError as error:
            call.result, call.code, call.message = error.result, error.code, error.message
            raise
        finally:
            call.took_ms = self._trace.now_ms() - call.started_ms
            self._trace.note_call(self._part, call)
        if name == "readMemory" and len(response) <= _LONGEST_RESPONSE:
            entry = parse_entry(response)
            if entry is not None:
                call.category, call.value, call.size = entry.category, entry.value[:_SHOWN_BYTES], len(entry.value)
        return response


def _refused(trace: Trace, part: Part, name: str, services: NoMemory) -> Any:  # noqa: ANN401 - the refusal
    call = Call(name, "", trace.now_ms())
    refusal = services.refuse(name)
    call.result, call.code, call.message = refusal.result, refusal.code, refusal.message
    call.took_ms = trace.now_ms() - call.started_ms
    trace.note_call(part, call)
    return refusal


def _asked(request: Any) -> str:  # noqa: ANN401 - a checked request
    if not isinstance(request, QueryRequest):
        return str(request.key)
    given = {name: value for name, value in msgspec.structs.asdict(request).items() if value not in (None, "")}
    return msgspec.json.encode(given).decode()
