"""The raw call path: a cffi callback that the engine calls without converting values.

Needs no compiler. Arguments are read from the engine's own array, and the result is
written into it. An exception that escapes a callback, even one that a signal handler
raises at its first instruction, reaches `onerror`, which ends the guest.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Final

from wasmtime import Linker

from rotifer_host.sandbox import capi
from rotifer_host.sandbox._ffi import ffi as _ffi
from rotifer_host.sandbox.active import RUNS
from rotifer_host.sandbox.calls.exchange import call_plain, exchange
from rotifer_host.sandbox.calls.plain import signature_of
from rotifer_host.sandbox.calls.registry import ExchangeFunction, HostFunctions, PlainFunction
from rotifer_host.sandbox.run import Run, RunStopped

if TYPE_CHECKING:
    from rotifer_host.sandbox.capi import Store

__all__ = ["RawPath"]

_U32: Final = 0xFFFF_FFFF
_VALUE_BYTES: Final = 16
_VIEWED: Final = 4
_MOST_VIEWS: Final = 1024
_SIGNATURE: Final = "size_t(size_t, size_t, size_t, size_t)"

_Callback = Callable[[int, int, int, int], int]


class RawPath:
    """Host functions through `wasmtime_linker_define_func_unchecked`."""

    name = "raw"

    def define(self, linker: Linker, functions: HostFunctions) -> RawDefinition:
        """Register every function once; none of them holds a store or a run."""
        callbacks = []
        for function in functions:
            bound = _bind_exchange(function) if isinstance(function, ExchangeFunction) else _bind_plain(function)
            callback = _ffi.callback(_SIGNATURE, bound, error=0, onerror=_on_error)
            address = int(_ffi.cast("size_t", callback))
            capi.define_unchecked(linker, (function.module, function.name), signature_of(function), address, 0)
            callbacks.append(callback)
        return RawDefinition(callbacks)


class RawDefinition:
    """Functions that find their run by the thread they are called on."""

    run_type = Run

    def __init__(self, callbacks: list[object]) -> None:
        self._callbacks = callbacks  # the engine calls them for as long as the linker lives

    def enter(self, run: Run, store: Store) -> None:
        """Nothing to do: the thread's run is known."""

    def leave(self, run: Run) -> None:
        """Nothing to do: nothing is left behind."""


_views: dict[int, memoryview] = {}
"""Views of the engine's argument arrays by address: a guest at one depth of its stack always uses the same."""


def _view(address: int) -> memoryview:
    if len(_views) >= _MOST_VIEWS:
        _views.clear()
    slots = _ffi.buffer(_ffi.cast("char *", address), _VIEWED * _VALUE_BYTES)
    view = _views[address] = memoryview(slots).cast("B").cast("I")[:: _VALUE_BYTES // 4]
    return view


def _bind_exchange(function: ExchangeFunction) -> _Callback:
    def call(_data: int, caller: int, values: int, _count: int) -> int:
        run = _enter(caller)
        view = _views.get(values) or _view(values)
        view[0] = exchange(run, function, *view.tolist()) & _U32
        return 0

    return call


def _bind_plain(function: PlainFunction) -> _Callback:
    kinds = function.params
    kind = function.results[0] if function.results else None
    only_i32 = len(kinds) == _VIEWED and {*kinds} == {"i32"} and kind == "i32"

    def call(_data: int, caller: int, address: int, _count: int) -> int:
        run = _enter(caller)
        if only_i32:
            view = _views.get(address) or _view(address)
            view[0] = (call_plain(run, function, *view.tolist()) or 0) & _U32
            return 0
        values = _ffi.cast("rotifer_value *", address)
        arguments = [getattr(values[at], name) for at, name in enumerate(kinds)]
        result = call_plain(run, function, *arguments)
        if kind is not None:
            setattr(values[0], kind, result & _U32 if kind == "i32" and result is not None else result)
        return 0

    return call


def _enter(caller: int) -> Run:
    """Return this thread's run, with its memory: a start function runs before there is an instance to ask for it."""
    run = RUNS[get_ident()]
    if not run.memory.attached:
        memory = capi.memory_of_caller(caller)
        if memory is not None:
            run.memory.attach(memory)
    return run


def _on_error(_kind: type[BaseException], error: BaseException, _trace: object) -> int:
    if not isinstance(error, RunStopped):
        RUNS[get_ident()].keep(error)
    return capi.new_trap()
