"""Recording a run: a sandbox whose host functions note what they answer."""

from __future__ import annotations

import hashlib
import platform
import threading
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import rotifer_host
from rotifer_host.errors import HostCallError, UsageError
from rotifer_host.limits import Limits
from rotifer_host.record.functions import SYSTEM, System, full_name
from rotifer_host.record.recording import (
    Asked,
    Exchange,
    LimitsOfRun,
    Outcome,
    Part,
    PartError,
    RecordedModule,
    Recording,
    Refusal,
    Written,
    from_bytes,
    write_recording,
)
from rotifer_host.sandbox import (
    ExchangeFunction,
    GuestResult,
    HostFunction,
    HostFunctions,
    Module,
    PlainFunction,
    Run,
    Sandbox,
)

__all__ = ["Recorder", "RecordingSandbox", "outcome_of"]

_TOO_SMALL: Final = -1
_Event = Exchange | Asked


class Recorder:
    """Records one run into the file `path`, which is replaced when the run has ended.

        agent.run({"code": "…"}, record=Recorder("run.rec"))

    Without `with_modules` the recording names the modules by their digest only. It
    holds the input and all that the genes read and wrote: look before you share it.
    Recorded runs are slower; others do not notice. Raises `UsageError` for a path that
    cannot be written to.
    """

    def __init__(self, path: str | Path, *, with_modules: bool = True) -> None:
        self.path = Path(path)
        if self.path.is_dir() or not self.path.parent.is_dir():
            what = "it is a folder" if self.path.is_dir() else f"there is no folder {self.path.parent}"
            message = f"cannot record into {self.path}: {what}"
            raise UsageError(message)
        self._with_modules = with_modules
        self._sandbox: RecordingSandbox | None = None

    def sandbox(self, functions: HostFunctions, *, call_path: str, cache_dir: Path | None) -> Sandbox:
        """Return the sandbox to run the genes in; every run in it becomes a part of the recording."""
        self._sandbox = RecordingSandbox(functions, call_path=call_path, cache_dir=cache_dir)
        return self._sandbox

    def save(self, *, agent: str | None, agent_id: str | None, composition: str | None, limits: Limits) -> None:
        """Write what was recorded, also of a run that raised; nothing when none began. Raises `RecordingError`."""
        if self._sandbox is None or not self._sandbox.parts:
            return
        parts = tuple(part.done() for part in self._sandbox.parts)
        ran = {part.module: self._sandbox.modules[part.gene] for part in parts}
        recording = Recording(
            madeBy=_versions(),
            callPath=self._sandbox.call_path,
            agent=agent,
            agentId=agent_id,
            composition=composition,
            limits=LimitsOfRun.of(limits),
            modules=tuple(self._module(digest, wasm) for digest, wasm in ran.items()),
            parts=parts,
        )
        write_recording(self.path, recording)

    def _module(self, digest: str, wasm: bytes) -> RecordedModule:
        compressed = zlib.compress(wasm) if self._with_modules else None
        return RecordedModule(sha256=digest, size=len(wasm), zlib=compressed)


class _Open:
    """A part that is being recorded."""

    def __init__(self, module: Module, digest: str, document: bytes, context: dict[str, Any], logical_ms: int) -> None:
        self.events: list[_Event] = []
        self.outcome: Outcome | None = None
        self._module, self._digest, self._document = module, digest, document
        self._context, self._logical_ms = context, logical_ms

    def done(self) -> Part:
        return Part(
            gene=self._module.name,
            module=self._digest,
            input=from_bytes(self._document),
            logicalMs=self._logical_ms,
            context=self._context,
            events=tuple(self.events),
            outcome=self.outcome,
        )


class RecordingSandbox(Sandbox):
    """A sandbox that keeps a part for each run in it; several may run at once, each on a thread of its own."""

    def __init__(self, functions: HostFunctions, *, call_path: str, cache_dir: Path | None) -> None:
        self.parts: list[_Open] = []
        self.modules: dict[str, bytes] = {}
        """By name of the gene."""
        self._here = threading.local()
        super().__init__(
            HostFunctions(tuple(self._noting(function) for function in functions)),
            call_path=call_path,
            cache_dir=cache_dir,
        )

    def load(self, wasm: bytes, *, name: str) -> Module:
        """Load as `Sandbox` does, and keep the module."""
        module = super().load(wasm, name=name)
        self.modules[name] = wasm
        return module

    def run(self, module: Module, document: bytes, **setting: Any) -> GuestResult:  # noqa: ANN401 - what `Sandbox.run` takes
        """Run as `Sandbox` does, and record."""
        digest = _digest(self.modules[module.name])
        part = _Open(module, digest, document, dict(setting["context"]), setting["logical_ms"])
        self.parts.append(part)
        self._here.part = part
        result = super().run(module, document, **setting)
        part.outcome = outcome_of(result)
        return result

    def _note(self, event: _Event) -> None:
        self._here.part.events.append(event)

    def _noting(self, function: HostFunction) -> HostFunction:
        if isinstance(function, ExchangeFunction):
            return self._exchange(function)
        system = SYSTEM.get((function.module, function.name))
        return function if system is None else self._system(function, system)

    def _exchange(self, function: ExchangeFunction) -> ExchangeFunction:
        name = full_name(function)

        def guard(run: Run) -> None:
            try:
                function.guard(run)
            except HostCallError as error:
                refusal = _refusal(error)
                self._note(
                    Exchange(
                        function=name, request=None, outCap=None, result=error.result, response=None, refusal=refusal
                    )
                )
                raise

        def handler(run: Run, request: bytes, out_cap: int) -> bytes:
            response, result, refusal = None, None, None
            try:
                response = function.handler(run, request, out_cap)
                result = len(response) if len(response) <= out_cap else _TOO_SMALL
            except HostCallError as error:
                result, refusal = error.result, _refusal(error)
                raise
            finally:
                self._note(
                    Exchange(
                        function=name,
                        request=from_bytes(bytes(request)),
                        outCap=out_cap,
                        result=result,
                        response=None if response is None else from_bytes(response),
                        refusal=refusal,
                    )
                )
            return response

        # nothing answers in the handler's place: each call is seen
        return ExchangeFunction(function.module, function.name, guard, handler)

    def _system(self, function: PlainFunction, system: System) -> PlainFunction:
        name = full_name(function)

        def handler(run: Run, *arguments: int) -> int | None:
            result: int | None = None
            written: tuple[Written, ...] = ()
            try:
                result = function.handler(run, *arguments)
                if result == 0:
                    ranges = system.writes(*arguments)
                    written = tuple(
                        Written(at=at, data=from_bytes(run.memory.read(at, length) or b"")) for at, length in ranges
                    )
            finally:
                self._note(Asked(function=name, arguments=arguments, result=result, written=written))
            return result

        return PlainFunction(
            function.module, function.name, function.params, function.results, handler, function.exhausted
        )


def outcome_of(result: GuestResult) -> Outcome:
    """Return what a recording keeps of a result: all but durations."""
    error = result.error
    return Outcome(
        status=result.status,
        output=from_bytes(result.output_json),
        error=None
        if error is None
        else PartError(code=error.code, message=error.message, backtrace=tuple(error.backtrace)),
        fuel=result.fuel,
        peakMemoryBytes=result.peak_memory_bytes,
        answers={
            name: {"ok": calls.count - sum(calls.errors.values())}
            | {str(answer): times for answer, times in sorted(calls.errors.items(), reverse=True)}
            for name, calls in sorted(result.host_calls.items())
        },
        log=result.log,
        logDropped=result.log_dropped,
        stderr=result.stderr,
        stderrDropped=result.stderr_dropped,
    )


def _refusal(error: HostCallError) -> Refusal:
    return Refusal(result=error.result, code=error.code, message=error.message)


def _digest(wasm: bytes) -> str:
    return hashlib.sha256(wasm).hexdigest()


def _versions() -> dict[str, str]:
    return {
        "rotifer": rotifer_host.__version__,
        "wasmtime": version("wasmtime"),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
