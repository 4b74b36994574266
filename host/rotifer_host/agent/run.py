"""Run an agent's genome, or one gene on its own.

Every gene is loaded and checked before the first one starts, so that a missing or
stale artefact, or an import the host does not offer, stops a run that has changed
nothing yet.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rotifer_host import contract
from rotifer_host.agent.memory_calls import MEMORY_CALLS, MemoryAccess, NoMemory
from rotifer_host.agent.report import CallReport, GeneReport, RunError, RunResult, Status
from rotifer_host.errors import AccessDeniedError, RotiferError
from rotifer_host.memory import Caller
from rotifer_host.sandbox import Deadline, HostTime, encode_document

if TYPE_CHECKING:
    from rotifer_host.clock import Clock
    from rotifer_host.gene import Gene
    from rotifer_host.limits import Limits
    from rotifer_host.memory import AgentMemory
    from rotifer_host.sandbox import GuestResult, Module, Sandbox

__all__ = ["LoadedGene", "RunSetting", "load_genes", "run_genome"]


class LoadedGene(NamedTuple):
    """A gene that is ready to run."""

    name: str
    gene_id: str | None
    domain: str | None
    module: Module


@dataclass(slots=True)
class RunSetting:
    """What all genes of a run share."""

    sandbox: Sandbox
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


def load_genes(sandbox: Sandbox, genes: Sequence[Gene]) -> list[LoadedGene]:
    """Read, check and compile the artefact of each gene.

    Raises `GeneError` when one is not compiled or stale, `ModuleError` when one
    cannot run here.
    """
    loaded = []
    for gene in genes:
        wasm = gene.artefact()
        module = sandbox.load(wasm, name=gene.name)
        loaded.append(LoadedGene(gene.name, gene.gene_id(wasm), gene.phenotype.domain, module))
    return loaded


def run_genome(genes: Sequence[LoadedGene], document: Any, setting: RunSetting) -> RunResult:  # noqa: ANN401 - any JSON value
    """Run genes one after another, each on the output of the one before.

    A gene that does not end `ok` ends the run. What it and the genes before it wrote
    stays: each memory call stands on its own (durability `call`), or all of them are
    committed together at the end (`run`).
    """
    started = time.perf_counter()
    host_time = HostTime(setting.limits.host_time_ms)
    logical_ms = setting.clock.now_ms()
    trace_id = os.urandom(16).hex()
    text = encode_document(document)
    reports: list[GeneReport] = []
    result: GuestResult | None = None
    try:
        for gene in genes:
            result = setting.sandbox.run(
                gene.module,
                text,
                limits=setting.limits,
                deadline=setting.deadline,
                host_time=host_time,
                services=_services(gene, setting),
                context=_context(setting, logical_ms, trace_id),
                logical_ms=logical_ms,
                version=None if setting.memory is None else setting.memory.version,
            )
            reports.append(_report(gene, result, setting))
            if result.status != "ok":
                break
            text = result.output_json
    except BaseException:
        if setting.memory is not None:
            setting.memory.rollback()
        raise
    status: Status = "ok"
    output: Any = document
    error: RunError | None = None
    if result is not None:
        status, output = result.status, result.output
        if result.error is not None:
            error = RunError(result.error.code, result.error.message, tuple(result.error.backtrace))
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
        call_path=setting.sandbox.call_path,
        duration_ms=(time.perf_counter() - started) * 1000,
        genes=tuple(reports),
    )


def _settle(setting: RunSetting, *, interrupted: bool) -> RunError | None:
    """Save what the run changed before its result is shown; an interrupted run keeps only what is saved already."""
    memory = setting.memory
    if memory is None:
        return None
    try:
        if interrupted:
            memory.rollback()
        else:
            memory.finish()
    except RotiferError as error:
        return RunError(error.code, f"the run's changes to memory could not be saved: {error.message}")
    return None


def _services(gene: LoadedGene, setting: RunSetting) -> MemoryAccess | NoMemory:
    if setting.memory is None or gene.gene_id is None or gene.domain is None:
        return NoMemory(partial(setting.refuse, gene))
    return MemoryAccess(setting.memory, Caller(gene.gene_id, gene.domain))


def _context(setting: RunSetting, logical_ms: int, trace_id: str) -> dict[str, object]:
    """What `rotifer.readContext` answers from."""
    return {
        "agent_id": setting.agent_id,
        "timestamp": logical_ms,
        "permissions": {"memory": setting.memory is not None, "network": False, "filesystem": False},
        "trace_id": trace_id,
        "abi_version": contract.ABI_VERSION,
    }


def _report(gene: LoadedGene, result: GuestResult, setting: RunSetting) -> GeneReport:
    calls = {
        name: CallReport(stats.count, dict(stats.errors), stats.bytes_in, stats.bytes_out, stats.micros)
        for name, stats in result.host_calls.items()
    }
    denied = sum(calls[name].errors.get(contract.ACCESS_DENIED, 0) for name in MEMORY_CALLS if name in calls)
    evicted = expired = 0
    if setting.memory is not None and gene.gene_id is not None:
        events = setting.memory.events
        evicted, expired = events.evicted[gene.gene_id], events.expired[gene.gene_id]
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
    )
