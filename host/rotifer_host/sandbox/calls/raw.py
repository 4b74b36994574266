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
from rotifer_host.sandbox.store import Store as CtypesStore

if TYPE_CHECKING:
    from rotifer_host.sandbox.calls import Store

__all__ = ["RawPath"]

_U32: Final = 0xFFFF_FFFF
_VALUE_BYTES: Final = 16
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

    store_type: type[Store] = CtypesStore
    run_type = Run

    def __init__(self, callbacks: list[object]) -> None:
        self._callbacks = callbacks  # the engine calls them for as long as the linker lives

    def enter(self, run: Run, store: Store) -> None:
        """Nothing to do: the thread's run is known."""

    def leave(self, run: Run, store: Store) -> None:
        """Nothing to do: nothing is left behind."""


_Views = dict[int, memoryview]
"""Views of the engine's argument arrays by address: a guest at one depth of its stack always uses the same."""


def _view(views: _Views, address: int, count: int) -> memoryview:
    """Return a view of `count` i32s: unsigned numbers, whatever the engine left in the rest of their slots."""
    if len(views) >= _MOST_VIEWS:
        views.clear()
    slots = _ffi.buffer(_ffi.cast("char *", address), count * _VALUE_BYTES)
    view = views[address] = memoryview(slots).cast("B").cast("I")[:: _VALUE_BYTES // 4]
    return view


def _bind_exchange(function: ExchangeFunction) -> _Callback:
    views: _Views = {}

    def call(_data: int, caller: int, address: int, _count: int) -> int:
        run = RUNS[get_ident()]
        if not run.memory.attached:
            _attach(run, caller)
        view = views.get(address) or _view(views, address, 4)
        view[0] = exchange(run, function, *view.tolist()) & _U32
        return 0

    return call


def _bind_plain(function: PlainFunction) -> _Callback:
    only_i32s = bool(function.params) and {*function.params, *function.results} == {"i32"}
    return _bind_i32s(function) if only_i32s else _bind_any(function)


def _bind_i32s(function: PlainFunction) -> _Callback:
    """Bind a function of i32s alone, which nearly all are."""
    views: _Views = {}
    count, answers = len(function.params), bool(function.results)

    def call(_data: int, caller: int, address: int, _count: int) -> int:
        run = RUNS[get_ident()]
        if not run.memory.attached:
            _attach(run, caller)
        view = views.get(address) or _view(views, address, count)
        result = call_plain(run, function, *view.tolist())
        if answers:
            view[0] = (result or 0) & _U32
        return 0

    return call


def _bind_any(function: PlainFunction) -> _Callback:
    kinds = function.params
    kind = function.results[0] if function.results else None

    def call(_data: int, caller: int, address: int, _count: int) -> int:
        run = RUNS[get_ident()]
        if not run.memory.attached:
            _attach(run, caller)
        values = _ffi.cast("rotifer_value *", address)
        arguments = [getattr(values[at], name) for at, name in enumerate(kinds)]
        result = call_plain(run, function, *arguments)
        if kind is not None:
            setattr(values[0], kind, result & _U32 if kind == "i32" and result is not None else result)
        return 0

    return call


def _attach(run: Run, caller: int) -> None:
    """Let a run have its memory: a start function calls before there is an instance to ask for it."""
    memory = capi.memory_of_caller(caller)
    if memory is not None:
        run.memory.attach(memory)


def _on_error(_kind: type[BaseException], error: BaseException, _trace: object) -> int:
    if not isinstance(error, RunStopped):
        RUNS[get_ident()].keep(error)
    return capi.new_trap()
