"""Running a recorded run again: the same modules, input, time and limits, and the recorded answers.

Nothing is stored, read from an agent's memory or written to an audit log, and sleeps
are not slept again. Each gene of the run starts with the input it was recorded with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from rotifer_host.errors import (
    AccessDeniedError,
    BudgetExhaustedError,
    BufferTooSmallError,
    HostCallError,
    InvalidInputError,
    NotFoundError,
    QuotaExceededError,
    RecordingError,
    StorageError,
)
from rotifer_host.record.difference import Difference, compare_call, compare_outcome
from rotifer_host.record.functions import SYSTEM, System, full_name
from rotifer_host.record.recorder import outcome_of
from rotifer_host.record.recording import Asked, Exchange, Part, Recording, Refusal, from_bytes, to_bytes
from rotifer_host.sandbox import (
    Deadline,
    ExchangeFunction,
    HostFunction,
    HostFunctions,
    HostTime,
    PlainFunction,
    Run,
    Sandbox,
)
from rotifer_host.sandbox.result import Ending

__all__ = ["PartReplay", "Replay", "replay"]

_ERRORS: Final[dict[int, type[HostCallError]]] = {
    kind.result: kind
    for kind in (
        BufferTooSmallError,
        AccessDeniedError,
        BudgetExhaustedError,
        QuotaExceededError,
        InvalidInputError,
        NotFoundError,
        StorageError,
    )
}
_LARGEST_I32: Final = (1 << 31) - 1
_Event = TypeVar("_Event", Exchange, Asked)

_DIFFERS: Final = Ending("failed", "REPLAY_DIFFERS", "the guest asked for something else than when it was recorded")
_UNKNOWN_END: Final = Ending("failed", "REPLAY_ENDED", "the recording does not say how the run ended")


@dataclass(frozen=True, slots=True)
class PartReplay:
    """One gene run again."""

    gene: str
    calls: int
    """How many of its recorded host calls it made again."""
    fuel_recorded: int | None
    fuel: int
    """Told, not compared: another version of the engine counts other figures."""
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Replay:
    """A run run again over one call path, as far as the first difference."""

    call_path: str
    parts: tuple[PartReplay, ...]

    @property
    def difference(self) -> Difference | None:
        """The first difference; None when everything was the same."""
        return self.parts[-1].difference if self.parts else None

    @property
    def same(self) -> bool:
        """Tell whether every gene did what it did when it was recorded."""
        return self.difference is None


def replay(
    recording: Recording,
    functions: HostFunctions,
    *,
    call_path: str = "auto",
    cache_dir: Path | None = None,
    modules: Sequence[bytes] = (),
) -> Replay:
    """Run a recording again over one call path.

    `functions` are those of the host: their handlers are not called, except where an
    answer follows from the run itself. `modules` are taken for those the recording left
    out. Raises `RecordingError` when a module is missing or damaged, `ModuleError` when
    one cannot run here, `UsageError` for an unknown call path.
    """
    player = _Player()
    sandbox = Sandbox(
        HostFunctions(tuple(player.replaying(function) for function in functions)),
        call_path=call_path,
        cache_dir=cache_dir,
    )
    bytes_of = _modules(recording, modules)
    parts: list[PartReplay] = []
    for number, part in enumerate(recording.parts, 1):
        parts.append(_replay_part(recording, part, number, sandbox, player, bytes_of))
        if parts[-1].difference is not None:
            break
    return Replay(sandbox.call_path, tuple(parts))


def _modules(recording: Recording, given: Sequence[bytes]) -> dict[str, bytes]:
    found = {hashlib.sha256(wasm).hexdigest(): wasm for wasm in given}
    for module in recording.modules:
        wasm = module.unpack() or found.get(module.sha256)
        if wasm is None:
            genes = ", ".join(dict.fromkeys(part.gene for part in recording.parts if part.module == module.sha256))
            message = f"the recording does not hold the module of {genes}, {module.sha256}"
            raise RecordingError(
                message, code="RECORDING_NO_MODULE", help="give the file that ran, gene.ir.wasm, with --wasm FILE"
            )
        found[module.sha256] = wasm
    return found


def _replay_part(  # noqa: PLR0913, PLR0917 - what a part needs
    recording: Recording, part: Part, number: int, sandbox: Sandbox, player: _Player, modules: Mapping[str, bytes]
) -> PartReplay:
    player.start(part, number)
    limits = recording.limits.limits()
    result = sandbox.run(
        sandbox.load(modules[part.module], name=part.gene),
        to_bytes(part.input),
        limits=limits,
        deadline=Deadline(limits.deadline_ms),
        host_time=HostTime(limits.host_time_ms),
        services=None,
        context=part.context,
        logical_ms=part.logicalMs,
    )
    now = outcome_of(result)
    difference = player.difference or player.left_over()
    if difference is None and part.outcome is not None:
        difference = compare_outcome(part.gene, number, part.outcome, now)
    return PartReplay(
        gene=part.gene,
        calls=player.made,
        fuel_recorded=None if part.outcome is None else part.outcome.fuel,
        fuel=now.fuel,
        difference=difference,
    )


class _Player:
    """Gives the recorded answers, in their order, as long as the guest asks what it asked."""

    def __init__(self) -> None:
        self._part: Part
        self._number = 0
        self.made = 0
        self.difference: Difference | None = None

    def start(self, part: Part, number: int) -> None:
        """Begin a part."""
        self._part, self._number, self.made, self.difference = part, number, 0, None

    def left_over(self) -> Difference | None:
        """Return what was recorded and did not happen."""
        event = self._next()
        if event is None:
            return None
        return Difference(
            self._part.gene, self._number, self.made + 1, "function", event.function, "no further call, the run ended"
        )

    def replaying(self, function: HostFunction) -> HostFunction:
        """Return the function that gives recorded answers in the place of this one, or this one if it has none."""
        if isinstance(function, ExchangeFunction):
            return self._exchange(function)
        system = SYSTEM.get((function.module, function.name))
        return function if system is None else self._system(function, system)

    def _exchange(self, function: ExchangeFunction) -> ExchangeFunction:
        name = full_name(function)

        def guard(_run: Run) -> None:
            event = self._next()
            if isinstance(event, Exchange) and event.function == name and event.request is None and event.refusal:
                self.made += 1
                raise _error(event.refusal)

        def handler(run: Run, request: bytes, out_cap: int) -> bytes:
            asked = Exchange(
                function=name, request=from_bytes(bytes(request)), outCap=out_cap, result=None, response=None
            )
            event = self._take(run, asked)
            if event.refusal is not None:
                raise _error(event.refusal)
            if event.response is None:
                run.stop(self._recorded_end())
            return to_bytes(event.response)

        return ExchangeFunction(function.module, function.name, guard, handler)

    def _system(self, function: PlainFunction, system: System) -> PlainFunction:
        name = full_name(function)

        def handler(run: Run, *arguments: int) -> int:
            event = self._take(run, Asked(function=name, arguments=arguments, result=None))
            if event.result is None:
                run.stop(self._recorded_end())
            if function.results == ("i32",) and not 0 <= event.result <= _LARGEST_I32:
                raise _impossible(event.result)
            if event.result == 0:
                run.charge(system.charges(*arguments))
            for written in event.written:
                run.memory.write(written.at, to_bytes(written.data))
            return event.result

        return PlainFunction(
            function.module, function.name, function.params, function.results, handler, function.exhausted
        )

    def _take(self, run: Run, asked: _Event) -> _Event:
        event = self._next()
        difference = compare_call(self._part.gene, self._number, self.made + 1, event, asked)
        if difference is not None or not isinstance(event, type(asked)):
            self.difference = self.difference or difference
            run.stop(_DIFFERS)
        self.made += 1
        return event

    def _next(self) -> Exchange | Asked | None:
        events = self._part.events
        return events[self.made] if self.made < len(events) else None

    def _recorded_end(self) -> Ending:
        outcome = self._part.outcome
        if outcome is None or outcome.error is None:
            return _UNKNOWN_END
        return Ending(outcome.status, outcome.error.code, outcome.error.message)


def _error(refusal: Refusal) -> HostCallError:
    kind = _ERRORS.get(refusal.result)
    if kind is None:
        raise _impossible(refusal.result)
    return kind(refusal.message, code=refusal.code)


def _impossible(result: int) -> RecordingError:
    return RecordingError(f"the recording is damaged: it holds the result {result}, which no host gives")
