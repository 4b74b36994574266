"""The one WASM engine of a process, its settings and its compiler."""

from __future__ import annotations

import faulthandler
import functools
import hashlib
import mmap
import os
import platform
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

import wasmtime
from wasmtime import Config, Module, WasmtimeError

from rotifer_host.errors import BadModuleError, UsageError
from rotifer_host.sandbox import capi
from rotifer_host.sandbox.deadline import Deadline
from rotifer_host.sandbox.epoch import ticker_for
from rotifer_host.text import shortened

__all__ = ["CONFIGURATION", "Engine", "code_version", "engine"]

CONFIGURATION: Final = {
    "consume_fuel": True,
    "epoch_interruption": True,
    # A view of linear memory stays valid while the guest grows it: all of it is reserved from the start.
    "memory_may_move": False,
    "memory_reservation": 4 << 30,
    # The same input gives the same output, whatever the machine.
    "cranelift_nan_canonicalization": True,
    "wasm_relaxed_simd_deterministic": True,
    # What no gene needs, and the limits of a run do not reach.
    "wasm_component_model": False,
    "wasm_exceptions": False,
    "wasm_function_references": False,
    "wasm_gc": False,
    "wasm_memory64": False,
    "wasm_multi_memory": False,
    "wasm_threads": False,
}
"""Settings of the engine. Some combinations abort the process: a test makes an engine of these in a process of its own.

Reference types and SIMD stay on: current compilers emit them.
"""

POOL_SLOTS: Final = 128
"""Instances that exist at once; their memory is reused without being given back to the system in between."""
_SLOT_PAUSE_S: Final = 0.010
_SLOT_BYTES: Final = (4 << 30) + (64 << 20)  # a whole 32-bit memory and its guards

_MAGIC: Final = b"\0asm"
_COMPONENT: Final = b"\x0d\0\1\0"
_LONGEST_REASON: Final = 1000


class Slots:
    """The places of the pool: a run holds one while its instance exists. Without a pool there is always one."""

    def __init__(self, count: int | None) -> None:
        self._free: SimpleQueue[None] | None = None if count is None else SimpleQueue()
        for _ in range(count or 0):
            self.give()

    def take(self, deadline: Deadline) -> bool:
        """Take a place, waiting for one until the deadline; False when it passes or the run is cancelled first."""
        if self._free is None:
            return True
        pause_s = 0.0
        while True:
            try:
                self._free.get(pause_s > 0, pause_s)
            except Empty:
                if deadline.passed or deadline.cancelled:
                    return False
                pause_s = _SLOT_PAUSE_S
            else:
                return True

    def give(self) -> None:
        """Give a place back."""
        if self._free is not None:
            self._free.put(None)


class Engine:
    """The engine with its ticker; any thread may use it."""

    def __init__(self) -> None:
        pooling = _can_pool()
        self.wasmtime = _configured(parallel=True, pooling=pooling)
        self.slots = Slots(POOL_SLOTS if pooling else None)
        self.address = capi.engine_address(self.wasmtime)
        self.ticker = ticker_for(self.address)
        self._pid = os.getpid()
        self._faulthandler = faulthandler.is_enabled()

    def check_signal_handlers(self) -> None:
        """Refuse to run guests whose traps would end the process. Raises `UsageError`.

        The engine turns a hardware fault in guest code into a trap. A `faulthandler`
        enabled after the engine was made takes such a fault for a crash.
        """
        if faulthandler.is_enabled() and not self._faulthandler:
            raise UsageError(
                "faulthandler was enabled after the WASM engine started",
                help="call faulthandler.enable() before the first sandbox is made",
            )

    def compile(self, wasm: bytes) -> Module:
        """Compile a binary module. Raises `BadModuleError`."""
        if not wasm.startswith(_MAGIC):
            raise BadModuleError("not a WebAssembly binary", help="text (.wat) is assembled by `rotifer compile`")
        if wasm.startswith(_MAGIC + _COMPONENT):
            raise BadModuleError("a WebAssembly component, not a core module", help="build the gene as a core module")
        try:
            if os.getpid() == self._pid:
                return Module(self.wasmtime, wasm)
            # A fork has no compiler threads: a parallel compilation would wait for them for ever.
            return Module.deserialize(self.wasmtime, Module(_configured(parallel=False), wasm).serialize())
        except WasmtimeError as error:
            raise BadModuleError(f"not a valid WebAssembly module: {_reason(error)}") from None

    def restore(self, code: bytes) -> Module | None:
        """Turn what `Module.serialize` gave back into a module; None for code this engine did not make.

        Only for code from a place nobody else can write to: it is run as it is.
        """
        try:
            return Module.deserialize(self.wasmtime, code)
        except WasmtimeError:
            return None


_lock = threading.Lock()
_engine: Engine | None = None


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - the thread that held it does not exist here
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def engine() -> Engine:
    """Return the process's engine, made when it is first asked for.

    There is never a second one: a module of one engine in a store of another aborts the process.
    """
    global _engine  # noqa: PLW0603 - made late, so that signal handlers of the program come first
    if _engine is None:
        with _lock:
            _engine = _engine or Engine()
    return _engine


def _configured(*, parallel: bool, pooling: bool = False) -> wasmtime.Engine:
    config = Config()
    for name, value in CONFIGURATION.items():
        setattr(config, name, value)
    config.parallel_compilation = parallel
    if pooling:
        capi.use_pool(config, POOL_SLOTS)
    return wasmtime.Engine(config)


def _can_pool() -> bool:
    """Tell whether the pool's address space can be had: without it the engine would abort the process."""
    size = (2 * POOL_SLOTS + 1) * _SLOT_BYTES
    try:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


@functools.cache
def code_version() -> str:
    """Name what compiled code depends on besides its module: engine, settings, machine."""
    library = Path(capi.LIBRARY_PATH).stat()  # the engine refuses code of another version too; this keeps both
    parts = (library.st_size, library.st_mtime_ns, sorted(CONFIGURATION.items()), platform.system(), platform.machine())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _reason(error: Exception) -> str:
    return shortened(" ".join(str(error).split()), _LONGEST_REASON)
