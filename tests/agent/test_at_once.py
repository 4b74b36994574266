"""Branches of a Par run at the same time, all to their end, and leave no thread behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.agent.conftest import MakeAgent
from tests.agent.guests import ECHO, LOOP, calling, constant, meeting, write
from tests.agent.shapes import attempt, par, seq

from rotifer_host import Agent, Limits, Recorder, replay
from rotifer_host.agent.at_once import all_at_once
from rotifer_host.errors import UsageError
from rotifer_host.sandbox import Deadline, available_call_paths
from rotifer_host.testing import temporary_project

PATIENT = Limits(fuel=10**13, deadline_ms=30_000)
MEETING = {"left": meeting("left", "right"), "right": meeting("right", "left"), "echo": ECHO}


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Any:
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "rotifer-branch"] == []


@pytest.mark.usefixtures("call_path")
@pytest.mark.parametrize("composition", [par("left", "right", merge="concat"), par(seq("echo", "left"), "right")])
def test_branches_run_side_by_side(make_agent: MakeAgent, composition: dict[str, Any]) -> None:
    """Two genes that each wait for what the other writes both end; a response given again is never an old one."""
    agent = make_agent(MEETING, seq(composition, "echo"))
    for _ in range(3):
        result = agent.run({}, limits=PATIENT)
        assert result.status == "ok", result.error
        agent.memory().delete(category="CONTEXT")


@pytest.mark.usefixtures("call_path")
def test_one_after_another_they_would_not_meet(make_agent: MakeAgent) -> None:
    """The guests of the test above do wait: in a Seq the first one never ends."""
    result = make_agent(MEETING, seq("left", "right", "echo")).run({}, limits=Limits(fuel=20_000_000))
    assert (result.status, len(result.genes)) == ("limit", 1)


@pytest.mark.usefixtures("call_path")
def test_many_branches(make_agent: MakeAgent) -> None:
    """More branches than the engine has places for instances all run, and stay in order."""
    result = make_agent(MEETING, seq(par(*["echo"] * 200, merge="concat"), "left")).run(
        [7], limits=Limits(fuel=300_000)
    )
    assert [gene.status for gene in result.genes] == ["ok"] * 200 + ["limit"]


@pytest.mark.parametrize("where", [0, 1, 2])
def test_what_a_branch_raises_ends_all_and_is_raised(where: int) -> None:
    """An error that is no guest's ends the other branches, and reaches the caller when they have ended."""
    deadline = Deadline(60_000)
    ended: list[int] = []

    def fail() -> NoReturn:
        raise UsageError(f"branch {where}")

    def wait(index: int) -> None:
        while not deadline.cancelled:
            os.sched_yield()
        ended.append(index)

    works: list[Any] = [lambda index=index: wait(index) for index in range(3)]
    works[where] = fail
    with pytest.raises(UsageError, match=f"branch {where}"):
        all_at_once(works, deadline)
    assert sorted([*ended, where]) == [0, 1, 2]


def test_without_more_threads_branches_run_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the system gives no thread, the branches without one run on the caller's."""
    threads: list[int] = []
    start = threading.Thread.start

    def sometimes(thread: threading.Thread) -> None:
        if threads:
            message = "can't start new thread"
            raise RuntimeError(message)
        threads.append(1)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", sometimes)
    here = threading.get_ident()
    where = all_at_once([threading.get_ident] * 4, Deadline(60_000))
    assert [thread == here for thread in where] == [True, False, True, True]


def test_a_signal_of_the_program_s_own_ends_the_branches() -> None:
    """What a handler raises while branches are waited for is raised once all have ended."""
    deadline = Deadline(60_000)
    ended = threading.Event()

    def wait() -> None:
        while not deadline.cancelled:
            os.sched_yield()
        ended.set()

    def handler(_number: int, _frame: object) -> NoReturn:
        raise UsageError("the program's handler")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(UsageError, match="the program's handler"):
            all_at_once([lambda: os.kill(os.getpid(), signal.SIGUSR1), wait], deadline)
        assert ended.is_set()
    finally:
        signal.signal(signal.SIGUSR1, before)


PATHS = available_call_paths()


@pytest.mark.parametrize(
    ("path", "number", "composition"),
    [
        (PATHS[0], signal.SIGINT, par("loop", "loop")),
        (PATHS[1], signal.SIGTERM, par("one", "loop")),
        (PATHS[-1], signal.SIGINT, attempt(par("loop", "loop"), "one")),
    ],
    ids=range(3),
)
def test_a_signal_ends_every_branch(path: str, number: signal.Signals, composition: dict[str, Any]) -> None:
    """Ctrl-C and SIGTERM end a command whose branches run, which says so as it does for one gene; writes stay."""
    genes = {"loop": calling(write("begun"), ends="(loop $for_ever (br $for_ever))"), "one": constant(1)}
    with temporary_project(genes) as project:
        agent = project.create_agent("team", composition=composition)
        command = [sys.executable, "-m", "rotifer_host", "-C", str(project.root), "agent", "run", "team"]
        with subprocess.Popen(
            [*command, "--fuel", str(10**15), "--call-path", path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            _wait_for_entry(agent)
            process.send_signal(number)
            _, stderr = process.communicate(timeout=60)
        assert process.returncode == (130 if number == signal.SIGINT else 143), stderr
        assert "Traceback" not in stderr
        assert [entry.key for entry in agent.memory().list().entries] == ["begun"]


def _wait_for_entry(agent: Agent) -> None:
    while not agent.memory().list().entries:
        time.sleep(0.01)


@pytest.mark.usefixtures("call_path")
def test_agents_with_a_par_run_at_the_same_time(make_agent: MakeAgent) -> None:
    """Several threads run one agent at once; each run has its own output, reports and limits."""
    agent = make_agent({"echo": ECHO, "loop": LOOP}, par("echo", "loop", "echo"))
    outputs: dict[int, Any] = {}

    def run(number: int) -> None:
        result = agent.run(number, limits=Limits(fuel=1_000_000))
        outputs[number] = (result.output, [gene.status for gene in result.genes])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {number: (number, ["ok", "limit", "ok"]) for number in range(8)}


def test_a_recorded_par_replays(make_agent: MakeAgent, tmp_path: Path) -> None:
    """A recording of branches has a part for each, and replays as it ran."""
    agent = make_agent(MEETING, seq(par("left", "right", merge="concat"), "echo"))
    result = agent.run({}, limits=PATIENT, record=Recorder(tmp_path / "run.rec"))
    assert result.status == "ok"
    again = replay(tmp_path / "run.rec")
    assert again.same
    assert sorted(part.gene for part in again.parts) == ["echo", "left", "right"]
    assert json.loads((tmp_path / "run.rec").read_bytes())["composition"] == "Seq"
