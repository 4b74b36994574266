"""How an import of a guest reaches Python: call paths that differ in speed and in nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

from wasmtime import Linker

from rotifer_host.errors import UsageError
from rotifer_host.sandbox.calls.plain import PlainPath
from rotifer_host.sandbox.calls.raw import RawPath
from rotifer_host.sandbox.calls.registry import HostFunctions

if TYPE_CHECKING:
    from rotifer_host.sandbox.capi import Failure
    from rotifer_host.sandbox.guest_memory import GuestMemory
    from rotifer_host.sandbox.run import Run

__all__ = ["CallPath", "Definition", "Store", "available_call_paths", "call_path"]


class Store(Protocol):
    """One guest's store. Used by one thread; closed exactly once; never used afterwards."""

    fuel: int
    """Fuel left; may be set, from inside a host call too. Raises `RuntimeError` once closed."""

    def __init__(self, engine: int, memory_bytes: int, table_elements: int) -> None: ...

    @property
    def memory(self) -> GuestMemory:
        """The guest's linear memory: there is none before its instance, and after the store."""
        ...

    def instantiate(self, linked: int) -> Failure | None:
        """Make the instance of the `InstancePre` at this address, running its start function."""
        ...

    def call(self, name: str, *arguments: int) -> int | Failure:
        """Call an exported function that is known to take these i32s and return one, which is signed."""
        ...

    def start(self, name: str) -> Failure | None:
        """Call an exported function that is known to take and return nothing."""
        ...

    def close(self) -> None:
        """Free the store with everything in it."""
        ...


class Definition(Protocol):
    """A set of host functions, defined on one linker for all its runs."""

    store_type: type[Store]
    run_type: type[Run]

    def enter(self, run: Run, store: Store) -> None:
        """Make ready for a guest, on its thread and before its instance is made."""
        ...

    def leave(self, run: Run, store: Store) -> None:
        """Clean up what the guest may have left outside its run; called on its thread."""
        ...


class CallPath(Protocol):
    """One way to define host functions."""

    name: str

    def define(self, linker: Linker, functions: HostFunctions) -> Definition:
        """Register every function on `linker`, once for all runs."""
        ...


def _fastest_first() -> Iterator[CallPath]:
    try:
        from rotifer_host.sandbox.calls.native import NativePath  # noqa: PLC0415 - there may be none
    except ImportError:  # not built: there was no C compiler
        pass
    else:
        yield NativePath()
    yield RawPath()
    yield PlainPath()


_PATHS: Final = tuple(_fastest_first())


def available_call_paths() -> list[str]:
    """Return the names of the call paths that are built here, fastest first."""
    return [path.name for path in _PATHS]


def call_path(name: str) -> CallPath:
    """Return the call path of this name. Raises `UsageError`."""
    for path in _PATHS:
        if path.name == name:
            return path
    raise UsageError(f"call path must be one of auto, {', '.join(available_call_paths())}, not {name!r}")
