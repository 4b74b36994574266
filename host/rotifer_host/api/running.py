"""Runs of agents, and what every run does for its report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from rotifer_host import contract
from rotifer_host.agent.composed import compose, durability_of
from rotifer_host.agent.report import RunError, RunResult, Status
from rotifer_host.agent.run import LoadedGene, RunSetting, run_genome
from rotifer_host.agent.turn import turn
from rotifer_host.api.sandboxes import sandbox_of_run
from rotifer_host.errors import BudgetExhaustedError, LockTimeoutError, UsageError
from rotifer_host.limits import Limits
from rotifer_host.sandbox import Deadline

if TYPE_CHECKING:
    from rotifer_host.api.agent import Agent
    from rotifer_host.memory import Durability
    from rotifer_host.record import Recorder
    from rotifer_host.report import Report
    from rotifer_host.store import Store
    from rotifer_host.turn_memory import TurnMemory

__all__ = ["reported", "run_agent", "traced"]


def run_agent(  # noqa: PLR0913 - what a run can be given
    agent: Agent,
    document: Any,  # noqa: ANN401 - any JSON value
    *,
    limits: Limits,
    durability: Durability,
    recompile: bool,
    call_path: str | None,
    record: Recorder | None,
    report: Report | None,
    deadline: Deadline | None,
) -> RunResult:
    """Run the genome of an agent as `Agent.run` says."""
    if durability not in contract.DURABILITIES:
        allowed = ", ".join(contract.DURABILITIES)
        raise UsageError(f"durability must be one of {allowed}, not {durability!r}")
    project = agent._project
    with sandbox_of_run(call_path, record, limits, agent) as sandbox, ExitStack() as stack:
        names = agent._record.all_genes
        loaded = project._load(sandbox, names, recompile=recompile, record=record, agent=agent._record)
        loaded = traced(loaded, report)
        genes, writer = loaded[: len(agent.genome)], loaded[len(agent.genome) :]
        execute, warnings = compose(agent._record.composition, genes)
        durability, warned = durability_of(execute, durability)
        warnings += warned
        deadline = deadline or Deadline(limits.deadline_ms)
        shown: dict[str, Any] = {"document": document, "limits": limits, "clock": project._clock}
        if agent.exclusive:
            began = time.perf_counter()
            try:
                stack.enter_context(turn(project._folder.agents_dir, agent.id, deadline))
            except (LockTimeoutError, BudgetExhaustedError):
                missed = partial(
                    _missed_turn, agent, sandbox.call_path, deadline, time.perf_counter() - began, warnings
                )
                return reported(report, missed, **shown)
        store = stack.enter_context(agent._open_store())
        setting = RunSetting(
            call_path=sandbox.call_path,
            limits=limits,
            deadline=deadline,
            clock=project._clock,
            memory=agent._memory(store, deadline, durability=durability),
            agent=agent.name,
            agent_id=agent.id,
            composition=agent.composition,
            refuse=lambda gene, call: project._refusal(gene, call, agent._record, deadline),
            granted=agent._granted(deadline),
            warnings=warnings,
        )
        run: Callable[[Any], RunResult] = partial(run_genome, genes, setting=setting, execute=execute)
        if agent._record.turn_memory is not None:
            run = _with_turn_memory(agent, agent._record.turn_memory, run, setting, store, genes, writer)
        return reported(report, partial(run, document), **shown, store=store, policy=agent.data_policy)


def _with_turn_memory(  # noqa: PLR0913, PLR0917 - a run, and what there is of it
    agent: Agent,
    turn_memory: TurnMemory,
    run: Callable[[Any], RunResult],
    setting: RunSetting,
    store: Store,
    genes: Sequence[LoadedGene],
    writer: Sequence[LoadedGene],
) -> Callable[[Any], RunResult]:
    from rotifer_host.turn_memory.turn import TurnSetting, take_turn  # noqa: PLC0415 - few agents have any

    project = agent._project
    turn_setting = TurnSetting(
        turn_memory=turn_memory,
        run=setting,
        genes=genes,
        generator=writer[0] if writer else None,
        memory=agent._memory(store, setting.deadline),
        telemetry=project._folder.telemetry,
    )
    return partial(take_turn, run=run, setting=turn_setting)


def _missed_turn(
    agent: Agent, call_path: str, deadline: Deadline, waited_s: float, warnings: tuple[str, ...]
) -> RunResult:
    others = f"{agent.name} is exclusive, and other runs had their turn"
    status: Status = "limit"
    error = RunError("DEADLINE_EXCEEDED", f"not begun after {deadline.limit_ms} ms: {others}")
    if deadline.cancelled:
        status, error = "failed", RunError("INTERRUPTED", f"the run was interrupted before it began: {others}")
    return RunResult(
        status=status,
        output=None,
        error=error,
        agent=agent.name,
        agent_id=agent.id,
        composition=agent.composition,
        call_path=call_path,
        duration_ms=waited_s * 1000,
        warnings=warnings,
    )


def reported(report: Report | None, run: Callable[[], RunResult], **shown: Any) -> RunResult:  # noqa: ANN401 - what `Report.of_run` takes
    """Run, and tell the report, if there is to be one, what came of it."""
    return run() if report is None else report.of_run(run, **shown)


def traced(genes: list[LoadedGene], report: Report | None) -> list[LoadedGene]:
    """Have the report, if there is to be one, see what the genes do."""
    return genes if report is None else report.traced(genes)
