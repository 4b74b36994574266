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
    from rotifer_host.sandbox.capi import Store
    from rotifer_host.sandbox.run import Run

__all__ = ["CallPath", "Definition", "available_call_paths", "call_path"]


class Definition(Protocol):
    """A set of host functions, defined on one linker for all its runs."""

    run_type: type[Run]

    def enter(self, run: Run, store: Store) -> None:
        """Make ready for a guest, on its thread and before its instance is made."""
        ...

    def leave(self, run: Run) -> None:
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
