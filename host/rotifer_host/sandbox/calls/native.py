"""The native call path: a small C extension between the engine and the handlers.

`_native` checks bounds, charges fuel, copies request and response and counts, and
enters Python once per call: for the handler. What has to be said in words, a refusal
with its payload, is said by the same Python code as on the other paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wasmtime import Linker

from rotifer_host import contract
from rotifer_host.sandbox import _native, capi
from rotifer_host.sandbox.calls.exchange import answer, exhausted, explain
from rotifer_host.sandbox.calls.plain import signature_of
from rotifer_host.sandbox.calls.registry import ExchangeFunction, HostFunction, HostFunctions
from rotifer_host.sandbox.result import CallStats
from rotifer_host.sandbox.run import Run, RunStopped, refuse_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_host.sandbox.calls import Store

__all__ = ["NativePath"]

_LETTERS: Final = {"i32": "i", "i64": "I", "f32": "f", "f64": "F"}


class NativeRun(Run):
    """A run whose host calls are answered in C."""

    __slots__ = ("admit", "forget")

    keeps_responses = False
    admit: Callable[[int, int], None]  # type: ignore[assignment]  # the store's own, which handlers call directly
    forget: Callable[[], None]


class NativePath:
    """Host functions in C that call their handlers."""

    name = "native"

    def define(self, linker: Linker, functions: HostFunctions) -> NativeDefinition:
        """Register every function once; none of them holds a store or a run."""
        return NativeDefinition(linker, functions)


class NativeDefinition:
    """Functions that find their run by the data of the store they are called from."""

    store_type: type[Store] = _native.Store
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
        """Let the store's callbacks find the run."""
        native: _native.Store = store  # type: ignore[assignment]  # `store_type`; a cast would be a call
        deadline, host_time = run.deadline, run.host_time
        native.enter(
            run,
            run.services,
            len(self._labels),
            deadline.stop_ns,
            deadline.cell,
            host_time.limit_ns,
            host_time.cell,
            run.version,
        )
        run.admit = native.admit  # type: ignore[method-assign, assignment]
        run.forget = native.forget  # type: ignore[method-assign]

    def leave(self, run: Run, store: Store) -> None:
        """Take the store's counts, and undo the circle between it and the run."""
        native: _native.Store = store  # type: ignore[assignment]
        for index, count, errors, bytes_in, bytes_out, nanos, shortcuts in native.stats():
            run.calls[self._labels[index]] = CallStats(count, errors, bytes_in, bytes_out, nanos / 1e9, shortcuts)
        native.leave()


def _bind(function: HostFunction, index: int) -> _native.Function:
    exchange = function if isinstance(function, ExchangeFunction) else None
    return _native.Function(
        function=function,
        handler=function.handler,
        guard=None if exchange is None else exchange.guard,
        unchanged_until=None if exchange is None else exchange.unchanged_until,
        shortcut=None if exchange is None else exchange.shortcut,
        index=index,
        params="".join(_LETTERS[kind] for kind in function.params),
        result="".join(_LETTERS[kind] for kind in function.results),
    )


def _answer(run: Run, function: ExchangeFunction, *numbers: int) -> int:
    return answer(run, function, *numbers)[0]


def _keep(run: Run, error: BaseException) -> None:
    if not isinstance(error, RunStopped):
        run.keep(error)


_EXCHANGE, _PLAIN = _native.bind(
    addresses=capi.addresses(_native.ENGINE_FUNCTIONS),
    base_fuel=contract.CALL_BASE_FUEL,
    fuel_per_byte=contract.CALL_FUEL_PER_BYTE,
    largest_request=contract.MAX_REQUEST_BYTES,
    most_tables=capi.MOST_TABLES,
    answer=_answer,
    explain=explain,
    keep=_keep,
    unfit=refuse_response,
    exhausted=exhausted,
    go_on=Run.may_go_on,
    failure=capi.failure,
)
