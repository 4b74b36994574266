"""Extism's Python SDK: host functions of bytes to bytes, guests that copy through Extism's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from wasmtime import wat2wasm

from bench.guest import Step, extism_guest
from bench.peers import Missing, Runner
from bench.peers.json_memory import JsonMemory
from bench.work import Case

__all__ = ["Extism"]


class Extism:
    """A `Plugin` of a `CompiledPlugin` per run: nothing of one run is left for the next."""

    name = "Extism"

    def __init__(self, memory: JsonMemory) -> None:
        try:
            self._sdk = import_module("extism.extism")  # the package itself does not export `CompiledPlugin`
        except ImportError as error:
            message = f"Extism's SDK is not installed ({error}); `make bench-peers` does it"
            raise Missing(message) from error
        self._handlers: dict[str, Callable[[bytes], bytes]] = {
            "echo": bytes,
            "readMemory": memory.read,
            "writeMemory": memory.write,
        }

    @contextmanager
    def runner(self, case: Case) -> Iterator[Runner]:
        """Compile the plugin with its host functions."""
        functions = [self._bind(step) for step in {step.name: step for step in case.steps}.values()]
        manifest = {"wasm": [{"data": bytes(wat2wasm(extism_guest(case.steps)))}], "timeout_ms": 60_000}
        compiled = self._sdk.CompiledPlugin(manifest, functions=functions)

        def run(units: int) -> bytes:
            with self._sdk.Plugin(compiled) as plugin:
                output: bytes = plugin.call("express", str(units))
                return output

        yield run

    def _bind(self, step: Step) -> Any:
        register = self._sdk.host_fn
        if step.exchanges:
            return register(step.name, step.module)(_exchange(self._handlers[step.name]))
        i32 = self._sdk.ValType.I32
        return register(step.name, step.module, ([i32] * 4, [i32]))(_sum)


def _sum(_plugin: object, inputs: list[Any], outputs: list[Any], *_user_data: object) -> None:
    a, b, c, d = inputs
    outputs[0].value = a.value + b.value + c.value + d.value


def _exchange(handler: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    def call(request: bytes) -> bytes:
        return handler(request)

    call.__annotations__ = {"request": bytes, "return": bytes}  # the SDK reads real types, not their names
    return call
