"""The native call path: a small C extension between the engine and the handlers.

`_native.c` checks bounds, charges fuel, copies request and response and counts, and
enters Python once per call: for the handler. What has to be said in words, a refusal
with its payload, is said by the same Python code as on the other paths.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn, cast

from wasmtime import Linker

from rotifer_host import contract
from rotifer_host.errors import BudgetExhaustedError, BufferTooSmallError
from rotifer_host.sandbox import capi
from rotifer_host.sandbox.calls import _native
from rotifer_host.sandbox.calls.exchange import answer, call_plain, explain
from rotifer_host.sandbox.calls.plain import signature_of
from rotifer_host.sandbox.calls.registry import ExchangeFunction, HostFunction, HostFunctions, PlainFunction
from rotifer_host.sandbox.result import CallStats
from rotifer_host.sandbox.run import Run, RunStopped

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
        self._labels = [function.label if isinstance(function, ExchangeFunction) else "" for function in functions]
        self._functions = [_bind(index, function) for index, function in enumerate(functions)]
        for function, bound in zip(functions, self._functions, strict=True):
            callback = _EXCHANGE if isinstance(function, ExchangeFunction) else _PLAIN
            capi.define_unchecked(
                linker, (function.module, function.name), signature_of(function), callback, bound.address
            )

    def enter(self, run: Run, store: Store) -> None:
        """Make the run's session, and let the store's callbacks find it."""
        run = cast("NativeRun", run)
        run.session = _native.Session(
            run=run,
            context=store.context,
            functions=len(self._functions),
            deadline_ns=max(int(run.deadline.expiry * 1e9), 0),
            cancelled=run.deadline.cell,
            host_limit_ns=run.host_time.limit_ms * 1_000_000,
            host_used_ns=run.host_time.cell,
        )
        run.admit = run.session.admit
        store.set_data(run.session.address)

    def leave(self, run: Run) -> None:
        """Take the session's counts, and undo the circle between it and the run."""
        run = cast("NativeRun", run)
        for label, (count, errors, bytes_in, bytes_out, nanos) in zip(self._labels, run.session.stats(), strict=True):
            if count:
                run.calls[label] = CallStats(count, errors, bytes_in, bytes_out, nanos / 1e9)
        run.session.close()


def _bind(index: int, function: HostFunction) -> _native.Function:
    handler: Callable[..., object]
    if isinstance(function, ExchangeFunction):
        handler, guard = function.handler, function.guard
    else:
        handler, guard = partial(_call_plain, function), None
    return _native.Function(
        function=function,
        handler=handler,
        guard=guard,
        index=index,
        params="".join(_LETTERS[kind] for kind in function.params),
        result="".join(_LETTERS[kind] for kind in function.results),
    )


def _call_plain(function: PlainFunction, run: Run, *arguments: float) -> int | None:
    return call_plain(run, function, *arguments)


def _attach(run: Run, context: int, memory: bytes) -> None:
    if not run.memory.attached:
        run.memory.attach(capi.MemoryHandle.at(context, memory))


def _answer(run: Run, function: ExchangeFunction, *numbers: int) -> int:
    return answer(run, function, *numbers)[0]


def _keep(run: Run, error: BaseException) -> None:
    if not isinstance(error, RunStopped):
        run.keep(error)


def _unfit(length: int, capacity: int) -> NoReturn:
    if length > capacity:
        raise BufferTooSmallError(f"response needs {length} bytes, out_cap is {capacity}")
    raise BudgetExhaustedError("the run's fuel is used up")


_EXCHANGE, _PLAIN = _native.bind(
    capi.addresses(_ENGINE_FUNCTIONS),
    contract.CALL_BASE_FUEL,
    contract.CALL_FUEL_PER_BYTE,
    contract.MAX_REQUEST_BYTES,
    _attach,
    _answer,
    explain,
    _keep,
    _unfit,
)
