"""Children that write until they are killed, forked from a process that has everything imported.

    python -m tests.torture.writers

takes lines `FOLDER POLICY DURABILITY SEED CLOCK_MS`, by tabs, and answers each with the child's pid. The
child's guest makes the calls `calls(SEED)` gives and reports each answer by a line of its own
once it has it: `NUMBER RESULT SHORTCUTS`, or with durability `run` one for each run, `NUMBER 0
SHORTCUTS` for the last call of a run that was saved. SHORTCUTS is how many calls C has answered since the last line.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

from tests.torture.guest import Guest, Step, delete, read, write
from tests.torture.place import POLICIES, Place, gene

from rotifer_host.memory import Category, Durability

__all__ = ["RUN", "Timed", "calls"]

RUN: Final = 7
"""Calls in a run."""
_KEYS: Final = 12
_A_DAY: Final = {"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False}


class Timed(NamedTuple):
    """A call and how long after the one before it happens."""

    ms: int
    step: Step


def calls(seed: int) -> Iterator[Timed]:
    """Yield calls without end, the same for a seed.

    They create, update, delete, evict, expire, read or are refused.
    """
    choose = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    categories: tuple[Category, ...] = get_args(Category)
    while True:
        letter = choose.choice("abababc")
        caller = gene(letter, "search" if letter == "c" else "format")
        number, kind = choose.randrange(_KEYS), choose.random()
        key = f"k{number}"
        if kind < 0.15:
            step = delete(caller, key)
        elif kind < 0.3:
            step = read(caller, key)
        else:  # some are kept for a day, and not as long as the agent's policy says
            more: dict[str, Any] = {"retentionPolicy": _A_DAY} if choose.random() < 0.2 else {}
            step = write(caller, key, bytes(choose.randrange(700)), categories[number % len(categories)], **more)
        yield Timed(choose.choice((0, 1, 1000, 40_000_000)), step)


def _work(place: Place, durability: Durability, seed: int) -> None:
    """Make calls until killed."""
    guest, work = Guest(), calls(seed)
    with place.open() as (store, _):
        for number in count():
            memory = place.on(store, durability)
            shortcuts = result = 0
            for call in islice(work, 1 if durability == "call" else RUN):
                place.clock.advance(ms=call.ms)
                answer = guest.ask(memory, call.step)
                assert answer is not None
                shortcuts += answer.by_shortcut
                result = answer.result if durability == "call" else 0
            if durability == "call":
                _say(f"{number} {result} {shortcuts}")
                memory.finish()
            else:
                memory.finish()
                _say(f"{number} {result} {shortcuts}")


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def _serve() -> None:
    for line in sys.stdin:
        folder, policy, durability, seed, clock_ms = line.split("\t")
        child = os.fork()
        if child == 0:
            _say(f"pid {os.getpid()}")  # by itself: nothing it reports comes before
            place = Place(Path(folder), policy=POLICIES[policy])
            place.clock.set(int(clock_ms))
            try:
                _work(place, "run" if durability == "run" else "call", int(seed))
            finally:
                os._exit(1)  # only a kill ends it
        _, status = os.waitpid(child, 0)
        _say(f"end {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    _serve()
