"""One guest's store through ctypes: for the call paths that need no compiler.

The native path has the same in C (`_native.Store`), whose callbacks find their run in it.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Final

from wasmtime import _ffi as bindings

from rotifer_host.sandbox.capi import (
    EXTERN_MEMORY,
    MOST_TABLES,
    Failure,
    MemoryHandle,
    failure,
    function,
    locked,
    raise_unexpected,
    unlocked,
)
from rotifer_host.sandbox.epoch import EPOCH_CALLBACK
from rotifer_host.sandbox.guest_memory import GuestMemory

__all__ = ["Store"]

_EXTERN_FUNC: Final = bindings.WASMTIME_EXTERN_FUNC.value
_SLOTS: Final = 2


class _Value(ctypes.Union):
    _fields_ = (("i32", c_int32), ("u32", c_uint32), ("size", c_uint64 * 2))


_Values = _Value * _SLOTS

_store_new = function(locked, "wasmtime_store_new", c_void_p, c_void_p, c_void_p, c_void_p)
_store_delete = function(unlocked, "wasmtime_store_delete", None, c_void_p)
_store_context = function(locked, "wasmtime_store_context", c_void_p, c_void_p)
_store_limiter = function(locked, "wasmtime_store_limiter", None, c_void_p, *[c_int64] * 5)
_epoch_callback = function(
    locked, "wasmtime_store_epoch_deadline_callback", None, c_void_p, c_void_p, c_void_p, c_void_p
)
_set_epoch_deadline = function(locked, "wasmtime_context_set_epoch_deadline", None, c_void_p, c_uint64)
_set_fuel = function(locked, "wasmtime_context_set_fuel", c_void_p, c_void_p, c_uint64)
_get_fuel = function(locked, "wasmtime_context_get_fuel", c_void_p, c_void_p, POINTER(c_uint64))
_instantiate = function(
    unlocked, "wasmtime_instance_pre_instantiate", c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)
)
_export_get = function(locked, "wasmtime_instance_export_get", c_bool, c_void_p, c_void_p, c_char_p, c_size_t, c_void_p)
_call = function(
    unlocked,
    "wasmtime_func_call_unchecked",
    c_void_p,
    c_void_p,
    c_void_p,
    POINTER(_Value),
    c_size_t,
    POINTER(c_void_p),
)


class Store:
    """One guest's store. Used by one thread; closed exactly once; never used afterwards."""

    __slots__ = ("_context", "_fuel", "_fuel_at", "_instance", "_pointer", "_trap", "memory")

    def __init__(self, engine: int, memory_bytes: int, table_elements: int) -> None:
        self._pointer = _store_new(engine, None, None)
        self._context = _store_context(self._pointer)
        self._instance = bindings.wasmtime_instance_t()
        self._trap = c_void_p()
        self._fuel = c_uint64()
        self._fuel_at = byref(self._fuel)
        self.memory = GuestMemory()
        """The guest's linear memory."""
        _store_limiter(self._pointer, memory_bytes, table_elements, 1, MOST_TABLES, 1)
        _epoch_callback(self._pointer, EPOCH_CALLBACK, None, None)
        _set_epoch_deadline(self._context, 1)

    def close(self) -> None:
        """Free the store with everything in it."""
        self.memory.detach()
        pointer, self._pointer = self._pointer, None
        _store_delete(pointer)

    @property
    def fuel(self) -> int:
        """Fuel left; may be set, from inside a host call too."""
        self._check_open()
        raise_unexpected(_get_fuel(self._context, self._fuel_at))
        return self._fuel.value

    @fuel.setter
    def fuel(self, fuel: int) -> None:
        self._check_open()
        raise_unexpected(_set_fuel(self._context, fuel))

    def instantiate(self, linked: int) -> Failure | None:
        """Make the instance of the `InstancePre` at this address, running its start function."""
        error = _instantiate(linked, self._context, byref(self._instance), byref(self._trap))
        problem = self._failure(error)
        if problem is None:
            self.memory.attach(MemoryHandle(self._context, self._export("memory", EXTERN_MEMORY).of.memory))
        return problem

    def call(self, name: str, *arguments: int) -> int | Failure:
        """Call an exported function that is known to take these i32s and return one, which is signed."""
        values = _Values()
        for value, argument in zip(values, arguments, strict=False):
            value.u32 = argument
        problem = self._enter(name, values, len(arguments) or 1)
        return int(values[0].i32) if problem is None else problem

    def start(self, name: str) -> Failure | None:
        """Call an exported function that is known to take and return nothing."""
        return self._enter(name, _Values(), 0)

    def _enter(self, name: str, values: ctypes.Array[_Value], slots: int) -> Failure | None:
        function = self._export(name, _EXTERN_FUNC).of.func
        return self._failure(_call(self._context, byref(function), values, slots, byref(self._trap)))

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
        return failure(error, trap)
