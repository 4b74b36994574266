"""The engine's C interface, called directly; the only code that touches wasmtime-py's internals.

wasmtime-py's own calls report an exception of a host function through one slot for
the whole process, so that a thread can be handed another thread's exception, and
they spend more time than a small guest runs. Here a store is an integer, every
failure is read from the engine's own error or trap, and nothing is global.

Functions that run guest code release the interpreter lock: guests then run side by
side, and the deadline ticker can fire. Those that only read or set a number keep it,
because giving it away may cost a whole switch interval.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any, Final, NamedTuple

from wasmtime import Caller, Config, FuncType, InstancePre, Linker, Memory, TrapCode
from wasmtime import Engine as WasmtimeEngine
from wasmtime import _ffi as bindings
from wasmtime import _func as wasmtime_func

from rotifer_host.sandbox._ffi import ffi

__all__ = [
    "LIBRARY_PATH",
    "Failure",
    "GuestFunction",
    "MemoryHandle",
    "Store",
    "addresses",
    "caller_memory",
    "define_unchecked",
    "forget_exception",
    "increment_epoch",
    "memory_of_caller",
    "new_error",
    "new_trap",
    "use_pool",
]

_EXTERN_FUNC: Final = bindings.WASMTIME_EXTERN_FUNC.value
_EXTERN_MEMORY: Final = bindings.WASMTIME_EXTERN_MEMORY.value
_MAX_FRAMES: Final = 32
_LONGEST_NAME: Final = 500
_NO_OFFSET: Final = c_size_t(-1).value  # of the frame a stack overflow was found in
_MEMORY_LIMIT: Final = 1
_INSTANCE_LIMIT: Final = 1
_TABLE_LIMIT: Final = 16
_MAX_INSTANCE_BYTES: Final = 16 << 20
_RESIDENT_BYTES: Final = 1 << 20
_POOLED_TABLE_ELEMENTS: Final = 1_000_000  # far above the limit of a run, which is what refuses a table

_unlocked = bindings.dll
LIBRARY_PATH: Final[str] = _unlocked._name  # noqa: SLF001 - where the engine was loaded from
_locked = ctypes.PyDLL(None, handle=_unlocked._handle)  # noqa: SLF001 - the way to open it once


def _function(library: ctypes.CDLL, name: str, result: object, *parameters: object) -> Callable[..., Any]:
    function = library[name]  # a function object of our own: wasmtime-py's keep their argument types
    function.restype = result  # type: ignore[assignment]
    function.argtypes = parameters  # type: ignore[assignment]
    return function


class _Value(ctypes.Union):
    _fields_ = (("i32", c_int32), ("u32", c_uint32), ("i64", c_int64), ("size", c_uint64 * 2))


_store_new = _function(_locked, "wasmtime_store_new", c_void_p, c_void_p, c_void_p, c_void_p)
_store_delete = _function(_unlocked, "wasmtime_store_delete", None, c_void_p)
_store_context = _function(_locked, "wasmtime_store_context", c_void_p, c_void_p)
_store_limiter = _function(_locked, "wasmtime_store_limiter", None, c_void_p, *[c_int64] * 5)
_epoch_callback = _function(
    _locked, "wasmtime_store_epoch_deadline_callback", None, c_void_p, c_void_p, c_void_p, c_void_p
)
_set_epoch_deadline = _function(_locked, "wasmtime_context_set_epoch_deadline", None, c_void_p, c_uint64)
_set_data = _function(_locked, "wasmtime_context_set_data", None, c_void_p, c_void_p)
_set_fuel = _function(_locked, "wasmtime_context_set_fuel", c_void_p, c_void_p, c_uint64)
_get_fuel = _function(_locked, "wasmtime_context_get_fuel", c_void_p, c_void_p, POINTER(c_uint64))
_instantiate = _function(
    _unlocked, "wasmtime_instance_pre_instantiate", c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)
)
_define_unchecked = _function(
    _locked,
    "wasmtime_linker_define_func_unchecked",
    c_void_p,
    c_void_p,
    c_char_p,
    c_size_t,
    c_char_p,
    c_size_t,
    c_void_p,
    c_void_p,
    c_void_p,
    c_void_p,
)
_caller_context = _function(_locked, "wasmtime_caller_context", c_void_p, c_void_p)
_caller_export = _function(_locked, "wasmtime_caller_export_get", c_bool, c_void_p, c_char_p, c_size_t, c_void_p)
_trap_new = _function(_locked, "wasmtime_trap_new", c_void_p, c_char_p, c_size_t)
_export_get = _function(
    _locked, "wasmtime_instance_export_get", c_bool, c_void_p, c_void_p, c_char_p, c_size_t, c_void_p
)
_call = _function(
    _unlocked,
    "wasmtime_func_call_unchecked",
    c_void_p,
    c_void_p,
    c_void_p,
    POINTER(_Value),
    c_size_t,
    POINTER(c_void_p),
)
_memory_data = _function(_locked, "wasmtime_memory_data", c_void_p, c_void_p, c_void_p)
_memory_data_size = _function(_locked, "wasmtime_memory_data_size", c_size_t, c_void_p, c_void_p)
_engine_increment_epoch = _function(_locked, "wasmtime_engine_increment_epoch", None, c_void_p)

_error_new = _function(_locked, "wasmtime_error_new", c_void_p, c_char_p)
_error_delete = _function(_locked, "wasmtime_error_delete", None, c_void_p)
_error_message = _function(_locked, "wasmtime_error_message", None, c_void_p, c_void_p)
_error_trace = _function(_locked, "wasmtime_error_wasm_trace", None, c_void_p, c_void_p)
_trap_delete = _function(_locked, "wasm_trap_delete", None, c_void_p)
_trap_message = _function(_locked, "wasm_trap_message", None, c_void_p, c_void_p)
_trap_trace = _function(_locked, "wasm_trap_trace", None, c_void_p, c_void_p)
_trap_code = _function(_locked, "wasmtime_trap_code", c_bool, c_void_p, POINTER(c_uint8))
_frame_name = _function(_locked, "wasmtime_frame_func_name", c_void_p, c_void_p)
_frame_index = _function(_locked, "wasm_frame_func_index", c_uint32, c_void_p)
_frame_offset = _function(_locked, "wasm_frame_module_offset", c_size_t, c_void_p)
_frames_delete = _function(_locked, "wasm_frame_vec_delete", None, c_void_p)
_bytes_delete = _function(_locked, "wasm_byte_vec_delete", None, c_void_p)


class Failure(NamedTuple):
    """Why guest code did not return: the engine's trap, or an error that is no trap."""

    trap: TrapCode | None
    message: str
    """The engine's own words; of use only when `trap` is None."""
    backtrace: list[str]
    """`function at 0xOFFSET` lines, innermost first; the names are the guest's own text."""


class GuestFunction(NamedTuple):
    """An exported function of an instance."""

    handle: ctypes.Structure
    result: bool


class Store:
    """One guest's store. Used by one thread; closed exactly once; never used afterwards."""

    __slots__ = ("_context", "_instance", "_pointer", "_trap")

    def __init__(self, engine: int, epoch_callback: int, *, memory_bytes: int, table_elements: int) -> None:
        self._pointer = _store_new(engine, None, None)
        self._context = _store_context(self._pointer)
        self._instance = bindings.wasmtime_instance_t()
        self._trap = c_void_p()
        _store_limiter(self._pointer, memory_bytes, table_elements, _INSTANCE_LIMIT, _TABLE_LIMIT, _MEMORY_LIMIT)
        _epoch_callback(self._pointer, epoch_callback, None, None)
        _set_epoch_deadline(self._context, 1)

    @property
    def context(self) -> int:
        """Address of the store's context."""
        self._check_open()
        return int(self._context)

    def set_data(self, address: int) -> None:
        """Let callbacks find what lies at this address, which must outlive the store."""
        _set_data(self._context, address)

    def close(self) -> None:
        """Free the store with everything in it: views of its memory must be gone."""
        pointer, self._pointer = self._pointer, None
        _store_delete(pointer)

    @property
    def fuel(self) -> int:
        """Fuel left; may be set, from inside a host call too."""
        self._check_open()
        left = c_uint64()
        _raise_unexpected(_get_fuel(self._context, byref(left)))
        return left.value

    @fuel.setter
    def fuel(self, fuel: int) -> None:
        self._check_open()
        _raise_unexpected(_set_fuel(self._context, fuel))

    def instantiate(self, module: InstancePre) -> Failure | None:
        """Make the instance, running its start function."""
        pointer = ctypes.cast(module.ptr(), c_void_p)
        error = _instantiate(pointer, self._context, byref(self._instance), byref(self._trap))
        return self._failure(error)

    def function(self, name: str, *, result: bool) -> GuestFunction:
        """Return an exported function that is known to take i32s and return one i32, or with `result` False nothing."""
        return GuestFunction(self._export(name, _EXTERN_FUNC).of.func, result)

    def memory(self, name: str) -> MemoryHandle:
        """Return an exported memory that is known to exist."""
        return MemoryHandle(self._context, self._export(name, _EXTERN_MEMORY).of.memory)

    def call(self, function: GuestFunction, *arguments: int) -> int | Failure:
        """Call with i32 arguments; returns the signed i32 result, 0 for a function without one."""
        slots = max(len(arguments), int(function.result))
        values = (_Value * (slots or 1))()
        for value, argument in zip(values, arguments, strict=False):
            value.u32 = argument
        error = _call(self._context, byref(function.handle), values, slots, byref(self._trap))
        return self._failure(error) or (int(values[0].i32) if function.result else 0)

    def _check_open(self) -> None:
        if self._pointer is None:  # a host function kept its run for longer than the run
            raise RuntimeError("the run has ended")

    def _export(self, name: str, kind: int) -> bindings.wasmtime_extern_t:
        encoded = name.encode()
        item = bindings.wasmtime_extern_t()
        found = _export_get(self._context, byref(self._instance), encoded, len(encoded), byref(item))
        if not found or int(item.kind) != kind:
            message = f"no export {name} of the expected kind"
            raise LookupError(message)
        return item  # functions and memories are plain handles: nothing to free

    def _failure(self, error: int | None) -> Failure | None:
        trap, self._trap.value = self._trap.value, None
        if error:
            try:
                return Failure(None, _text(_error_message, error), _backtrace(_error_trace, error))
            finally:
                _error_delete(error)
        if trap:
            try:
                code = c_uint8()
                known = _trap_code(trap, byref(code))
                message = _text(_trap_message, trap).rstrip("\0")
                return Failure(TrapCode(code.value) if known else None, message, _backtrace(_trap_trace, trap))
            finally:
                _trap_delete(trap)
        return None


class MemoryHandle:
    """An instance's linear memory, valid until its store is closed."""

    __slots__ = ("_context", "_memory", "_reference")

    def __init__(self, context: int, memory: ctypes.Structure) -> None:
        self._context = context
        self._memory = memory
        self._reference = byref(memory)

    @classmethod
    def at(cls, context: int, memory: bytes) -> MemoryHandle:
        """Return a handle from the engine's own bytes."""
        return cls(context, bindings.wasmtime_memory_t.from_buffer_copy(memory))

    @property
    def size(self) -> int:
        """Bytes at this moment; never less than before."""
        return int(_memory_data_size(self._context, self._reference))

    def buffer(self, size: int) -> Any:  # noqa: ANN401 - cffi has no types
        """Return a cffi buffer over the first `size` bytes: slices of it are copies, its end must be known to exist."""
        return ffi.buffer(ffi.cast("char *", _memory_data(self._context, self._reference) or 0), size)


def caller_memory(caller: Caller) -> MemoryHandle | None:
    """Return the calling instance's `memory`, also while its start function runs."""
    memory = caller.get("memory")
    if not isinstance(memory, Memory):
        return None
    context = ctypes.cast(caller._context(), c_void_p).value or 0  # noqa: SLF001 - not offered otherwise
    return MemoryHandle(context, memory._memory)  # noqa: SLF001


def memory_of_caller(caller: int) -> MemoryHandle | None:
    """Return the calling instance's `memory`, from a callback that gets addresses."""
    item = bindings.wasmtime_extern_t()
    if not _caller_export(caller, b"memory", 6, byref(item)) or int(item.kind) != _EXTERN_MEMORY:
        return None
    return MemoryHandle(_caller_context(caller), item.of.memory)


def use_pool(config: Config, slots: int) -> None:
    """Let an engine keep the memory of finished instances for the next ones: at most `slots` exist at once."""
    pool = bindings.wasmtime_pooling_allocation_config_new()
    for name, value in (
        ("total_core_instances", slots),
        ("max_core_instance_size", _MAX_INSTANCE_BYTES),
        ("total_memories", 2 * slots * _MEMORY_LIMIT),  # a table of externrefs takes one for its heap
        ("max_memories_per_module", _MEMORY_LIMIT),
        ("total_tables", slots * _TABLE_LIMIT),
        ("max_tables_per_module", _TABLE_LIMIT),
        ("table_elements", _POOLED_TABLE_ELEMENTS),
        ("linear_memory_keep_resident", _RESIDENT_BYTES),
        ("table_keep_resident", _RESIDENT_BYTES),
        ("total_stacks", 0),
        ("total_gc_heaps", slots),
    ):
        getattr(bindings, f"wasmtime_pooling_allocation_config_{name}_set")(pool, value)
    bindings.wasmtime_pooling_allocation_strategy_set(config.ptr(), pool)
    bindings.wasmtime_pooling_allocation_config_delete(pool)


def define_unchecked(linker: Linker, name: tuple[str, str], signature: FuncType, callback: int, data: int) -> None:
    """Define host function `(module, name)`.

    Its callback gets the addresses `(data, caller, values)` and a count, and returns 0 or
    the address of a trap.
    """
    owner, encoded = (part.encode() for part in name)
    _raise_unexpected(
        _define_unchecked(
            ctypes.cast(linker.ptr(), c_void_p),
            owner,
            len(owner),
            encoded,
            len(encoded),
            ctypes.cast(signature.ptr(), c_void_p),
            callback,
            data,
            None,
        )
    )


def new_trap() -> int:
    """Return a fresh trap, which a callback hands to the engine to end the guest."""
    text = b"the host ended the run"
    return int(_trap_new(text, len(text)))


def addresses(names: Iterable[str]) -> dict[str, int]:
    """Return where functions of the engine lie, for code that calls them without linking against it."""
    return {name: ctypes.cast(_unlocked[name], c_void_p).value or 0 for name in names}


def increment_epoch(engine: int) -> None:
    """Let every running guest of the engine reach its epoch callback."""
    _engine_increment_epoch(engine)


def engine_address(engine: WasmtimeEngine) -> int:
    """Return the engine as the integer the functions here take."""
    return ctypes.cast(engine.ptr(), c_void_p).value or 0


def new_error() -> int:
    """Return a fresh error, which a callback hands to the engine to end the guest."""
    return int(_error_new(b"ended by the host"))


def forget_exception(kind: type[BaseException]) -> None:
    """Drop an exception of ours from the process-wide slot: wasmtime-py would raise it in somebody else's call."""
    if isinstance(wasmtime_func.LAST_EXCEPTION, kind):
        wasmtime_func.LAST_EXCEPTION = None


def _raise_unexpected(error: int | None) -> None:
    if error:  # only for an engine without fuel, which the one configuration rules out
        message = _text(_error_message, error)
        _error_delete(error)
        raise RuntimeError(message)


def _text(read: Callable[..., Any], owner: int) -> str:
    vector = bindings.wasm_byte_vec_t()
    read(owner, byref(vector))
    try:
        return ctypes.string_at(vector.data, vector.size).decode("utf-8", "replace")
    finally:
        _bytes_delete(byref(vector))


def _backtrace(read: Callable[..., Any], owner: int) -> list[str]:
    frames = bindings.wasm_frame_vec_t()
    read(owner, byref(frames))
    try:
        pointers = ctypes.cast(frames.data, POINTER(c_void_p))
        lines = [_frame_line(pointers[index]) for index in range(min(frames.size, _MAX_FRAMES))]
        return lines + ([f"{frames.size - _MAX_FRAMES} more"] if frames.size > _MAX_FRAMES else [])
    finally:
        _frames_delete(byref(frames))


def _frame_line(frame: int | None) -> str:
    name = _frame_name(frame)
    if name:
        vector = bindings.wasm_byte_vec_t.from_address(name)  # owned by the frame
        length = min(vector.size, _LONGEST_NAME)
        function = ctypes.string_at(vector.data, length).decode("utf-8", "replace") + "…" * (length < vector.size)
    else:
        function = f"function {_frame_index(frame)}"
    offset = _frame_offset(frame)
    return function if offset == _NO_OFFSET else f"{function} at 0x{offset:x}"
