"""Runs of an exclusive agent take turns: threads, processes, deadlines, killed holders."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from tests.agent.guests import ECHO, TRAP, calling, write

from rotifer_host import Agent, Deadline, Limits, Project
from rotifer_host.agent.report import RunError
from rotifer_host.agent.turn import turn
from rotifer_host.errors import AgentError
from rotifer_host.lock import Wait
from rotifer_host.testing import temporary_project

COUNTER = Path(__file__).parents[2] / "guest-examples" / "counter"
SPIN = calling(write("begun"), ends="(loop $for_ever (br $for_ever))")
ROTIFER = (sys.executable, "-m", "rotifer_host")

COUNT = """
import sys
from rotifer_host import Project
agent = Project.open(sys.argv[1]).agent("team")
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    result = agent.run({})
    assert result.status == "ok", result.error
"""

HOLD = """
import sys
from pathlib import Path
from rotifer_host.agent.turn import turn
from rotifer_host.lock import Wait
with turn(Path(sys.argv[1]), sys.argv[2], Wait()):
    print("ready", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """Return a project with a gene that counts by reading, adding and writing, and some others."""
    with temporary_project({"counter": COUNTER, "echo": ECHO, "trap": TRAP, "spin": SPIN}) as project:
        yield project


@contextmanager
def started(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start a program, and wait until it says that it is ready."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert stream(process.stdout).readline() == "ready\n"
            yield process
        finally:
            process.kill()


def stream(file: IO[str] | None) -> IO[str]:
    """Return a pipe that is there."""
    assert file is not None
    return file


def folder(agent: Agent) -> Path:
    """Return where the agent's record lies."""
    return agent._project._folder.agents_dir


def count(agent: Agent) -> int:
    """Return what the counter has come to."""
    entry = agent.memory(caller=agent._project.gene("counter")).read("counter/runs")
    return 0 if entry is None else int(entry.value)


@pytest.fixture
def make(project: Project) -> Callable[..., Agent]:
    """Return a function that makes an agent called team, in the place of the one before."""

    def make(*genes: str, exclusive: bool = True) -> Agent:
        for old in project._folder.agents_dir.glob("*.json"):
            old.unlink()
        return project.create_agent("team", genes, exclusive=exclusive)

    return make


def test_processes_that_count_lose_nothing(make: Callable[..., Agent], project: Project) -> None:
    """Three processes and a thread that read, add and write at once count every run."""
    agent = make("counter")
    with ExitStack() as stack:
        others = [stack.enter_context(started(COUNT, project.root, 25)) for _ in range(3)]
        for process in others:
            stream(process.stdin).write("go\n")
            stream(process.stdin).flush()
        for _ in range(25):
            assert agent.run({}).status == "ok"
        assert [process.wait(60) for process in others] == [0, 0, 0]
    assert count(agent) == 100


def test_threads_of_one_process_take_turns(make: Callable[..., Agent]) -> None:
    """Four threads of one process count every run."""
    agent = make("counter")
    threads = [threading.Thread(target=lambda: [agent.run({}) for _ in range(10)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(agent) == 40


def test_a_turn_that_does_not_come_in_time_is_a_limit(make: Callable[..., Agent], project: Project) -> None:
    """A run whose deadline passes while another has the turn has begun no gene, and says why; exit status 3."""
    agent = make("counter")
    command = [*ROTIFER, "-C", str(project.root), "agent", "run", "team", "--deadline-ms", "60", "--json"]
    with started(HOLD, folder(agent), agent.id):
        result = agent.run({}, limits=Limits(deadline_ms=30))
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.error is not None
    assert (result.status, result.error.code, result.genes) == ("limit", "DEADLINE_EXCEEDED", ())
    assert result.error.message == "not begun after 30 ms: team is exclusive, and other runs had their turn"
    assert done.returncode == 3
    document = json.loads(done.stdout)
    assert (document["status"], document["error"]["code"], document["genes"]) == ("limit", "DEADLINE_EXCEEDED", [])
    assert document["agent"] == "team"
    assert "error[DEADLINE_EXCEEDED]: not begun after 60 ms" in done.stderr
    assert agent.memory().list().entries == ()


def test_a_deadline_of_its_own_counts_while_a_run_waits_for_its_turn(make: Callable[..., Agent]) -> None:
    """The error names that deadline and not the limit, and cancelled it ends the run failed."""
    agent = make("counter")
    cancelled = Deadline(600_000)
    timer = threading.Timer(0.05, cancelled.cancel)
    with started(HOLD, folder(agent), agent.id):
        late = agent.run({}, deadline=Deadline(30))
        timer.start()
        ended = agent.run({}, deadline=cancelled)
    timer.join()
    others = "team is exclusive, and other runs had their turn"
    assert (late.status, late.error) == ("limit", RunError("DEADLINE_EXCEEDED", f"not begun after 30 ms: {others}"))
    assert 0 < late.duration_ms < Limits().deadline_ms
    assert ended.status == "failed"
    assert ended.error == RunError("INTERRUPTED", f"the run was interrupted before it began: {others}")


def test_a_missed_turn_shows_no_empty_table_and_no_recording(
    make: Callable[..., Agent], project: Project, tmp_path: Path
) -> None:
    """For people there is the error alone, and nothing claims to be recorded."""
    agent = make("echo")
    recording = tmp_path / "run.rec"
    with started(HOLD, folder(agent), agent.id):
        done = subprocess.run(
            [
                *ROTIFER,
                "-C",
                str(project.root),
                "agent",
                "run",
                "team",
                "--deadline-ms",
                "1",
                "--record",
                str(recording),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stdout, recording.exists()) == (3, "", False)
    assert done.stderr.startswith("error[DEADLINE_EXCEEDED]: not begun after 1 ms")


def test_a_killed_holder_leaves_nothing_behind(make: Callable[..., Agent], project: Project) -> None:
    """A run that is killed in its turn does not keep the next one from it."""
    agent = make("spin")
    command = [*ROTIFER, "-C", str(project.root), "agent", "run", "team", "--fuel", str(10**15)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while not agent.memory().list().entries:
            threading.Event().wait(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    result = agent.run({}, limits=Limits(fuel=1_000_000))
    assert result.error is not None
    assert result.error.code == "FUEL_EXHAUSTED"


def test_whoever_waits_comes_before_whoever_has_just_had_a_turn(make: Callable[..., Agent]) -> None:
    """A run that ends and wants another turn at once comes after one that was waiting."""
    agent = make("echo")
    waiting = threading.Event()
    order: list[str] = []

    class Noticed:
        def remaining_s(self) -> float:
            waiting.set()
            return 60.0

    def wait() -> None:
        with turn(folder(agent), agent.id, Noticed()):
            order.append("waiting")

    thread = threading.Thread(target=wait)
    with turn(folder(agent), agent.id, Wait()):
        thread.start()
        assert waiting.wait(60)
    with turn(folder(agent), agent.id, Wait()):
        order.append("again")
    thread.join()
    assert order == ["waiting", "again"]


def test_a_run_that_fails_gives_its_turn_back(make: Callable[..., Agent]) -> None:
    """A trap, and an error that is raised, end the turn."""
    agent = make("trap")
    for _ in range(2):
        assert agent.run({}, limits=Limits(deadline_ms=5_000)).status == "failed"
    for _ in range(2):
        with pytest.raises(ValueError, match="clock"):
            Project(agent._project._folder, clock=_NoClock()).agent("team").run({}, limits=Limits(deadline_ms=5_000))


class _NoClock:
    def now_ms(self) -> int:
        message = "no clock"
        raise ValueError(message)


def test_other_agents_do_not_wait(make: Callable[..., Agent]) -> None:
    """An agent that is not exclusive takes no turns and makes no locks; neither does memory outside a run."""
    agent = make("counter", exclusive=False)
    with turn(folder(agent), agent.id, Wait()):
        assert agent.run({}, limits=Limits(deadline_ms=5_000)).status == "ok"
    agent = make("counter")
    with turn(folder(agent), agent.id, Wait()):
        agent.memory(caller=agent._project.gene("counter")).write("k", b"", "CACHE")


def test_a_lock_that_cannot_be_opened_is_an_agent_error(make: Callable[..., Agent]) -> None:
    """A folder in the place of a lock is told with the system's reason."""
    agent = make("echo")
    (folder(agent) / f"{agent.id}.run").mkdir()
    with pytest.raises(AgentError, match=r"cannot take a turn: .*\.run: Is a directory"):
        agent.run({})


def test_the_locks_are_private_and_no_records(make: Callable[..., Agent], project: Project) -> None:
    """Lock files are their owner's alone, and listing agents does not trip over them."""
    agent = make("echo")
    agent.run({})
    files: dict[str, Any] = {path.name: path.stat().st_mode & 0o777 for path in folder(agent).iterdir()}
    assert {f"{agent.id}{suffix}": 0o600 for suffix in (".json", ".run", ".next")}.items() <= files.items()
    assert [each.name for each in project.agents()] == ["team"]
