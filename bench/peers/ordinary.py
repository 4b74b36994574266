"""wasmtime-py as its documentation shows it: `Linker.define_func`, `Memory.read` and `Memory.write`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wasmtime import Caller, Config, Engine, Func, FuncType, Linker, Memory, Module, Store, ValType, wat2wasm

from bench.guest import OUTPUT_CAP, direct_guest
from bench.peers import Runner
from bench.peers.json_memory import JsonMemory
from bench.work import Case

__all__ = ["Ordinary"]

_FUEL = 1 << 62
_MEMORY_BYTES = 256 << 20


class Ordinary:
    """A store and an instance per run, with the same limits a gene gets: fuel, deadline, memory."""

    name = "wasmtime-py"

    def __init__(self, memory: JsonMemory) -> None:
        self._handlers: dict[str, Callable[[bytes], bytes]] = {
            "echo": bytes,
            "readMemory": memory.read,
            "writeMemory": memory.write,
        }
        config = Config()
        config.consume_fuel = True
        config.epoch_interruption = True
        self._engine = Engine(config)

    @contextmanager
    def runner(self, case: Case) -> Iterator[Runner]:
        """Compile the guest, define its imports."""
        linker = Linker(self._engine)
        signature = FuncType([ValType.i32()] * 4, [ValType.i32()])
        for step in {step.name: step for step in case.steps}.values():
            if step.exchanges:
                function = _exchange(self._handlers[step.name])
                linker.define_func(step.module, step.name, signature, function, access_caller=True)
            else:
                linker.define_func(step.module, step.name, signature, _sum)
        module = Module(self._engine, bytes(wat2wasm(direct_guest(case.steps))))

        def run(units: int) -> bytes:
            store = Store(self._engine)
            store.set_fuel(_FUEL)
            store.set_epoch_deadline(1)
            store.set_limits(memory_size=_MEMORY_BYTES)
            exports = linker.instantiate(store, module).exports(store)
            memory, alloc, express = exports["memory"], exports["alloc"], exports["express"]
            if not (isinstance(memory, Memory) and isinstance(alloc, Func) and isinstance(express, Func)):
                raise TypeError("the guest's exports are of other kinds")
            text = str(units).encode()
            at = alloc(store, len(text))
            memory.write(store, text, at)
            out = express(store, at, len(text))
            output = memory.read(store, out, out + OUTPUT_CAP)
            return bytes(output[: output.index(0)])

        yield run


def _sum(a: int, b: int, c: int, d: int) -> int:
    return a + b + c + d


def _exchange(handler: Callable[[bytes], bytes]) -> Callable[[Caller, int, int, int, int], int]:
    def call(caller: Caller, request_at: int, request_size: int, out: int, cap: int) -> int:
        memory = caller["memory"]
        if not isinstance(memory, Memory):
            raise TypeError("the guest exports no memory")
        response = handler(bytes(memory.read(caller, request_at, request_at + request_size)))
        if len(response) > cap:
            return -1
        memory.write(caller, response, out)
        return len(response)

    return call
