"""Threads, processes and commands on one agent at once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import pytest
from tests.torture.commands import command, started
from tests.torture.guest import Guest
from tests.torture.hammer import AGENT_NAME, OWN_KEYS, THREADS
from tests.torture.invariants import State, audit_lines, read_state, unsaved, unsound
from tests.torture.place import FOR_EVER, POLICIES, Place, live

from rotifer_host import Agent

_PROCESSES: Final = 4
_OPERATIONS: Final = 150

policies = pytest.mark.parametrize("agent", POLICIES.values(), indirect=True, ids=POLICIES)


class Hammers(ExitStack):
    """Processes that hammer one agent; none of them outlives the `with` block."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self._project = str(agent._project.root)

    def start(self, worker: int, seed: int, operations: int) -> subprocess.Popen[str]:
        """Start one."""
        return self.enter_context(started("hammer", self._project, str(worker), str(seed), str(operations)))


def own_values(place: Place) -> dict[str, int]:
    """Return what the processes' own entries hold."""
    with place.open() as (store, _):
        entries = [json.loads(body) for _, body in live(store, place.clock.now_ms(), place.policy)]
    values = {entry["key"]: entry["value"] for entry in entries if entry["key"].startswith("own/")}
    return {key: int(b64decode(value)) for key, value in values.items()}


def read_report(output: str) -> tuple[dict[str, int], Counter[str], list[str]]:
    """Return the last answered write of each own key, counts of answers, and problems."""
    last: dict[str, int] = {}
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for line in output.splitlines():
        word, *rest = line.split(" ")
        if word == "problem":
            problems.append(line)
        elif word == "count":
            counts[rest[0]] += int(rest[1])
        else:
            *keys, number = [word, *rest] if word != "run" else rest
            last |= dict.fromkeys(keys, int(number))
    return last, counts, problems


def took_shortcuts(place: Place, counts: Counter[str]) -> bool:
    """Tell whether C answered where it should, and only there; `counts` is left without that."""
    return (counts.pop("shortcuts", 0) > 0) == (place.policy == FOR_EVER and Guest().takes_shortcuts)


@policies
def test_threads_processes_and_commands_share_one_memory(
    agent: Agent, busy: Place, torture_seed: int, torture_rounds: int, tell: Callable[[str], None]
) -> None:
    """Documented answers only; each own entry holds the last write that was answered; every line has its change."""
    choose = random.Random(torture_seed)  # noqa: S311 - to be repeated
    operations = _OPERATIONS * torture_rounds
    commands = 0
    last: dict[str, int] = {}
    counts: Counter[str] = Counter()
    with Hammers(agent) as hammers:
        processes = [hammers.start(number, choose.randrange(1 << 32), operations) for number in range(_PROCESSES)]
        while any(process.poll() is None for process in processes) or commands < 3:
            listing = command(agent, "agent", "memory", "list", AGENT_NAME)
            assert listing["used"] <= listing["quota"]
            command(agent, "agent", "memory", "delete", AGENT_NAME, "--category", "CACHE")
            assert command(agent, "agent", "run", AGENT_NAME, "--input", "{}")["status"] == "ok"
            commands += 3
        for process in processes:
            output, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
            written, counted, problems = read_report(output)
            assert problems == []
            last |= written
            counts += counted
    tell(f"{_PROCESSES * THREADS * operations} operations, {commands} commands: {dict(counts)}")
    assert took_shortcuts(busy, counts)
    assert counts.total() == _PROCESSES * THREADS * operations
    assert len(last) == _PROCESSES * THREADS * OWN_KEYS
    assert own_values(busy) == last
    assert unsaved(audit_lines(busy), State(), read_state(busy)) == []
    assert unsound(busy) == []


@policies
def test_killed_processes_hold_nobody_up(agent: Agent, busy: Place, torture_seed: int, torture_rounds: int) -> None:
    """No lock and no reader's slot stays taken; what the killed ones were answered is there, and so is the rest."""
    choose = random.Random(torture_seed)  # noqa: S311 - to be repeated
    for _ in range(torture_rounds):
        with Hammers(agent) as hammers:
            survivor = hammers.start(0, choose.randrange(1 << 32), _OPERATIONS)
            victims = [hammers.start(number, choose.randrange(1 << 32), 1 << 30) for number in range(1, _PROCESSES)]
            reports = [killed(victim, choose.uniform(0, 0.3)) for victim in victims]
            output, errors = survivor.communicate()
        assert (survivor.returncode, errors) == (0, "")
        last, counts, problems = read_report(output)
        assert took_shortcuts(busy, counts)
        assert problems == []
        values = own_values(busy)
        assert {key: values[key] for key in last} == last
        for report in reports:
            answered, _, problems = read_report(report)
            assert problems == []
            assert {key: number for key, number in answered.items() if values.get(key, 0) < number} == {}
        command(agent, "agent", "memory", "delete", AGENT_NAME, "--category", "PREFERENCE")
        with busy.open() as (store, _):
            readers = store._environment.env.readers()  # type: ignore[attr-defined]
        assert readers.strip().count("\n") <= 1, readers
        assert unsaved(audit_lines(busy), State(), read_state(busy)) is not None
        assert unsound(busy) == []


def killed(victim: subprocess.Popen[str], life_s: float) -> str:
    """Kill a process some time after its first report, and return all it has reported."""
    assert victim.stdout is not None
    first = victim.stdout.readline()
    time.sleep(life_s)
    victim.kill()
    rest, errors = victim.communicate()
    assert (victim.returncode, errors) == (-signal.SIGKILL, "")
    return first + rest
