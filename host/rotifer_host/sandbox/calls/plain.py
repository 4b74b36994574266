"""The plain call path: wasmtime-py's own host functions.

The slowest path, and the one that needs nothing: the reference the others are
tested against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import c_double, c_float, c_int32, c_int64
from typing import TYPE_CHECKING, Any, Final

from wasmtime import Caller, FuncType, Linker, ValType

from rotifer_host.sandbox import capi
from rotifer_host.sandbox.active import current
from rotifer_host.sandbox.calls.exchange import call_plain, exchange
from rotifer_host.sandbox.calls.registry import ExchangeFunction, HostFunction, HostFunctions
from rotifer_host.sandbox.run import Run, RunStopped
from rotifer_host.sandbox.store import Store as CtypesStore

if TYPE_CHECKING:
    from rotifer_host.sandbox.calls import Store

__all__ = ["PlainPath", "signature_of"]

_U32: Final = 0xFFFF_FFFF
_RESULTS: Final[Mapping[str, Callable[..., Any]]] = {"i32": c_int32, "i64": c_int64, "f32": c_float, "f64": c_double}
_TYPES: Final = {"i32": ValType.i32, "i64": ValType.i64, "f32": ValType.f32, "f64": ValType.f64}


class PlainPath:
    """Host functions through `Linker.define_func`."""

    name = "plain"

    def define(self, linker: Linker, functions: HostFunctions) -> PlainDefinition:
        """Register every function once; none of them holds a store or a run."""
        for function in functions:
            linker.define_func(
                function.module, function.name, signature_of(function), _bind(function), access_caller=True
            )
        return PlainDefinition()


class PlainDefinition:
    """Functions that find their run by the thread they are called on."""

    store_type: type[Store] = CtypesStore
    run_type = Run

    def enter(self, run: Run, store: Store) -> None:
        """Nothing to do: the thread's run is known."""

    def leave(self, run: Run, store: Store) -> None:  # noqa: ARG002 - nothing is left on either
        """Drop the exception that ended the guest from wasmtime-py's one slot for all threads."""
        capi.forget_exception(RunStopped)


def signature_of(function: HostFunction) -> FuncType:
    """Return a function's type, new each time: one that is used with two engines aborts the process."""
    return FuncType([_TYPES[kind]() for kind in function.params], [_TYPES[kind]() for kind in function.results])


def _bind(function: HostFunction) -> Callable[..., float | None]:
    if isinstance(function, ExchangeFunction):

        def call_exchange(caller: Caller, request_at: int, request_size: int, out: int, capacity: int) -> int:
            run = _enter(caller)
            return exchange(run, function, request_at & _U32, request_size & _U32, out & _U32, capacity & _U32)

        return call_exchange

    unsigned = tuple(kind == "i32" for kind in function.params)
    as_c = _RESULTS[function.results[0]] if function.results else None

    def call(caller: Caller, *arguments: int) -> float | None:
        run = _enter(caller)
        converted = [value & _U32 if u32 else value for value, u32 in zip(arguments, unsigned, strict=True)]
        result = call_plain(run, function, converted)
        if as_c is None:
            return None
        try:
            number: float = as_c(result).value  # signed, which is how wasmtime-py takes it
        except TypeError as error:  # a bug in the handler
            run.keep(error)
            raise RunStopped from None
        return number

    return call


def _enter(caller: Caller) -> Run:
    """Return this thread's run, with its memory: a start function runs before there is an instance to ask for it."""
    run = current()
    if not run.memory.attached:
        memory = capi.caller_memory(caller)
        if memory is not None:
            run.memory.attach(memory)
    return run
