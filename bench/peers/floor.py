"""The floor: the same calls with nothing in Python, `floor.c` compiled here and now."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_bool, c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

from wasmtime import Config, Engine, FuncType, Linker, Module, ValType, wat2wasm
from wasmtime import _ffi as bindings

from bench import work
from bench.guest import OUTPUT_CAP, direct_guest
from bench.peers import Missing, Runner
from bench.work import Case

__all__ = ["AUDIT_LINE", "FLOOR", "FLOOR_HELD", "Floor", "build_floor"]

FLOOR: Final = "floor (C)"
FLOOR_HELD: Final = f"{FLOOR}, one transaction"

_SOURCE: Final = Path(__file__).with_suffix(".c")
_ENGINE_CALLS: Final = (
    "wasmtime_store_new",
    "wasmtime_store_context",
    "wasmtime_store_delete",
    "wasmtime_context_set_fuel",
    "wasmtime_context_set_epoch_deadline",
    "wasmtime_store_limiter",
    "wasmtime_instance_pre_instantiate",
    "wasmtime_instance_export_get",
    "wasmtime_func_call_unchecked",
    "wasmtime_memory_data",
    "wasmtime_memory_data_size",
)
"""In the order of `engine_t`."""
_STRUCTS: Final = (
    bindings.wasmtime_func_t,
    bindings.wasmtime_memory_t,
    bindings.wasmtime_extern_t,
    bindings.wasmtime_val_raw_t,
    bindings.wasmtime_instance_t,
)
"""In the order of `floor_sizes`."""
_HOST_FUNCTIONS: Final = {
    "noop": "floor_noop",
    "echo": "floor_echo",
    "readMemory": "floor_read",
    "writeMemory": "floor_write",
}
_AUDITED: Final = work.entry("bench/0000")
AUDIT_LINE: Final = (
    json.dumps(
        {
            "v": 1,
            "ts": "2000-01-01T00:00:00.000Z",
            "agentId": work.AGENT_ID,
            "agent": "bench",
            "actor": "gene",
            "geneId": work.GENE_ID,
            "domain": work.DOMAIN,
            "action": "memory.update",
            "key": _AUDITED["key"],
            "entryId": _AUDITED["entryId"],
            "category": work.CATEGORY,
            "bytes": len(work.VALUE),
        }
    ).encode()
    + b"\n"
)
"""What one write adds to the audit log."""


def build_floor() -> Any:
    """Compile `floor.c`, once in a process, and load it. Raises `Missing` without a C compiler or liblmdb."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise Missing("there is no C compiler: install cc and liblmdb-dev")
    return _built_by(compiler)


@cache
def _built_by(compiler: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        library = os.fspath(Path(folder) / "floor.so")
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", library, os.fspath(_SOURCE), "-llmdb"]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode:
            message = f"floor.c does not compile (is liblmdb-dev installed?): {built.stderr.strip()[:300]}"
            raise Missing(message)
        loaded = ctypes.CDLL(library)
    expected = [ctypes.sizeof(struct) for struct in _STRUCTS]
    if list((c_size_t * len(_STRUCTS)).in_dll(loaded, "floor_sizes")) != expected:
        raise Missing("floor.c was written for another layout of the engine's structures")
    loaded.floor_open.argtypes = (c_void_p, c_char_p, c_int, c_char_p, c_bool, c_void_p)
    loaded.floor_close.argtypes = (c_void_p,)
    loaded.floor_error.restype = c_char_p
    loaded.floor_fill.argtypes = (c_void_p, c_char_p, c_void_p, c_size_t)
    loaded.floor_run.argtypes = (c_void_p, c_void_p, c_void_p, c_char_p, c_char_p, c_size_t)
    return loaded


class Floor:
    """All in C: strict parse, LMDB get, copy of a response that lies ready; a write copies its value into one.

    `hold` makes the writes of a run one transaction.
    """

    def __init__(self, library: Any, folder: Path, *, hold: bool) -> None:
        self.name = FLOOR_HELD if hold else FLOOR
        self._library = library
        folder.mkdir(parents=True)
        (folder / "memory").mkdir()
        self._audit = os.open(folder / "audit.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        addresses = [ctypes.cast(bindings.dll[name], c_void_p).value for name in _ENGINE_CALLS]
        self._calls = (c_void_p * len(addresses))(*addresses)
        self._state = c_void_p()
        path = os.fsencode(folder / "memory")
        self._require(library.floor_open(self._calls, path, self._audit, AUDIT_LINE, hold, byref(self._state)))
        config = Config()
        config.consume_fuel = True
        config.epoch_interruption = True
        self._engine = Engine(config)
        self._fill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._library.floor_close(self._state)
        os.close(self._audit)

    @contextmanager
    def runner(self, case: Case) -> Iterator[Runner]:
        """Compile the guest, bind the C functions."""
        linker = Linker(self._engine)
        i32 = ValType.i32()
        signature = FuncType([i32] * 4, [i32])
        for name, module in {step.name: step.module for step in case.steps}.items():
            define = bindings.dll["wasmtime_linker_define_func_unchecked"]
            define.restype = c_void_p
            define.argtypes = (c_void_p, c_char_p, c_size_t, c_char_p, c_size_t) + (c_void_p,) * 4
            function = ctypes.cast(self._library[_HOST_FUNCTIONS[name]], c_void_p)
            owner, own = module.encode(), name.encode()
            kind = ctypes.cast(signature.ptr(), c_void_p)
            if define(linker.ptr(), owner, len(owner), own, len(own), kind, function, self._state, None):
                raise RuntimeError(name)
        pre = linker.instantiate_pre(Module(self._engine, bytes(wat2wasm(direct_guest(case.steps)))))
        engine = ctypes.cast(self._engine.ptr(), c_void_p)
        prepared = ctypes.cast(pre.ptr(), c_void_p)
        output = ctypes.create_string_buffer(OUTPUT_CAP)

        def run(units: int) -> bytes:
            size = self._library.floor_run(self._state, engine, prepared, str(units).encode(), output, len(output))
            if size < 0:
                raise RuntimeError("the guest did not return an output")
            return output.raw[:size]

        yield run
        del pre, linker

    def _fill(self) -> None:
        texts, sizes = [], []
        for key in work.filled_keys():
            body = json.dumps(work.entry(key), ensure_ascii=False, separators=(",", ":")).encode()
            value_at = body.index(b'"value":"') + len(b'"value":"')
            texts += [key.encode(), work.CATEGORY[:2].encode() + value_at.to_bytes(2, "little") + body]
        sizes = [len(text) for text in texts]
        self._require(
            self._library.floor_fill(self._state, b"".join(texts), (c_size_t * len(sizes))(*sizes), len(texts) // 2)
        )

    def _require(self, failure: int) -> None:
        if failure:
            raise RuntimeError(self._library.floor_error(failure).decode())
