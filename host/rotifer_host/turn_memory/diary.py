"""The diary of a turn: planned, generated, parsed and appended, where no step declines.

json-and-turn-memory.zh.md, "产品里已经接好的几种资料".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec

from rotifer_host.clock import Clock, rfc3339
from rotifer_host.memory import Caller
from rotifer_host.text import shortened
from rotifer_host.turn_memory.conversation import text_of
from rotifer_host.turn_memory.diary_store import DiaryStore, Entry, OvertakenError, Round
from rotifer_host.turn_memory.report import EventName, TurnEvent

if TYPE_CHECKING:
    from rotifer_host.agent.report import RunResult
    from rotifer_host.turn_memory.sources import DiarySetting, MemorySource

__all__ = ["DiaryMemory", "Generator", "recalled"]

_SHOWN: Final = 300


class Generator(NamedTuple):
    """The gene that writes entries."""

    name: str
    run: Callable[[Any], RunResult]
    """Runs it alone on one JSON value, with the agent's memory."""
    caller: Caller | None
    """Who it is in the audit log."""


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    """What the generator answers when it has something to say."""

    summary: Annotated[str, msgspec.Meta(min_length=1, max_length=16_384)]
    diary: Annotated[str, msgspec.Meta(max_length=65_536)] | None = None


def recalled(store: DiaryStore, most: int) -> str:
    """Return the summaries of the last `most` entries, the oldest first. Raises what `DiaryStore` does."""
    return "\n\n".join(entry.summary for entry in store.read().entries[-most:])


class DiaryMemory:
    """An agent's diary for the length of one turn, in which the user said `user`."""

    failed: Final[EventName] = "diary.failed"

    def __init__(  # noqa: PLR0913 - keywords, one for each part
        self,
        store: DiaryStore,
        *,
        source: MemorySource,
        setting: DiarySetting,
        generator: Generator,
        clock: Clock,
        user: str,
    ) -> None:
        self._store = store
        self._source = source
        self._setting = setting
        self._generator = generator
        self._clock = clock
        self._user = user

    def recall(self) -> str:
        """Return what the run is told. Raises what `DiaryStore` does."""
        return recalled(self._store, self._setting.recall)

    def remember(self, output: Any) -> TurnEvent:  # noqa: ANN401 - any JSON value
        """Count the round, and when the plan says so have an entry written. Raises `RotiferError`."""
        store, name = self._store, self._generator.name
        diary = store.read()
        rounds = store.count(self._user, text_of(output), diary.through)
        considered = max(diary.through, rounds.declined)
        wanted = self._setting.free_rounds_per_diary if considered else self._setting.min_rounds
        if rounds.count - considered < wanted:
            return self._event("diary.declined", f"not due: {rounds.count - considered} of {wanted} rounds")
        about = _shown(rounds.waiting)
        previous = diary.entries[-1].summary if diary.entries else None
        generated = self._generator.run({"rounds": msgspec.to_builtins(rounds.waiting), "previous": previous})
        if generated.status == "rejected" or (generated.status == "ok" and generated.output is None):
            store.decline(rounds.count)
            return self._event("diary.declined", f"{name} has nothing to say about {about}")
        if generated.error is not None:
            error = generated.error
            message = f"{name} ended {generated.status}: {error.code}: {error.message}"
            return self._event("diary.failed", shortened(message, _SHOWN))
        try:
            written = msgspec.convert(generated.output, _Written)
        except msgspec.ValidationError as error:
            message = shortened(f"the output of {name} is no entry: {error}", _SHOWN)
            return self._event("diary.failed", message)
        entry = Entry(
            first=rounds.waiting[0].round,
            last=rounds.count,
            at=rfc3339(self._clock.now_ms()),
            summary=written.summary,
            diary=written.diary,
        )
        try:
            store.append(entry, after=diary.through, caller=self._generator.caller)
        except OvertakenError:
            return self._event("diary.declined", f"another run wrote about {about}")
        return self._event("diary.appended", f"an entry about {about}")

    def _event(self, event: EventName, message: str) -> TurnEvent:
        return TurnEvent(event, self._source.id, message)


def _shown(rounds: Sequence[Round]) -> str:
    first, last = rounds[0].round, rounds[-1].round
    return f"round {last}" if first == last else f"rounds {first} to {last}"
