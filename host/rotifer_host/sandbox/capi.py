"""The engine's C interface, called directly; the only code that touches wasmtime-py's internals.

wasmtime-py's own calls report an exception of a host function through one slot for
the whole process, so that a thread can be handed another thread's exception, and
they spend more time than a small guest runs. Here engines and stores are integers, every
failure is read from the engine's own error or trap, and nothing is global.

Functions that run guest code release the interpreter lock: guests then run side by
side, and the deadline ticker can fire. Those that only read or set a number keep it,
because giving it away may cost a whole switch interval.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from ctypes import POINTER, byref, c_bool, c_char_p, c_size_t, c_uint8, c_uint32, c_void_p
from typing import Any, Final, NamedTuple

from wasmtime import Caller, Config, FuncType, InstancePre, Linker, Memory, TrapCode
from wasmtime import Engine as WasmtimeEngine
from wasmtime import _ffi as bindings
from wasmtime import _func as wasmtime_func

from rotifer_host.sandbox._ffi import ffi

__all__ = [
    "EXTERN_MEMORY",
    "LIBRARY_PATH",
    "MOST_TABLES",
    "Failure",
    "MemoryHandle",
    "addresses",
    "caller_memory",
    "define_unchecked",
    "engine_address",
    "failure",
    "forget_exception",
    "function",
    "increment_epoch",
    "linked_address",
    "locked",
    "memory_of_caller",
    "new_error",
    "new_trap",
    "raise_unexpected",
    "shared_engine",
    "unlocked",
    "use_pool",
]

EXTERN_MEMORY: Final = bindings.WASMTIME_EXTERN_MEMORY.value
_MAX_FRAMES: Final = 32
_LONGEST_NAME: Final = 500
_NO_OFFSET: Final = c_size_t(-1).value  # of the frame a stack overflow was found in
MOST_TABLES: Final = 16
"""Tables an instance may have; it has one memory."""
_MAX_INSTANCE_BYTES: Final = 16 << 20
_RESIDENT_BYTES: Final = 1 << 20
_POOLED_TABLE_ELEMENTS: Final = 1_000_000  # far above the limit of a run, which is what refuses a table

unlocked: Final = bindings.dll
"""The engine's functions, called without the interpreter lock."""
LIBRARY_PATH: Final[str] = unlocked._name  # noqa: SLF001 - where the engine was loaded from
locked: Final = ctypes.PyDLL(None, handle=unlocked._handle)  # noqa: SLF001 - the way to open it once
"""The same, called with it."""


def function(library: ctypes.CDLL, name: str, result: object, *parameters: object) -> Callable[..., Any]:
    """Return a function of the engine, with its C types."""
    found = library[name]  # a function object of our own: wasmtime-py's keep their argument types
    found.restype = result  # type: ignore[assignment]
    found.argtypes = parameters  # type: ignore[assignment]
    return found


_define_unchecked = function(
    locked,
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
_caller_context = function(locked, "wasmtime_caller_context", c_void_p, c_void_p)
_caller_export = function(locked, "wasmtime_caller_export_get", c_bool, c_void_p, c_char_p, c_size_t, c_void_p)
_trap_new = function(locked, "wasmtime_trap_new", c_void_p, c_char_p, c_size_t)
_memory_data = function(locked, "wasmtime_memory_data", c_void_p, c_void_p, c_void_p)
_memory_data_size = function(locked, "wasmtime_memory_data_size", c_size_t, c_void_p, c_void_p)
_engine_clone = function(locked, "wasmtime_engine_clone", c_void_p, c_void_p)
_engine_increment_epoch = function(locked, "wasmtime_engine_increment_epoch", None, c_void_p)

_error_new = function(locked, "wasmtime_error_new", c_void_p, c_char_p)
_error_delete = function(locked, "wasmtime_error_delete", None, c_void_p)
_error_message = function(locked, "wasmtime_error_message", None, c_void_p, c_void_p)
_error_trace = function(locked, "wasmtime_error_wasm_trace", None, c_void_p, c_void_p)
_trap_delete = function(locked, "wasm_trap_delete", None, c_void_p)
_trap_message = function(locked, "wasm_trap_message", None, c_void_p, c_void_p)
_trap_trace = function(locked, "wasm_trap_trace", None, c_void_p, c_void_p)
_trap_code = function(locked, "wasmtime_trap_code", c_bool, c_void_p, POINTER(c_uint8))
_frame_name = function(locked, "wasmtime_frame_func_name", c_void_p, c_void_p)
_frame_index = function(locked, "wasm_frame_func_index", c_uint32, c_void_p)
_frame_offset = function(locked, "wasm_frame_module_offset", c_size_t, c_void_p)
_frames_delete = function(locked, "wasm_frame_vec_delete", None, c_void_p)
_bytes_delete = function(locked, "wasm_byte_vec_delete", None, c_void_p)


class Failure(NamedTuple):
    """Why guest code did not return: the engine's trap, or an error that is no trap."""

    trap: TrapCode | None
    message: str
    """The engine's own words; of use only when `trap` is None."""
    backtrace: list[str]
    """`function at 0xOFFSET` lines, innermost first; the names are the guest's own text."""


class MemoryHandle:
    """An instance's linear memory, valid until its store is closed."""

    __slots__ = ("_context", "_memory", "_reference")

    def __init__(self, context: int, memory: ctypes.Structure) -> None:
        self._context = context
        self._memory = memory
        self._reference = byref(memory)

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
    if not _caller_export(caller, b"memory", 6, byref(item)) or int(item.kind) != EXTERN_MEMORY:
        return None
    return MemoryHandle(_caller_context(caller), item.of.memory)


def use_pool(config: Config, slots: int) -> None:
    """Let an engine keep the memory of finished instances for the next ones: at most `slots` exist at once."""
    pool = bindings.wasmtime_pooling_allocation_config_new()
    for name, value in (
        ("total_core_instances", slots),
        ("max_core_instance_size", _MAX_INSTANCE_BYTES),
        ("total_memories", 2 * slots),  # a table of externrefs takes one for its heap
        ("max_memories_per_module", 1),
        ("total_tables", slots * MOST_TABLES),
        ("max_tables_per_module", MOST_TABLES),
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
    raise_unexpected(
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
    return {name: ctypes.cast(unlocked[name], c_void_p).value or 0 for name in names}


def increment_epoch(engine: int) -> None:
    """Let every running guest of the engine reach its epoch callback."""
    _engine_increment_epoch(engine)


def shared_engine(engine: int) -> int:
    """Return another reference to an engine, for code that must be able to use it for ever."""
    return int(_engine_clone(engine))


def engine_address(engine: WasmtimeEngine) -> int:
    """Return the engine as the integer the functions here take."""
    return ctypes.cast(engine.ptr(), c_void_p).value or 0


def linked_address(linked: InstancePre) -> int:
    """Return a linked module as the integer that a store takes; it must outlive the store."""
    return ctypes.cast(linked.ptr(), c_void_p).value or 0


def new_error() -> int:
    """Return a fresh error, which a callback hands to the engine to end the guest."""
    return int(_error_new(b"ended by the host"))


def failure(error: int | None, trap: int | None) -> Failure | None:
    """Return why guest code did not return, if either is there, and free it."""
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


def forget_exception(kind: type[BaseException]) -> None:
    """Drop an exception of ours from the process-wide slot: wasmtime-py would raise it in somebody else's call."""
    if isinstance(wasmtime_func.LAST_EXCEPTION, kind):
        wasmtime_func.LAST_EXCEPTION = None


def raise_unexpected(error: int | None) -> None:
    """Raise `RuntimeError` for an error of the engine that its settings rule out."""
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
