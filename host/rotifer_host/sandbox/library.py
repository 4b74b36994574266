"""The modules a process has compiled: the ones used last in memory, the rest on disk."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from typing import Final, NamedTuple

import wasmtime

from rotifer_host import contract
from rotifer_host.errors import BadModuleError
from rotifer_host.limits import format_size
from rotifer_host.sandbox.cache import ModuleCache
from rotifer_host.sandbox.compiling import in_time
from rotifer_host.sandbox.engine import code_version, engine
from rotifer_host.sandbox.module import ModuleInfo, describe

__all__ = ["LIBRARY", "CompiledGene", "Library", "inspect"]

_KEPT: Final = 32


class CompiledGene(NamedTuple):
    """A module that is a gene."""

    module: wasmtime.Module
    info: ModuleInfo


class Library:
    """Compiled modules by the digest of their bytes; any thread may use it."""

    def __init__(self) -> None:
        self._genes: OrderedDict[bytes, CompiledGene] = OrderedDict()
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._lock = threading.Lock()  # the thread that held it does not exist here

    def gene(self, wasm: bytes, cache: ModuleCache | None) -> CompiledGene:
        """Return a gene's module from memory, from `cache`, or compiled. Raises `BadModuleError`."""
        if len(wasm) > contract.MAX_MODULE_BYTES:
            limit = format_size(contract.MAX_MODULE_BYTES)
            raise BadModuleError(f"the module has {len(wasm)} bytes; at most {limit} are allowed")
        digest = hashlib.sha256(wasm).digest()
        with self._lock:
            gene = self._genes.get(digest)
            if gene is not None:
                self._genes.move_to_end(digest)
                return gene
        module = _load(wasm, f"{digest.hex()}-{code_version()}", cache)
        gene = CompiledGene(module, describe(wasm))
        with self._lock:
            self._genes[digest] = gene
            if len(self._genes) > _KEPT:
                self._genes.popitem(last=False)
        return gene

    def forget(self) -> None:
        """Drop what is kept in memory."""
        with self._lock:
            self._genes.clear()


LIBRARY: Final = Library()
"""The library of this process."""


def inspect(wasm: bytes) -> ModuleInfo:
    """Describe a gene's module without running it. Raises `BadModuleError` for one that is no gene."""
    return LIBRARY.gene(wasm, None).info


def _load(wasm: bytes, key: str, cache: ModuleCache | None) -> wasmtime.Module:
    code = cache.get(key) if cache else None
    module = engine().restore(code) if code else None
    if module is None:
        module = in_time(lambda: engine().compile(wasm))
        if cache:
            cache.put(key, bytes(module.serialize()))
    return module
