"""Host functions that give recorded answers, in their order, whatever memory and machine would say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from rotifer_host import contract
from rotifer_host.errors import (
    AccessDeniedError,
    BudgetExhaustedError,
    BufferTooSmallError,
    HostCallError,
    InvalidInputError,
    MemoryConflictError,
    NotFoundError,
    QuotaExceededError,
    RecordingError,
    StorageError,
)
from rotifer_host.record.difference import OF_THE_CLOCK
from rotifer_host.record.functions import SYSTEM, System, full_name
from rotifer_host.record.recording import Asked, Exchange, Refusal, from_bytes, to_bytes
from rotifer_host.sandbox import ExchangeFunction, HostFunction, HostFunctions, PlainFunction, Run
from rotifer_host.sandbox.result import Ending

__all__ = ["Event", "Player"]

Event = Exchange | Asked

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
        MemoryConflictError,
    )
}
_LARGEST_I32: Final = (1 << 31) - 1
_Event = TypeVar("_Event", Exchange, Asked)

_DIFFERS: Final = Ending("failed", "REPLAY_DIFFERS", "the guest asked for something else than when it was recorded")


class Player:
    """Gives the answers of one part at a time, as long as `matches` lets the guest go on."""

    def __init__(self) -> None:
        self._events: Sequence[Event] = ()
        self._ending = _DIFFERS
        self.made = 0
        """How many of the recorded calls were made again."""

    def start(self, events: Sequence[Event], ending: Ending) -> None:
        """Begin a part; `ending` is how its run ended, if that was in a call."""
        self._events, self._ending, self.made = events, ending, 0

    def matches(self, event: Event | None, asked: Event) -> bool:
        """Tell whether what the guest asks now may have the next answer; `event` is None when there is no more."""
        raise NotImplementedError

    @property
    def next_event(self) -> Event | None:
        """The call whose answer is next; None after the last."""
        return self._events[self.made] if self.made < len(self._events) else None

    def replaying(self, functions: HostFunctions) -> HostFunctions:
        """Return functions that give recorded answers in the place of these, where answers are recorded."""
        return HostFunctions(tuple(self._replaying(function) for function in functions))

    def _replaying(self, function: HostFunction) -> HostFunction:
        if isinstance(function, ExchangeFunction):
            return self._exchange(function)
        system = SYSTEM.get((function.module, function.name))
        return function if system is None else self._system(function, system)

    def _exchange(self, function: ExchangeFunction) -> ExchangeFunction:
        name = full_name(function)

        def guard(_run: Run) -> None:
            event = self.next_event
            if isinstance(event, Exchange) and event.function == name and event.request is None and event.refusal:
                self.matches(
                    event, Exchange(function=name, request=None, outCap=None, result=event.result, response=None)
                )
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
                run.stop(self._ending)
            return to_bytes(event.response)

        return ExchangeFunction(function.module, function.name, guard, handler)

    def _system(self, function: PlainFunction, system: System) -> PlainFunction:
        name = full_name(function)

        def handler(run: Run, *arguments: int) -> int:
            event = self._take(run, Asked(function=name, arguments=arguments, result=None))
            if event.result is None:
                run.stop(self._ending)
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
        event = self.next_event
        if event is None and self._ending.code in OF_THE_CLOCK:  # then it was too late, and nobody asked for an answer
            run.stop(self._ending)
        if not self.matches(event, asked) or not isinstance(event, type(asked)):
            run.stop(_DIFFERS)
        self.made += 1
        return event


def _error(refusal: Refusal) -> HostCallError:
    kind = _ERRORS.get(refusal.result)
    if kind is None and contract.LEAST_RESULT <= refusal.result <= contract.FIRST_OWN_RESULT:
        kind = type("OwnError", (HostCallError,), {"result": refusal.result})  # of a host module, not here perhaps
    if kind is None:
        raise _impossible(refusal.result)
    return kind(refusal.message, code=refusal.code)


def _impossible(result: int) -> RecordingError:
    return RecordingError(f"the recording is damaged: it holds the result {result}, which no host gives")
