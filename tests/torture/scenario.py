"""Stories that create, update, evict, expire, delete and are denied, played by a guest.

`play` makes a story's calls through a sandbox and never raises; `verdict` says what does
not fit between what the calls answered and what lies on the disk afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from tests.torture.guest import ENDED, Answer, Guest, Step, delete, query, read, write
from tests.torture.invariants import State, audit_lines, state_of, unsaved, unsound_in
from tests.torture.place import FOR_EVER, NOBODY, THIRTY_DAYS, Place, Reference, gene, live

from rotifer_host import contract
from rotifer_host.errors import BufferTooSmallError, HostCallError, RotiferError
from rotifer_host.memory import (
    AgentMemory,
    Caller,
    DataPolicy,
    Durability,
    decode_delete,
    decode_query,
    decode_read,
    decode_write,
)
from rotifer_host.sandbox import Deadline

__all__ = ["STORIES", "Played", "Story", "answered", "happen", "play", "recovered", "verdict"]


class Story(NamedTuple):
    """Calls that are made one after another, and the agent's data policy."""

    policy: DataPolicy
    steps: tuple[Step, ...]


class Played(NamedTuple):
    """How a story went."""

    answers: list[Answer | None]
    """One for each call made; None for a run that was ended."""
    saved: bool
    """Whether the end of the run said that everything is kept."""

    @property
    def shortcuts(self) -> int:
        """Calls that C answered."""
        return sum(answer is not None and answer.by_shortcut for answer in self.answers)

    @property
    def failed_shortcuts(self) -> int:
        """Those among them that it answered with a storage error."""
        failed = (answer for answer in self.answers if answer is not None and answer.result == contract.STORAGE_ERROR)
        return sum(answer.by_shortcut for answer in failed)


DOCUMENTED: Final = frozenset(
    (
        contract.BUFFER_TOO_SMALL,
        contract.ACCESS_DENIED,
        contract.QUOTA_EXCEEDED,
        contract.INVALID_INPUT,
        contract.NOT_FOUND,
        contract.STORAGE_ERROR,
        contract.BUDGET_EXHAUSTED,
    )
)


_A: Final = gene("a")
_B: Final = gene("b")
_DAY: Final = 86_400
_A_DAY: Final = {"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False}
_OWN: Final = {"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}

_EVERYTHING: Final = (
    write(_A, "keep", b"k" * 900, "PREFERENCE"),
    write(_A, "cache/1", b"c" * 700),
    write(_B, "day", b"d" * 300, "CONTEXT", retentionPolicy=_A_DAY),
    write(_A, "secret", b"s" * 100, "PATTERN", accessPolicy=_OWN),
    read(_B, "keep"),  # notes another reader
    read(_B, "secret"),  # denied
    write(_B, "secret", b"s" * 10, "PATTERN"),  # denied
    delete(_B, "secret"),  # denied
    write(_A, "keep", b"k" * 950, "PREFERENCE"),  # update
    write(_B, "cache/2", b"c" * 800),
    write(_A, "cache/3", b"c" * 1500),  # evicts cache/1
    query(_A, keyPrefix="cache/"),
    read(_A, "keep", room=16),  # -1
    write(_A, "large", b"l" * 3900, "PREFERENCE"),  # -8
    write(_A, "", b""),  # -10
    delete(_A, "cache/3"),
    delete(_A, "cache/3"),  # -12
    write(_A, "day", b"d" * 20, "CONTEXT", seconds=_DAY),  # expires b's, and makes a new one
    query(_A)._replace(seconds=31 * _DAY),  # all that follows a data policy of thirty days expires
    write(_B, "cache/4", b"c" * 400),
    read(_B, "cache/4"),
)
_ORDINARY: Final = (
    write(_A, "keep", b"k" * 900, "PREFERENCE"),
    write(_B, "move", b"m" * 300),
    read(_B, "keep"),  # notes another reader
    read(_A, "keep"),  # and forgets it
    write(_A, "keep", b"k" * 950, "PREFERENCE"),
    write(_A, "move", b"m" * 20, "CONTEXT"),
    read(_B, "move", "PATTERN"),  # null
    read(_B, "keep", room=16),  # -1
    read(_B, "keep"),
)
STORIES: Final = {
    "thirty days": Story(THIRTY_DAYS, _EVERYTHING),
    "for ever": Story(FOR_EVER, _EVERYTHING),
    "ordinary": Story(FOR_EVER, _ORDINARY),
}
"""By name; what `Guest.takes_shortcuts` answers with C: nothing, the calls that happen to be ordinary, nearly all."""


def play(place: Place, guest: Guest, story: Story, durability: Durability = "call") -> Played:
    """Play a story as one run of an agent, until its end or until the host ends it."""
    answers: list[Answer | None] = []
    deadline = Deadline(60_000)
    try:
        with place.open(durability, deadline) as (_, memory):
            for step in story.steps:
                place.clock.advance(seconds=step.seconds)
                try:
                    answers.append(guest.ask(memory, step, deadline))
                except OSError:  # the clock's own: no refusal, so it ends the run
                    answers.append(ENDED)
                    with suppress(OSError):
                        memory.rollback()
                    return Played(answers, saved=False)
            memory.finish()
    except (RotiferError, OSError):  # also the clock's, at the end of the run
        return Played(answers, saved=False)
    return Played(answers, saved=True)


def verdict(place: Place, story: Story, played: Played, durability: Durability, *, log_works: bool = True) -> list[str]:
    """Return what is wrong with a place after a story in an empty one; `place` has a working clock again."""
    found = [
        f"call {number} answered {answer.result}"
        for number, answer in enumerate(played.answers)
        if answer is not None and answer.result < 0 and answer.result not in DOCUMENTED
    ]
    reference = Reference(story.policy)
    kept = durability == "call" or played.saved
    for number, (step, answer) in enumerate(zip(story.steps, played.answers, strict=False)):
        reference.clock.advance(seconds=step.seconds)
        if answer is not None and answer.result >= 0 and kept:
            response = happen(reference.memory, step)
            if isinstance(response, int) or _blot(response) != _blot(answer.response):
                found.append(f"call {number} answered {answer.response!r}, not {response!r}")
    place.clock.set(reference.clock.now_ms())
    with place.open() as (store, memory):
        held = live(store, place.clock.now_ms(), place.policy)
        without_change = unsaved(audit_lines(place), State(), state_of(store))
        found += unsound_in(place, store, memory)
    if held != reference.live():
        found.append(f"the memory holds {[key for key, _ in held]}, not {[key for key, _ in reference.live()]}")
    if without_change is None:
        found.append("a change has no line in the audit log")
    elif without_change and log_works:
        found.append(f"lines stand in the log for what was not done: {without_change}")
    return found


def answered(played: Played, result: int) -> int:
    """Return how many calls answered with a result."""
    return sum(answer is not None and answer.result == result for answer in played.answers)


def recovered(place: Place, guest: Guest) -> list[str]:
    """Return what does not work once nothing fails any more: reading, deleting, and filling the room again."""
    problems = []
    deadline = Deadline(60_000)
    with place.open("call", deadline) as (store, memory):
        entries = memory.list().entries
        steps = [read(_A, entry.key) for entry in entries]
        answers = [guest.ask(memory, step, deadline) for step in steps]
        problems += [f"reading {step.request} gave {a}" for step, a in zip(steps, answers, strict=True) if not _fine(a)]
        for category in contract.CATEGORIES:
            memory.delete_as_deployer(category=category)
        left = memory.list()
        if left.used or left.entries:
            problems.append(f"after deleting everything {left} is left")
        answer = guest.ask(memory, write(_A, "large", bytes(3900), "PREFERENCE"), deadline)
        if not _fine(answer):
            problems.append(f"the freed room could not be used: {answer}")
        return problems + unsound_in(place, store, memory)


def _fine(answer: Answer | None) -> bool:
    return answer is not None and (answer.result >= 0 or answer.result == contract.ACCESS_DENIED)


def _blot(response: bytes) -> bytes:
    """Blot `lastAccessedBy` out: a fault may cost it."""
    document = json.loads(response or b"null")
    for entry in document if isinstance(document, list) else [document]:
        if entry is not None:
            entry["lastAccessedBy"] = NOBODY
    return json.dumps(document).encode()


_DO: Final[dict[str, Callable[[AgentMemory, Caller, bytes, Callable[[int], None]], bytes]]] = {
    "readMemory": lambda memory, caller, raw, admit: memory.read(caller, decode_read(raw), admit),
    "writeMemory": lambda memory, caller, raw, admit: memory.write(caller, decode_write(raw), admit),
    "queryMemory": lambda memory, caller, raw, _: memory.query(caller, decode_query(raw)),
    "deleteMemory": lambda memory, caller, raw, admit: memory.delete(caller, decode_delete(raw), admit),
}


def happen(memory: AgentMemory, step: Step) -> bytes | int:
    """Make a call by the memory rules alone; return the response or the error's result."""

    def admit(length: int) -> None:
        if length > step.room:
            raise BufferTooSmallError("no room")

    try:
        return _DO[step.call](memory, step.caller, json.dumps(step.request).encode(), admit)
    except HostCallError as error:
        return error.result
