"""The sandbox: loads modules and runs them, one guest per run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import monotonic

import msgspec
from wasmtime import InstancePre, Linker

from rotifer_host import contract
from rotifer_host.limits import Limits
from rotifer_host.sandbox.active import enter, leave
from rotifer_host.sandbox.cache import ModuleCache
from rotifer_host.sandbox.calls import Definition, Store
from rotifer_host.sandbox.calls import call_path as choose_call_path
from rotifer_host.sandbox.calls.registry import HostFunctions
from rotifer_host.sandbox.capi import linked_address
from rotifer_host.sandbox.deadline import Deadline, HostTime
from rotifer_host.sandbox.engine import engine
from rotifer_host.sandbox.execution import EXITED, execute, written_output
from rotifer_host.sandbox.interrupts import Interrupts
from rotifer_host.sandbox.library import LIBRARY
from rotifer_host.sandbox.module import ModuleInfo, check_imports
from rotifer_host.sandbox.output import NO_OUTPUT, Output, read_output
from rotifer_host.sandbox.result import Ending, GuestError, GuestResult
from rotifer_host.sandbox.run import Run, RunStopped
from rotifer_host.sandbox.selfcheck import fastest_working_path
from rotifer_host.sandbox.stack import check_stack
from rotifer_host.sandbox.streams import Streams

__all__ = ["Module", "Sandbox"]


class Module(msgspec.Struct, frozen=True):
    """A gene's module, checked, compiled and linked with the host functions of the sandbox that loaded it."""

    name: str
    info: ModuleInfo
    linked: InstancePre
    linked_at: int
    """The address of `linked`, which a store takes."""
    definition: Definition
    """The host functions it is linked with: they must be there for as long as it is."""


class Sandbox:
    """Runs genes' modules with one set of host functions; any thread may use it, several at a time.

    `call_path` is how a guest's import reaches Python, `auto` for the fastest that
    works here. Compiled modules are kept in `cache_dir`, which must be writable by
    its owner alone, or in memory only when it is None. Raises `UsageError`.
    """

    _execute = staticmethod(execute)  # a seam for what runs an instance otherwise

    def __init__(self, functions: HostFunctions, *, call_path: str = "auto", cache_dir: Path | None = None) -> None:
        self._functions = functions
        self._path = choose_call_path(fastest_working_path(cache_dir) if call_path == "auto" else call_path)
        self._cache = None if cache_dir is None else ModuleCache(cache_dir)
        self._engine = engine()
        self._linker = Linker(self._engine.wasmtime)
        self._definition = self._path.define(self._linker, functions)

    @property
    def call_path(self) -> str:
        """The call path in use."""
        return self._path.name

    def load(self, wasm: bytes, *, name: str) -> Module:
        """Check and compile a binary module.

        Raises `BadModuleError` for one that is not valid or no gene, and
        `UnknownImportError`, naming every import that the host does not offer.
        """
        gene = LIBRARY.gene(wasm, self._cache)
        check_imports(gene.info, self._functions)
        linked = self._linker.instantiate_pre(gene.module)
        return Module(name, gene.info, linked, linked_address(linked), self._definition)

    def run(  # noqa: PLR0913 - a run has this many parts
        self,
        module: Module,
        document: bytes,
        *,
        limits: Limits,
        deadline: Deadline,
        host_time: HostTime,
        services: object,
        context: Mapping[str, object],
        logical_ms: int,
        version: memoryview | None = None,
    ) -> GuestResult:
        """Run a module once on `document`, compact JSON in UTF-8.

        Fuel and memory count for this run alone; `deadline` and `host_time` for every
        gene that is given the same ones. `version`, eight bytes that hold another number
        whenever what host functions answer may have changed, lets a call path give a
        response again (`ExchangeFunction.unchanged_until`). Whatever the guest does ends up in the
        result. What is raised is a bug in a host function, or what a signal handler
        of the program raised: SIGINT and SIGTERM end the guest first.
        """
        host = self._engine
        host.check_signal_handlers()
        check_stack()
        definition = module.definition
        with Interrupts(deadline):
            taken = host.slots.take(deadline)
            store = definition.store_type(host.address, limits.memory_bytes, contract.MAX_TABLE_ELEMENTS)
            try:
                streams = Streams(document, bytearray()) if module.info.mode == "wasi" else Streams()
                run = definition.run_type(
                    store, streams, limits, deadline, host_time, services, context, logical_ms, version
                )
                output = self._guarded(run, store, module, document)
                result = _report(run, output)
            finally:
                store.close()
                if taken:
                    host.slots.give()
            if run.error is not None:
                error, run.error = run.error, None
                raise error
        return result

    def _guarded(self, run: Run, store: Store, module: Module, document: bytes) -> Output:
        ticker = self._engine.ticker
        mark = ticker.add(run.deadline.expiry)
        entered = enter(run)
        try:
            module.definition.enter(run, store)
            return _accept(run, self._execute(run, store, module.linked_at, module.info, document))
        except RunStopped:
            if run.error is not None or run.ending is None or run.ending.code != EXITED.code:
                return NO_OUTPUT
        finally:
            ticker.remove(mark)
            module.definition.leave(run, store)
            leave(entered)
        return _after_exit(run, module.info)


def _after_exit(run: Run, info: ModuleInfo) -> Output:
    """Take the output of a guest that ended itself by `proc_exit(0)`."""
    run.ending = None
    if not run.may_go_on():
        return NO_OUTPUT
    try:
        if info.mode == "direct":
            run.stop(Ending("failed", "BAD_OUTPUT", "exited with status 0 before express returned"))
        return _accept(run, written_output(run))
    except RunStopped:
        return NO_OUTPUT


def _accept(run: Run, data: bytes) -> Output:
    """Decode a guest's output. Raises `RunStopped` when that ends the run."""
    output = read_output(data)
    if isinstance(output, Ending):
        run.stop(output)
    return output


def _report(run: Run, output: Output) -> GuestResult:
    ending, streams = run.ending, run.streams
    return GuestResult(
        status="ok" if ending is None else ending.status,
        output=output.value,
        output_json=output.encoded,
        error=None if ending is None else GuestError(ending.code, ending.message, list(ending.backtrace)),
        duration_ms=(monotonic() - run.started) * 1000,
        fuel=run.fuel.consumed(),
        peak_memory_bytes=run.memory.size,
        host_calls=run.calls,
        log=streams.log.text(),
        log_dropped=streams.log.dropped,
        stderr=streams.stderr.text(),
        stderr_dropped=streams.stderr.dropped,
    )
