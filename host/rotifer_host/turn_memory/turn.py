"""A turn: the memory's texts into the input, the run, and what was said into the memory.

json-and-turn-memory.zh.md, "产品里已经接好的几种资料" and "Hinos".
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from rotifer_host import contract
from rotifer_host.agent.report import GeneReport, RunError, RunResult
from rotifer_host.agent.run import LoadedGene, RunSetting, run_genome
from rotifer_host.clock import rfc3339
from rotifer_host.errors import RotiferError, UsageError
from rotifer_host.memory import Caller
from rotifer_host.sandbox import Ending, overdue
from rotifer_host.turn_memory.conversation import Message, chat_of
from rotifer_host.turn_memory.diary import DiaryMemory, Generator
from rotifer_host.turn_memory.diary_store import DiaryStore
from rotifer_host.turn_memory.hinos import HinosMemory, Service, Turn
from rotifer_host.turn_memory.local import LocalMemory
from rotifer_host.turn_memory.report import TurnEvent, TurnReport
from rotifer_host.turn_memory.table import TableMemory

if TYPE_CHECKING:
    from rotifer_host.memory import AgentMemory
    from rotifer_host.telemetry import TelemetryLog
    from rotifer_host.turn_memory.sources import MemorySource, TurnMemory

__all__ = ["TurnSetting", "take_turn"]


class _Memory(Protocol):
    def recall(self) -> dict[str, str]:
        """Return the text of each variable, empty where there is nothing to tell."""
        ...

    def remember(self, output: Any) -> list[TurnEvent]:  # noqa: ANN401 - any JSON value
        """Keep what was said in the turn; a failure is an event."""
        ...


@dataclass(slots=True)
class TurnSetting:
    """What a turn needs besides the run."""

    turn_memory: TurnMemory
    run: RunSetting
    genes: Sequence[LoadedGene]
    generator: LoadedGene | None
    """The gene that writes the diary, where there is one."""
    memory: AgentMemory
    """The agent's memory once more, each change on its own: what a turn keeps is kept after its run."""
    telemetry: TelemetryLog


def take_turn(document: Any, run: Callable[[Any], RunResult], setting: TurnSetting) -> RunResult:  # noqa: ANN401 - any JSON value
    """Run with what the memory tells, and have it keep what was said if the run ends `ok`.

    When the memory cannot tell, no gene runs. What it cannot keep takes nothing from the
    result: it is an event and a warning there. Raises what `run` raises, and `UsageError`
    for an input that cannot hold the memory's variables, or a service nobody has named.
    """
    started = time.perf_counter()
    variables = setting.turn_memory.variables
    chat = _chat(document, variables)
    request_id = str(uuid.uuid4())
    extra: list[GeneReport] = []
    memory = _memory_of(setting, chat, request_id, extra)
    report = TurnReport(runtime=setting.turn_memory.memoryRuntime, request_id=request_id, recalled={})
    try:
        told = {variable: text for variable, text in memory.recall().items() if text}
    except RotiferError as error:
        return _not_begun(setting.run, error, report, started)
    result = run({**document, **told})
    recalled = {variable: len(text.encode()) for variable, text in told.items()}
    events: list[TurnEvent] = []
    if result.status == "ok" and not setting.run.deadline.cancelled:
        events = memory.remember(result.output)
        setting.memory.finish()  # a line that was taken back is witnessed
    failed = [event for event in events if event.failed]
    for event in failed:
        setting.telemetry.turn_memory_failed(
            ts=rfc3339(setting.run.clock.now_ms()),
            agent_id=setting.run.agent_id,
            event=event.event,
            source=event.source,
            request_id=request_id,
        )
    return msgspec.structs.replace(
        result,
        genes=(*result.genes, *extra),
        warnings=(*result.warnings, *(event.warning for event in failed)),
        turn=msgspec.structs.replace(report, recalled=recalled, events=tuple(events)),
        duration_ms=(time.perf_counter() - started) * 1000,
    )


def _chat(document: Any, variables: Sequence[str]) -> list[Message]:  # noqa: ANN401 - any JSON value
    if not isinstance(document, dict):
        message = f"the input must be a JSON object: the agent's turn memory puts {' and '.join(variables)} into it"
        raise UsageError(message)
    taken = [variable for variable in variables if variable in document]
    if taken:
        message = f"the input must not have {' and '.join(taken)}: only the agent's turn memory says what is in there"
        raise UsageError(message)
    return chat_of(document)


def _memory_of(setting: TurnSetting, chat: list[Message], request_id: str, extra: list[GeneReport]) -> _Memory:
    turn_memory, run = setting.turn_memory, setting.run
    if turn_memory.memoryRuntime == "hinos":
        turn = Turn(
            request_id=request_id,
            agent_id=str(run.agent_id),
            agent=str(run.agent),
            genes=[gene.gene_id for gene in setting.genes],
            deadline=run.deadline,
        )
        return HinosMemory(Service.of(os.environ), turn_memory.memorySources[0], turn, chat)

    memories: list[tuple[MemorySource, DiaryMemory | TableMemory]] = []
    for source in turn_memory.by_priority:
        if source.variable == contract.TABLE_VARIABLE:
            memories.append((source, TableMemory(setting.memory, source)))
        elif turn_memory.diary is not None and setting.generator is not None:
            diary = DiaryMemory(
                DiaryStore(setting.memory, source.agentRef),
                source=source,
                setting=turn_memory.diary,
                generator=_generator(setting.generator, setting, extra),
                clock=run.clock,
                user=chat[-1]["content"],
            )
            memories.append((source, diary))
    return LocalMemory(memories)


def _generator(gene: LoadedGene, setting: TurnSetting, extra: list[GeneReport]) -> Generator:
    alone = msgspec.structs.replace(setting.run, memory=setting.memory, composition="Single", warnings=())

    def run(document: Any) -> RunResult:  # noqa: ANN401 - any JSON value
        result = run_genome([gene], document, alone)
        extra.extend(result.genes)
        return result

    return Generator(gene.name, run, Caller(gene.gene_id, gene.domain) if gene.gene_id and gene.domain else None)


def _not_begun(run: RunSetting, error: RotiferError, report: TurnReport, started: float) -> RunResult:
    ending = overdue(run.deadline) or Ending("failed", error.code, "no gene was run")
    message = f"{ending.message}: the agent's turn memory could not be recalled: {error.message}"
    return RunResult(
        status=ending.status,
        output=None,
        error=RunError(ending.code, message),
        agent=run.agent,
        agent_id=run.agent_id,
        composition=run.composition,
        call_path=run.call_path,
        duration_ms=(time.perf_counter() - started) * 1000,
        warnings=run.warnings,
        turn=report,
    )
