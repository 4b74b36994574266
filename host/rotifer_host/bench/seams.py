"""Where one part of the host hands over to the next: what split runs time.

Functions are replaced wherever the package has imported them, methods on the classes
of the real store, audit log and telemetry: what runs stays the same objects of the
same types. A seam that is not there any more is an error, never a stage of zero.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from rotifer_host.audit import AuditSink
from rotifer_host.lock import Wait
from rotifer_host.store.protocol import Change, OpenSnapshot, Snapshot, Store
from rotifer_host.telemetry import TelemetrySink

if TYPE_CHECKING:
    from rotifer_host.bench.memory import BenchMemory
    from rotifer_host.bench.stages import Recorder

__all__ = ["FUNCTIONS", "METHODS", "timed_seams"]

FUNCTIONS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("decode", "rotifer_host.memory.request", ("decode_read", "decode_write", "decode_query", "decode_delete")),
    ("render", "rotifer_host.memory.entry", ("make_record", "response_for")),
    ("sync", "os", ("fdatasync", "fsync")),
)
"""Stage, module and names of functions."""


def _methods(protocol: type, *besides: str) -> tuple[str, ...]:
    """Return the public methods a protocol itself declares, and special ones by name."""
    return tuple(name for name, what in vars(protocol).items() if name[0] != "_" and callable(what)) + besides


METHODS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("store", "store", _methods(Store)),
    ("store", "snapshot", _methods(Snapshot) + _methods(OpenSnapshot, "__exit__")),
    ("store", "change", _methods(Snapshot) + tuple(name for name in _methods(Change) if name != "commit")),
    ("sync", "change", ("commit",)),
    ("audit", "audit", tuple(name for name in _methods(AuditSink) if name != "sync")),
    ("sync", "audit", ("sync",)),
    ("audit", "telemetry", _methods(TelemetrySink)),
)
"""Stage, part of `BenchMemory` and names of methods."""


@contextmanager
def timed_seams(recorder: Recorder, memory: BenchMemory) -> Iterator[None]:
    """Time every seam until the end of the block. Raises `AttributeError` for one that is not there."""
    types = _types(memory)
    with ExitStack() as undo:
        for stage, module, names in FUNCTIONS:
            for name in names:
                original = getattr(import_module(module), name)
                _replace_function(undo, module, name, original, recorder.timed(stage, original))
        for stage, part, names in METHODS:
            for name in names:
                _replace_method(undo, types[part], name, recorder.timed(stage, getattr(types[part], name)))
        yield


def _types(memory: BenchMemory) -> dict[str, type]:
    with memory.store.snapshot() as snapshot:
        types: dict[str, type] = {"store": type(memory.store), "snapshot": type(snapshot)}
    change = memory.store.begin(Wait())
    change.abort()
    return types | {"change": type(change), "audit": type(memory.audit), "telemetry": type(memory.telemetry)}


def _replace_function(
    undo: ExitStack, owner: str, name: str, original: Callable[..., Any], timed: Callable[..., Any]
) -> None:
    package = __name__.partition(".")[0]
    for module_name, module in list(sys.modules.items()):
        ours = module_name == owner or module_name.partition(".")[0] == package
        if ours and vars(module).get(name) is original:
            setattr(module, name, timed)
            undo.callback(setattr, module, name, original)


def _replace_method(undo: ExitStack, owner: type, name: str, timed: Callable[..., Any]) -> None:
    if name in vars(owner):
        undo.callback(setattr, owner, name, vars(owner)[name])
    else:  # inherited
        undo.callback(delattr, owner, name)
    setattr(owner, name, timed)
