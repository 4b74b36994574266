"""Children that write until they are killed, forked from a process that has everything imported.

    python -m tests.torture.writers

takes lines `FOLDER DURABILITY SEED CLOCK_MS`, by tabs, and answers each with the child's pid. The child
makes the changes `changes(SEED)` gives and reports each answer by a line of its own
once it has it: `NUMBER RESULT`, or with durability `run` one for each run, `NUMBER 0`
for the last change of a run that was saved.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Final, NamedTuple, get_args

from tests.torture.place import Place, gene

from rotifer_host.errors import HostCallError
from rotifer_host.memory import AgentMemory, Category, Durability, RetentionPolicy, delete_request, write_request

__all__ = ["RUN", "Write", "apply", "changes"]

RUN: Final = 7
"""Changes in a run."""
_KEYS: Final = 12
_A_DAY: Final = RetentionPolicy(1, autoDeleteOnTermination=False, anonymizationSupported=False)


class Write(NamedTuple):
    """One change and how long after the one before it happens."""

    ms: int
    letter: str
    key: str
    category: Category | None
    """None deletes."""
    size: int
    short: bool
    """Whether it is kept for a day, and not as long as the agent's policy says."""


def changes(seed: int) -> Iterator[Write]:
    """Yield changes without end, the same for a seed: they create, update, delete, evict, expire or are refused."""
    choose = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    categories: tuple[Category, ...] = get_args(Category)
    while True:
        number = choose.randrange(_KEYS)
        category = None if choose.random() < 0.15 else categories[number % len(categories)]
        yield Write(
            ms=choose.choice((0, 1, 1000, 40_000_000)),
            letter=choose.choice("abababc"),
            key=f"k{number}",
            category=category,
            size=choose.randrange(700),
            short=choose.random() < 0.3,
        )


def apply(memory: AgentMemory, change: Write) -> int:
    """Make a change and return its result as a host call would."""
    caller = gene(change.letter, "search" if change.letter == "c" else "format")
    try:
        if change.category is None:
            return len(memory.delete(caller, delete_request(change.key)))
        if change.short:
            request = write_request(change.key, bytes(change.size), change.category, retention_policy=_A_DAY)
        else:
            request = write_request(change.key, bytes(change.size), change.category)
        return len(memory.write(caller, request))
    except HostCallError as error:
        return error.result


def _work(place: Place, durability: Durability, seed: int) -> None:
    """Write until killed."""
    work = changes(seed)
    with place.open() as (store, _):
        for number in count():
            memory = place.on(store, durability)
            if durability == "call":
                change = next(work)
                place.clock.advance(ms=change.ms)
                _say(f"{number} {apply(memory, change)}")
                memory.finish()
                continue
            for change in islice(work, RUN):
                place.clock.advance(ms=change.ms)
                apply(memory, change)
            memory.finish()
            _say(f"{number} 0")


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def _serve() -> None:
    for line in sys.stdin:
        folder, durability, seed, clock_ms = line.split("\t")
        child = os.fork()
        if child == 0:
            _say(f"pid {os.getpid()}")  # by itself: nothing it reports comes before
            place = Place(Path(folder))
            place.clock.set(int(clock_ms))
            try:
                _work(place, "run" if durability == "run" else "call", int(seed))
            finally:
                os._exit(1)  # only a kill ends it
        _, status = os.waitpid(child, 0)
        _say(f"end {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    _serve()
