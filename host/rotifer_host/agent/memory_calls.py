"""The four memory calls as host functions: sandbox on one side, memory rules on the other.

memory-api.en.md, "From a WASM module". This is the only place that knows both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rotifer_host.memory import decode_delete, decode_query, decode_read, decode_write
from rotifer_host.memory.ordinary import READ, WRITE
from rotifer_host.sandbox import ExchangeFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_host.errors import AccessDeniedError
    from rotifer_host.memory import AgentMemory, Caller
    from rotifer_host.modules import Granted
    from rotifer_host.sandbox import Run

__all__ = ["MemoryAccess", "NoMemory", "memory_functions", "memory_guard"]

_DELETED: Final = b"null"


class MemoryAccess(NamedTuple):
    """What the run of a gene with memory brings to the calls as `run.services`."""

    memory: AgentMemory
    caller: Caller
    granted: Granted | None = None
    """What host modules may know of the agent; None where none is granted."""


class NoMemory(NamedTuple):
    """The same of a gene outside an agent, or without a v2 id: every call is refused, whatever it asks."""

    refuse: Callable[[str], AccessDeniedError]
    """Takes the name of the call, records the refusal and returns it."""


def memory_functions() -> tuple[ExchangeFunction, ...]:
    """Return `readMemory`, `writeMemory`, `queryMemory` and `deleteMemory` of module `rotifer`."""

    def function(name: str, handler: Callable[[Run, bytes, int], bytes], **more: Any) -> ExchangeFunction:  # noqa: ANN401 - fields of it
        return ExchangeFunction("rotifer", name, memory_guard(name), handler, **more)

    return (
        function("readMemory", _read, unchanged_until=_read_unchanged_until, shortcut=READ),
        function("writeMemory", _write, shortcut=WRITE),
        function("queryMemory", _query),
        function("deleteMemory", _delete),
    )


def memory_guard(call: str) -> Callable[[Run], None]:
    """Return the guard of a call about memory: it refuses a gene that has no agent or no v2 id, whatever it asks."""

    def require_memory(run: Run) -> None:
        if type(run.services) is NoMemory:
            raise run.services.refuse(call)

    return require_memory


def _read(run: Run, request: bytes, out_cap: int) -> bytes:
    access: MemoryAccess = run.services
    return access.memory.read(access.caller, decode_read(request), lambda size: run.admit(size, out_cap))


def _read_unchanged_until(run: Run) -> int | None:
    access: MemoryAccess = run.services
    return access.memory.unchanged_until()


def _write(run: Run, request: bytes, out_cap: int) -> bytes:
    access: MemoryAccess = run.services
    run.forget()
    return access.memory.write(access.caller, decode_write(request), lambda size: run.admit(size, out_cap))


def _query(run: Run, request: bytes, _out_cap: int) -> bytes:
    access: MemoryAccess = run.services
    return access.memory.query(access.caller, decode_query(request))


def _delete(run: Run, request: bytes, out_cap: int) -> bytes:
    # a deletion never fails for want of room: without four bytes for `null` its response is empty
    response = _DELETED if out_cap >= len(_DELETED) else b""
    access: MemoryAccess = run.services
    run.forget()
    access.memory.delete(access.caller, decode_delete(request), lambda _size: run.admit(len(response), out_cap))
    return response
