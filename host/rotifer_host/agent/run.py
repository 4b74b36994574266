"""Run an agent's genome, or one gene on its own.

Every gene is loaded and checked before the first one starts, so that a missing or
stale artefact, or an import the host does not offer, stops a run that has changed
nothing yet.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from rotifer_host import contract
from rotifer_host.agent.memory_calls import MemoryAccess, NoMemory
from rotifer_host.agent.report import CallReport, GeneReport, RunError, RunResult, Status
from rotifer_host.agent.runner import Runner, WasmRunner
from rotifer_host.errors import AccessDeniedError, RotiferError, UnknownImportError
from rotifer_host.memory import Caller
from rotifer_host.sandbox import Deadline, HostTime, Interrupts, encode_document

if TYPE_CHECKING:
    from rotifer_host.agent.composed import Composed
    from rotifer_host.clock import Clock
    from rotifer_host.gene import Gene
    from rotifer_host.limits import Limits
    from rotifer_host.memory import AgentMemory
    from rotifer_host.modules import Granted
    from rotifer_host.sandbox import GuestError, GuestResult, Sandbox

__all__ = ["Ended", "GenomeRun", "LoadedGene", "RunSetting", "load_genes", "run_genome"]


class LoadedGene(NamedTuple):
    """A gene that is ready to run."""

    name: str
    gene_id: str | None
    domain: str | None
    runner: Runner


class RunSetting(msgspec.Struct):
    """What all genes of a run share."""

    call_path: str
    """How host calls of compiled genes reach Python."""
    limits: Limits
    deadline: Deadline
    clock: Clock
    memory: AgentMemory | None
    """None outside an agent: then every memory call is refused."""
    agent: str | None
    agent_id: str | None
    composition: str | None
    refuse: Callable[[LoadedGene, str], AccessDeniedError]
    """Records and returns the refusal of a memory call, named, by a gene that may make none."""
    granted: Granted | None = None
    """What host modules may know of the agent; None where none is granted."""
    warnings: tuple[str, ...] = ()
    """What is not as it was asked for, for the report."""


class Ended(Protocol):
    """How a gene, or genes composed, ended: `GuestResult` without what a run costs."""

    @property
    def status(self) -> Status:
        """`ok`, or why there is no output."""
        ...

    @property
    def output(self) -> object:
        """The decoded output, None unless `status` is `ok`."""
        ...

    @property
    def output_json(self) -> bytes:
        """The output as compact JSON, `null` unless `status` is `ok`."""
        ...

    @property
    def error(self) -> GuestError | None:
        """None when `status` is `ok`."""
        ...


def load_genes(
    sandbox: Sandbox, genes: Sequence[Gene], *, granted: Collection[str] = (), agent: str | None = None
) -> list[LoadedGene]:
    """Read, check and compile the artefact of each gene, or find what runs its script.

    `granted` are the host modules whose functions `sandbox` offers, to this `agent`.
    Raises `GeneError` when one is not compiled or stale, or needs a Node.js that is not
    there, `ModuleError` when one cannot run here: `NotGrantedError` says how it could.
    """
    loaded = []
    for gene in genes:
        script = gene.script()
        if script is not None:
            from rotifer_host.node.runner import node_runner  # noqa: PLC0415 - takes longer to load than a gene to run

            runner = node_runner(script, gene.path, gene.project)
            loaded.append(LoadedGene(gene.name, gene.script_id(script), gene.phenotype.domain, runner))
            continue
        wasm = gene.artefact()
        try:
            module = sandbox.load(wasm, name=gene.name)
        except UnknownImportError as error:
            from rotifer_host.modules.registry import refuse_ungranted  # noqa: PLC0415 - only where it is refused

            refuse_ungranted(error, gene.name, granted, agent)
            raise
        loaded.append(LoadedGene(gene.name, gene.gene_id(wasm), gene.phenotype.domain, WasmRunner(sandbox, module)))
    return loaded


class GenomeRun:
    """A run on its way: what its genes share, and how one of them is run. Branches use it at the same time."""

    __slots__ = ("_context", "_host_time", "_logical_ms", "_version", "setting")

    def __init__(self, setting: RunSetting, *, side_by_side: bool = False) -> None:
        memory = setting.memory
        self.setting = setting
        self._host_time = HostTime(setting.limits.host_time_ms)
        self._logical_ms = setting.clock.now_ms()
        # None where genes may run at once: no response is given again, for another gene's reading would not end that
        self._version = None if memory is None or side_by_side else memory.version
        self._context = {  # what `rotifer.readContext` answers from
            "agent_id": setting.agent_id,
            "timestamp": self._logical_ms,
            "permissions": {"memory": memory is not None, "network": False, "filesystem": False},
            "trace_id": os.urandom(16).hex(),
            "abi_version": contract.ABI_VERSION,
        }

    def gene(self, gene: LoadedGene, text: bytes, reports: list[GeneReport]) -> GuestResult:
        """Run one gene on compact JSON; its report is added to `reports`."""
        setting = self.setting
        memory, gene_id, domain = setting.memory, gene.gene_id, gene.domain
        services: MemoryAccess | NoMemory
        if memory is None or gene_id is None or domain is None:
            services = NoMemory(partial(setting.refuse, gene))
        else:
            services = MemoryAccess(memory, Caller(gene_id, domain), setting.granted)
        result = gene.runner.run(
            text,
            limits=setting.limits,
            deadline=setting.deadline,
            host_time=self._host_time,
            services=services,
            context=self._context,
            logical_ms=self._logical_ms,
            version=self._version,
        )
        reports.append(_report(gene, result, memory))
        return result

    def one_after_another(self, genes: Iterable[LoadedGene], text: bytes, reports: list[GeneReport]) -> Ended | None:
        """Run genes each on the output of the one before, until one does not end `ok`; None when there is no gene."""
        result = None
        for gene in genes:
            result = self.gene(gene, text, reports)
            if result.status != "ok":
                break
            text = result.output_json
        return result


def run_genome(
    genes: Sequence[LoadedGene],
    document: Any,  # noqa: ANN401 - any JSON value
    setting: RunSetting,
    execute: Composed | None = None,
) -> RunResult:
    """Run genes one after another, each on the output of the one before, or as `execute` composes them.

    A gene that does not end `ok` ends a run of genes one after another. What it and the
    others wrote stays: each memory call stands on its own (durability `call`), or all of
    them are committed together at the end (`run`). At the end each gene's runner is
    closed. Raises `DocumentError` when `document` is not a JSON value.
    """
    started = time.perf_counter()
    reports: list[GeneReport] = []
    try:
        run = GenomeRun(setting, side_by_side=execute is not None and execute.has_par)
        text = encode_document(document)
        ended = run.one_after_another(genes, text, reports) if execute is None else execute(run, text, reports)
    except BaseException:
        if setting.memory is not None:
            _end(setting.memory.rollback, setting)
        raise
    finally:
        for gene in genes:
            gene.runner.close()
    status: Status = "ok"
    output: Any = document
    error: RunError | None = None
    if ended is not None:
        status, output, error = ended.status, ended.output, _error(ended.error)
    failure = _settle(setting, interrupted=error is not None and error.code == "INTERRUPTED")
    if failure is not None and status == "ok":
        status, output, error = "failed", None, failure
    return RunResult(
        status=status,
        output=output if status == "ok" else None,
        error=error,
        agent=setting.agent,
        agent_id=setting.agent_id,
        composition=setting.composition,
        call_path=setting.call_path,
        duration_ms=(time.perf_counter() - started) * 1000,
        genes=tuple(reports),
        warnings=setting.warnings,
    )


def _settle(setting: RunSetting, *, interrupted: bool) -> RunError | None:
    """Save what the run changed before its result is shown; an interrupted run keeps only what is saved already."""
    memory = setting.memory
    if memory is None:
        return None
    try:
        _end(memory.rollback if interrupted else memory.finish, setting)
    except RotiferError as error:
        return RunError(error.code, f"the run's changes to memory could not be saved: {error.message}")
    return None


def _end(end: Callable[[], None], setting: RunSetting) -> None:
    """End the run's use of its memory, if that needs an end; Ctrl-C waits: amid it, it could leave a lock taken."""
    if setting.memory is not None and setting.memory.unsaved:
        with Interrupts(setting.deadline):
            end()


def _error(error: GuestError | None) -> RunError | None:
    return None if error is None else RunError(error.code, error.message, tuple(error.backtrace))


def _report(gene: LoadedGene, result: GuestResult, memory: AgentMemory | None) -> GeneReport:
    calls, denied = {}, 0
    for name, stats in result.host_calls.items():
        calls[name] = CallReport(stats.count, dict(stats.errors), stats.bytes_in, stats.bytes_out, stats.micros)
        if name in contract.MEMORY_CALLS:
            denied += stats.errors.get(contract.ACCESS_DENIED, 0)
    # of this thread, and taken: another place of the gene counts for itself
    evicted, expired = (0, 0) if memory is None or gene.gene_id is None else memory.events.take(gene.gene_id)
    return GeneReport(
        name=gene.name,
        gene_id=gene.gene_id,
        status=result.status,
        duration_ms=result.duration_ms,
        fuel=result.fuel,
        peak_memory_bytes=result.peak_memory_bytes,
        host_calls=calls,
        denied=denied,
        evicted=evicted,
        expired=expired,
        log=result.log,
        stderr=result.stderr,
        log_dropped=result.log_dropped,
        stderr_dropped=result.stderr_dropped,
        error=_error(result.error),
    )
