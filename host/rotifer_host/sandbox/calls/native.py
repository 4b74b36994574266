"""The native call path: a small C extension between the engine and the handlers.

`_native.c` checks bounds, charges fuel, copies request and response and counts, and
enters Python once per call: for the handler. What has to be said in words, a refusal
with its payload, is said by the same Python code as on the other paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from wasmtime import Linker

from rotifer_host import contract
from rotifer_host.sandbox import capi
from rotifer_host.sandbox.calls import _native
from rotifer_host.sandbox.calls.exchange import answer, exhausted, explain
from rotifer_host.sandbox.calls.plain import signature_of
from rotifer_host.sandbox.calls.registry import ExchangeFunction, HostFunction, HostFunctions
from rotifer_host.sandbox.result import CallStats
from rotifer_host.sandbox.run import Run, RunStopped, refuse_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_host.sandbox.capi import Store

__all__ = ["NativePath"]

_LETTERS: Final = {"i32": "i", "i64": "I", "f32": "f", "f64": "F"}
_ENGINE_FUNCTIONS: Final = (
    "wasmtime_caller_context",
    "wasmtime_caller_export_get",
    "wasmtime_context_get_data",
    "wasmtime_context_get_fuel",
    "wasmtime_context_set_fuel",
    "wasmtime_error_delete",
    "wasmtime_memory_data",
    "wasmtime_memory_data_size",
    "wasmtime_trap_new",
)


class NativeRun(Run):
    """A run whose host calls are answered through a session in C."""

    __slots__ = ("admit", "session")

    session: _native.Session

    def forget(self) -> None:
        """Serve no response again that was given so far."""
        self.session.forget()

    admit: Callable[[int, int], None]  # type: ignore[assignment]  # the session's own, which the handler calls directly


class NativePath:
    """Host functions in C that call their handlers."""

    name = "native"

    def define(self, linker: Linker, functions: HostFunctions) -> NativeDefinition:
        """Register every function once; none of them holds a store or a run."""
        return NativeDefinition(linker, functions)


class NativeDefinition:
    """Functions that find their run by the data of the store they are called from."""

    run_type: type[Run] = NativeRun

    def __init__(self, linker: Linker, functions: HostFunctions) -> None:
        self._labels: list[str] = []  # of the functions whose calls are counted, by their index
        self._functions = []  # the engine holds their addresses for as long as the linker lives
        for function in functions:
            bound, callback = _bind(function, len(self._labels)), _PLAIN
            if isinstance(function, ExchangeFunction):
                callback = _EXCHANGE
                self._labels.append(function.label)
            name = (function.module, function.name)
            capi.define_unchecked(linker, name, signature_of(function), callback, bound.address)
            self._functions.append(bound)

    def enter(self, run: Run, store: Store) -> None:
        """Make the run's session, and let the store's callbacks find it."""
        run = cast("NativeRun", run)
        run.session = _native.Session(
            run=run,
            context=store.context,
            functions=len(self._labels),
            deadline_ns=max(int(run.deadline.expiry * 1e9), 0),
            cancelled=run.deadline.cell,
            host_limit_ns=run.host_time.limit_ms * 1_000_000,
            host_used_ns=run.host_time.cell,
        )
        run.admit = run.session.admit
        if run.version is not None:
            run.session.watch(run.version)
        store.set_data(run.session.address)

    def leave(self, run: Run) -> None:
        """Take the session's counts, and undo the circle between it and the run."""
        run = cast("NativeRun", run)
        for index, count, errors, bytes_in, bytes_out, nanos in run.session.stats():
            run.calls[self._labels[index]] = CallStats(count, errors, bytes_in, bytes_out, nanos / 1e9)
        run.session.close()


def _bind(function: HostFunction, index: int) -> _native.Function:
    exchange = function if isinstance(function, ExchangeFunction) else None
    return _native.Function(
        function=function,
        handler=function.handler,
        guard=None if exchange is None else exchange.guard,
        unchanged_until=None if exchange is None else exchange.unchanged_until,
        index=index,
        params="".join(_LETTERS[kind] for kind in function.params),
        result="".join(_LETTERS[kind] for kind in function.results),
    )


def _attach(run: Run, context: int, memory: bytes) -> None:
    if not run.memory.attached:
        run.memory.attach(capi.MemoryHandle.at(context, memory))


def _answer(run: Run, function: ExchangeFunction, *numbers: int) -> int:
    return answer(run, function, *numbers)[0]


def _keep(run: Run, error: BaseException) -> None:
    if not isinstance(error, RunStopped):
        run.keep(error)


_EXCHANGE, _PLAIN = _native.bind(
    capi.addresses(_ENGINE_FUNCTIONS),
    contract.CALL_BASE_FUEL,
    contract.CALL_FUEL_PER_BYTE,
    contract.MAX_REQUEST_BYTES,
    _attach,
    _answer,
    explain,
    _keep,
    refuse_response,
    exhausted,
)
