"""One run after another of the same genes on one call path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from rotifer_host.agent.composed import compose, durability_of
from rotifer_host.agent.grants import granted_modules
from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.agent.run import LoadedGene, RunSetting, load_genes, run_genome
from rotifer_host.clock import SystemClock
from rotifer_host.errors import AccessDeniedError
from rotifer_host.memory import AgentMemory, Durability, refused_outside_agent
from rotifer_host.modules import Granted
from rotifer_host.modules.functions import module_functions
from rotifer_host.project import module_cache_dir
from rotifer_host.sandbox import (
    CallStats,
    Deadline,
    ExchangeFunction,
    GuestResult,
    HostFunctions,
    Module,
    Sandbox,
    core_functions,
    encode_document,
    wasi_functions,
)

if TYPE_CHECKING:
    from rotifer_host.agent.record import AgentRecord
    from rotifer_host.agent.report import RunResult
    from rotifer_host.bench.memory import BenchMemory
    from rotifer_host.bench.stages import Recorder
    from rotifer_host.gene import Gene
    from rotifer_host.limits import Limits

__all__ = ["Observed", "Runner"]

_CLOCK: Final = SystemClock()


@dataclass(frozen=True, slots=True)
class Observed:
    """One run."""

    nanos: int
    result: RunResult
    output: bytes
    """Compact JSON."""
    calls: dict[str, CallStats]
    """By host function, those of all genes together."""


class _WatchedSandbox(Sandbox):
    """Keeps what each guest's run came to, in the sandbox's own precision."""

    def __init__(self, functions: HostFunctions, *, call_path: str) -> None:
        super().__init__(functions, call_path=call_path, cache_dir=module_cache_dir())
        self.results: list[GuestResult] = []

    def run(self, module: Module, document: bytes, **settings: Any) -> GuestResult:  # noqa: ANN401 - handed on as they are
        result = super().run(module, document, **settings)
        self.results.append(result)
        return result


class Runner:
    """Runs an agent's genes on one call path and one memory; with a recorder, in split runs."""

    def __init__(  # noqa: PLR0913 - what a run needs
        self,
        record: AgentRecord,
        genes: Sequence[Gene],
        memory: BenchMemory,
        *,
        call_path: str,
        limits: Limits,
        durability: Durability,
        recorder: Recorder | None = None,
    ) -> None:
        calls = (*memory_functions(), *module_functions(granted_modules(record)))
        if recorder is not None:
            calls = tuple(_recorded(each, recorder, call_path) for each in calls)
        functions = HostFunctions(core_functions(), wasi_functions(), calls)
        self._sandbox = _WatchedSandbox(functions, call_path=call_path)
        self._genes = load_genes(self._sandbox, genes, granted=tuple(record.grants), agent=record.name)
        self._execute, self.warnings = compose(record.composition, self._genes)
        self.durability, warned = durability_of(self._execute, durability)
        self.warnings += warned
        self._record = record
        self._memory = memory
        self._limits = limits
        self._recorder = recorder

    @property
    def gene_ids(self) -> dict[str, str]:
        """The v2 ids of the genes by name."""
        return {gene.name: gene.gene_id or "" for gene in self._genes}

    def run(self, document: Any) -> Observed:  # noqa: ANN401 - any JSON value
        """Run once, in this process and with everything loaded."""
        results: list[GuestResult] = []
        self._sandbox.results = results
        if self._recorder is not None:
            self._recorder.next_run()
        started = perf_counter_ns()
        deadline = Deadline(self._limits.deadline_ms)
        setting = RunSetting(
            call_path=self._sandbox.call_path,
            limits=self._limits,
            deadline=deadline,
            clock=_CLOCK,
            memory=self._agent_memory(deadline),
            agent=self._record.name,
            agent_id=self._record.id,
            composition=self._record.composition.type,
            refuse=self._refusal(deadline),
            granted=Granted(
                self._record.id, self._record.name, self._memory.root, _CLOCK, deadline, self._record.grants
            ),
        )
        result = run_genome(self._genes, document, setting, self._execute)
        nanos = perf_counter_ns() - started
        return Observed(nanos, result, encode_document(result.output), _together(results))

    def _agent_memory(self, deadline: Deadline) -> AgentMemory:
        return AgentMemory(
            agent_id=self._record.id,
            agent_name=self._record.name,
            store=self._memory.store,
            audit=self._memory.audit,
            telemetry=self._memory.telemetry,
            clock=_CLOCK,
            quota=self._record.memoryQuota,
            policy=self._record.dataPolicy,
            durability=self.durability,
            patience=deadline,
        )

    def _refusal(self, deadline: Deadline) -> Callable[[LoadedGene, str], AccessDeniedError]:
        return lambda gene, call: refused_outside_agent(
            operation=call,
            gene_id=gene.gene_id,
            domain=gene.domain,
            agent_id=self._record.id,
            agent_name=self._record.name,
            audit=self._memory.audit,
            telemetry=self._memory.telemetry,
            clock=_CLOCK,
            patience=deadline,
        )


def _recorded(function: ExchangeFunction, recorder: Recorder, call_path: str) -> ExchangeFunction:
    """Return a host function each call of which is recorded, answered by what answers it in bare runs."""
    which = call_path, function.label
    until = function.unchanged_until
    shortcut = function.shortcut if call_path == "native" else None  # no other path can use it
    return replace(
        function,
        handler=recorder.handler(*which, function.handler),
        unchanged_until=None if until is None else recorder.unchanged_until(*which, until),
        shortcut=None if shortcut is None else recorder.shortcut(*which, shortcut),
    )


def _together(results: Sequence[GuestResult]) -> dict[str, CallStats]:
    calls: dict[str, CallStats] = {}
    for result in results:
        for name, stats in result.host_calls.items():
            both = calls.setdefault(name, CallStats())
            both.count += stats.count
            both.bytes_in += stats.bytes_in
            both.bytes_out += stats.bytes_out
            both.seconds += stats.seconds
            both.shortcuts += stats.shortcuts
            for code, times in stats.errors.items():
                both.errors[code] = both.errors.get(code, 0) + times
    return calls
