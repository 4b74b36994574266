"""The raw call path: a cffi callback that the engine calls without converting values.

Needs no compiler. Arguments are read from the engine's own array, and the result is
written into it. An exception that escapes a callback, even one that a signal handler
raises at its first instruction, reaches `onerror`, which ends the guest.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from wasmtime import Linker

from rotifer_host.contract import CALL_BASE_FUEL
from rotifer_host.errors import BudgetExhaustedError
from rotifer_host.sandbox import capi
from rotifer_host.sandbox._ffi import ffi as _ffi
from rotifer_host.sandbox.active import current
from rotifer_host.sandbox.calls.exchange import call_plain, exchange, exhausted
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
_SIGNATURE: Final = "size_t(int, size_t, size_t)"
"""Of data, which is none, caller and values. The count after them stays where it is: taking it would cost 40 ns."""

_USED_UP: Final = "a budget of the run is used up"

_Callback = Callable[[int, int, int], int]


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

    def call(_data: int, caller: int, address: int) -> int:
        run = current()
        if not run.memory.attached:
            _attach(run, caller)
        view = views.get(address) or _view(views, address, 4)
        request_at, request_size, out, capacity = view
        view[0] = exchange(run, function, request_at, request_size, out, capacity) & _U32
        return 0

    return call


def _bind_plain(function: PlainFunction) -> _Callback:
    only_i32s = bool(function.params) and {*function.params, *function.results} == {"i32"}
    return _bind_i32s(function) if only_i32s else _bind_any(function)


def _bind_i32s(function: PlainFunction) -> _Callback:
    """Bind a function of i32s alone, which nearly all are.

    This is `call_plain` in one frame, with the usual case first: each frame of Python,
    and a star where arguments are passed on, is a twentieth or a tenth of such a call.
    """
    views: _Views = {}
    handler, count, answers = function.handler, len(function.params), bool(function.results)
    has_four = count == 4  # noqa: PLR2004 - as most of the larger ones, which take two ranges of memory

    def call(_data: int, caller: int, address: int) -> int:
        started = monotonic()
        run = current()
        if not run.memory.attached:
            _attach(run, caller)
        try:
            view = views[address]
        except KeyError:
            view = _view(views, address, count)
        host_time = run.host_time
        result: Any  # an integer where the function has a result, None where it has none
        try:
            fuel = run.fuel
            pending = fuel.pending + CALL_BASE_FUEL
            if pending <= fuel.batch and started < run.deadline.stop and host_time.left > 0.0:
                fuel.pending = pending
            elif not run.begin_call(started):
                raise BudgetExhaustedError(_USED_UP)  # noqa: TRY301 - to where all refusals go
            if has_four:
                first, second, third, fourth = view
                result = handler(run, first, second, third, fourth)
            else:
                result = handler(run, *view)
        except BaseException as error:  # noqa: BLE001 - what is no budget ends the run
            result = exhausted(run, function, error)
        finally:
            host_time.left -= monotonic() - started
        if answers:
            try:
                view[0] = result
            except ValueError:  # a negative number
                view[0] = result & _U32
        return 0

    return call


def _bind_any(function: PlainFunction) -> _Callback:
    kinds = function.params
    kind = function.results[0] if function.results else None

    def call(_data: int, caller: int, address: int) -> int:
        run = current()
        if not run.memory.attached:
            _attach(run, caller)
        values = _ffi.cast("rotifer_value *", address)
        result = call_plain(run, function, [getattr(values[at], name) for at, name in enumerate(kinds)])
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
        current().keep(error)
    return capi.new_trap()
