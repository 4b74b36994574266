"""kill -9 at random moments of a writing process: what was answered is there, and of a run all or nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest
from tests.torture.commands import started, whole_command
from tests.torture.guest import Guest
from tests.torture.hammer import AGENT_NAME
from tests.torture.invariants import CHANGES, State, audit_lines, read_state, unsaved, unsound
from tests.torture.place import POLICIES, Place, Reference, live
from tests.torture.scenario import happen
from tests.torture.writers import RUN, calls

from rotifer_host import Agent
from rotifer_host.memory import AgentMemory, Durability

_LONGEST_LIFE_S: Final = 0.05
_LATE: Final = 0.7
_CHECKED_WHOLE_EVERY: Final = 10
_KILLS_OF_ONE_MEMORY: Final = 150
_COMMANDS: Final = 8


Reports = list[tuple[int, int]]


class Writers:
    """The process that forks writers, and the pipe they report by."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.shortcuts = 0
        """Calls that C has answered."""

    def kill_one(self, order: tuple[Path, str, Durability, int, int], life_s: float, *, reported: bool) -> Reports:
        """Start a writer with folder, policy, durability, seed and clock; return its reports' numbers and results.

        It is killed after `life_s` seconds, which begin when it is forked, or when it has `reported` once.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("{}\t{}\t{}\t{}\t{}\n".format(*order))
        self._process.stdin.flush()
        pid, killed = 0, False
        reports: Reports = []
        for line in self._process.stdout:
            word, value, *shortcuts = line.split()
            if word == "end":
                assert int(value) == -signal.SIGKILL, "the writer ended by itself"
                return reports
            if word == "pid":
                pid = int(value)
            else:
                reports.append((int(word), int(value)))
                self.shortcuts += int(*shortcuts)
            if not killed and (reports or not reported):
                assert pid, "a report before the pid: to kill 0 would be to kill the tests themselves"
                time.sleep(life_s)
                os.kill(pid, signal.SIGKILL)
                killed = True
        raise AssertionError(f"the writers' process is gone: {self._process.communicate()[1]}")


@pytest.fixture
def writers() -> Iterator[Writers]:
    """Give a process that forks writers; one that is left writes to a closed pipe, and ends."""
    with started("writers") as process:
        yield Writers(process)


def copy_of(reference: Reference) -> Reference:
    """Return a reference that goes its own way from here."""
    copy = Reference(reference.policy)
    copy.store.records = dict(reference.store.records)
    copy.store.totals = reference.store.totals
    copy.clock.set(reference.clock.now_ms())
    return copy


def states(reference: Reference, durability: Durability, seed: int, reports: Reports) -> list[Reference]:
    """Return what may be on the disk: what was reported, and that with what was under way."""
    work = calls(seed)

    def make(count: int, reference: Reference) -> int:
        """Make some calls; return the result of the last one."""
        response: bytes | int = b""
        for call in islice(work, count):
            reference.clock.advance(ms=call.ms)
            response = happen(reference.memory, call.step)
        return response if isinstance(response, int) else len(response)

    count = 1 if durability == "call" else RUN
    for number, result in reports:
        answered = make(count, reference)
        assert durability == "run" or (number, result) == (number, answered)
    further = copy_of(reference)
    make(count, further)
    return [reference, further]


def last_lines(lines: list[dict[str, Any]], before: State, after: State) -> list[dict[str, Any]] | None:
    """Return the fewest last lines without which the log tells how `before` became `after`; None if it never does."""
    made = [line for line in lines if line["action"] in CHANGES]
    for cut in range(len(made), -1, -1):
        if unsaved(made[:cut], before, after) == []:
            return made[cut:]
    return None


def on_disk(place: Place, may_be: list[Reference], name: str) -> Reference:
    """Return which of the states it is; that of what was under way when both are the same."""
    now_ms = may_be[-1].clock.now_ms()
    place.clock.set(now_ms)
    with place.open() as (store, _):
        found = live(store, now_ms, place.policy)
    for state in reversed(may_be):
        state.clock.set(now_ms)
        if found == state.live():
            return state
    held, must = ([key for key, _ in entries] for entries in (found, may_be[0].live()))
    raise AssertionError(f"{name}: the memory holds {held}, not {must}")


def test_killed_writers_lose_nothing_they_were_answered(
    tmp_path: Path, writers: Writers, torture_kills: int, torture_seed: int, tell: Callable[[str], None]
) -> None:
    """Alternating between the two durabilities, in memories that go on from kill to kill, and between two policies."""
    choose = random.Random(torture_seed)  # noqa: S311 - to be repeated
    shortcuts: Counter[str] = Counter()
    written = under_way = 0
    for kill in range(torture_kills):
        if kill % _KILLS_OF_ONE_MEMORY == 0:
            policy = tuple(POLICIES)[kill // _KILLS_OF_ONE_MEMORY % len(POLICIES)]
            place, reference = Place(tmp_path / str(kill), policy=POLICIES[policy]), Reference(POLICIES[policy])
            place.folder.mkdir()
        durability: Durability = "call" if choose.random() < 0.5 else "run"
        name = f"kill {kill} of seed {torture_seed}, durability {durability}"
        seed = choose.randrange(1 << 32)
        before, lines_before = read_state(place), len(audit_lines(place))
        order = (place.folder, policy, durability, seed, reference.clock.now_ms())
        reports = writers.kill_one(order, choose.uniform(0, _LONGEST_LIFE_S), reported=choose.random() < _LATE)
        shortcuts[policy], writers.shortcuts = shortcuts[policy] + writers.shortcuts, 0
        written += len(reports) * (1 if durability == "call" else RUN)
        may_be = states(reference, durability, seed, reports)
        after = read_state(place)
        lost = last_lines(audit_lines(place)[lines_before:], before, after)
        assert lost is not None, f"{name}: a change has no line"
        by_calls = [line for line in lost if line["actor"] == "gene"]
        assert len(by_calls) <= (1 if durability == "call" else RUN), f"{name}: {lost}"
        saved = on_disk(place, may_be, name)
        under_way += saved is may_be[1]
        reference = saved
        if kill % _CHECKED_WHOLE_EVERY == _CHECKED_WHOLE_EVERY - 1:
            assert unsound(place) == []
    tell(
        f"{torture_kills} kills, {written} calls answered, {dict(shortcuts)} of them by C, "
        f"{under_way} times what was under way had been saved"
    )
    assert written > torture_kills
    assert shortcuts["thirty days"] == 0
    assert (shortcuts["for ever"] > 0) == Guest().takes_shortcuts


def test_the_write_of_the_command_is_answered_by_c(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is killed below is the shortcut, where it is there: without the rule for writes the counter counts on."""
    assert agent.run({}).output == {"count": 1}
    monkeypatch.delattr(AgentMemory, "write")
    if Guest().takes_shortcuts:
        assert agent.run({}).output == {"count": 2}
    else:
        with pytest.raises(AttributeError):
            agent.run({})


@pytest.mark.parametrize("durability", ["call", "run"])
def test_a_killed_command_has_counted_once_or_not_at_all(
    agent: Agent, busy: Place, durability: Durability, torture_seed: int, torture_rounds: int
) -> None:
    """`rotifer agent run` of a counter, killed between its start and its end: whatever it showed is kept."""
    choose = random.Random(torture_seed)  # noqa: S311 - to be repeated
    least = most = 0
    for _ in range(_COMMANDS * torture_rounds):
        arguments = ["agent", "run", AGENT_NAME, "--durability", durability, "--input", "{}"]
        with subprocess.Popen(whole_command(agent, *arguments), stdout=subprocess.PIPE, text=True) as process:
            time.sleep(choose.uniform(0.1, 0.6))
            process.kill()
            shown = process.communicate()[0]
        most += 1
        if shown.endswith("}\n"):
            least = json.loads(shown)["output"]["count"]
        with busy.open() as (store, _):
            entries = [json.loads(body) for _, body in live(store, busy.clock.now_ms(), busy.policy)]
        count = int(b64decode(entries[0]["value"])) if entries else 0
        assert least <= count <= most
        least = most = count
    assert unsound(busy) == []
