"""Recorded runs on other hosts: this project's behind the protocol, and the one on Node.js."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Limits, Project, Recorder, Replay
from rotifer_host.cli import main
from rotifer_host.conformance.host_own import OwnHost
from rotifer_host.conformance.protocol import HostError, HostUnderTest, Program
from rotifer_host.conformance.replay_host import replay_on
from rotifer_host.errors import RecordingError
from rotifer_host.record import read_recording
from rotifer_host.sandbox import available_call_paths

ADAPTER = Path(__file__).parents[2] / "guest-examples" / "node-host" / "adapter.mjs"
NODE = f"node {shlex.quote(str(ADAPTER))}"
NEEDS_NODE = pytest.mark.skipif(
    shutil.which("node") is None, reason="Node.js is not installed: there is no second host"
)
Run = Callable[[], Replay]


@pytest.fixture(params=[*available_call_paths(), pytest.param("node", marks=NEEDS_NODE)])
def host(request: pytest.FixtureRequest) -> Iterator[HostUnderTest]:
    """Return this host on each of its call paths, and the other one."""
    with Program(NODE) if request.param == "node" else OwnHost(request.param, "model") as found:
        yield found


def change(file: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite a recording."""
    document = json.loads(file.read_bytes())
    edit(document)
    file.write_text(json.dumps(document), encoding="utf-8")


def test_a_run_is_the_same_on_another_host(project: Project, file: Path, host: HostUnderTest) -> None:
    """Requests, results, output, log, memory: -1, bad pointers, refused callers and rejections included."""
    agent = project.create_agent("both", ["counter", "formatter"])
    reads = project.create_agent("reads", ["reader"])
    reads.memory(project.gene("reader")).write("k", b"\xff\x00", "CACHE")
    runs: tuple[Callable[[Recorder], object], ...] = (
        lambda record: agent.run({}, record=record),
        lambda record: project.create_agent("tidy", ["formatter"]).run({"code": "é\n x", "indent": 4}, record=record),
        lambda record: reads.run({"key": "k"}, record=record),
        lambda record: project.run_gene("reader", {"key": "k"}, record=record),
        lambda record: project.run_gene("traps", {}, record=record),
        lambda record: project.run_gene("hello", {"name": "Zoë"}, record=record),
    )
    calls = []
    for run in runs:
        run(Recorder(file))
        again = replay_on(host, read_recording(file))
        assert (again.same, again.difference) == (True, None)
        calls.append([part.calls for part in again.parts])
    assert calls == [[2, 0], [1], [2], [2], [0], [1]]


def test_what_is_the_machines_is_answered_on_another_host(project: Project, file: Path) -> None:
    """WASI's answers, a sleep and the fuel left are the recorded ones, on a host that has WASI."""
    project.run_gene("machine", {}, record=Recorder(file))
    for path in available_call_paths():
        with OwnHost(path, "model") as host:
            again = replay_on(host, read_recording(file))
        assert again.same
        assert (again.call_path, again.parts[0].calls) == (host.name, 5)


def event(**members: Any) -> Callable[[dict[str, Any]], None]:
    """Return an edit of the first call."""
    return lambda document: document["parts"][0]["events"][0].update(members)


def outcome(**members: Any) -> Callable[[dict[str, Any]], None]:
    """Return an edit of the outcome."""
    return lambda document: document["parts"][0]["outcome"].update(members)


def events(count: int) -> Callable[[dict[str, Any]], None]:
    """Return an edit of how often each call is recorded."""
    return lambda document: document["parts"][0].update(events=document["parts"][0]["events"] * count)


DIFFERENCES: Mapping[str, tuple[Callable[[dict[str, Any]], None], int | None, str, int | None]] = {
    "request": (event(request='{"key":"formatter/other"}'), 1, "request", 18),
    "out_cap": (event(outCap=7), 1, "out_cap", None),
    "function": (event(function="rotifer.readMemory"), 1, "function", None),
    "early": (event(request=None, outCap=None, response=None, result=-2), 1, "refusal", None),
    "result": (event(result=5), 1, "result", None),
    "more": (events(0), 1, "function", None),
    "fewer": (events(2), 2, "function", None),
    "status": (
        outcome(status="failed", error={"code": "TRAP", "message": "x", "backtrace": []}), None, "status", None,
    ),
    "rejection": (
        outcome(status="rejected", error={"code": "INVALID_INPUT", "message": "x", "backtrace": []}),
        None, "status", None,
    ),
    "output": (outcome(output='{"formatted":"a"}'), None, "output", 15),
    "log": (outcome(log="said"), None, "log", None),
    "answers": (outcome(answers={"writeMemory": {"ok": 2}}), None, "answers", None),
    "memory": (outcome(peakMemoryBytes=65536), None, "memory", None),
}  # fmt: skip


def test_the_first_difference_on_another_host_is_named(project: Project, file: Path, host: HostUnderTest) -> None:
    """Which call or the end, what, and from which byte, as on a call path."""
    project.create_agent("tidy", ["formatter"]).run({"code": "a\n b", "indent": 4}, record=Recorder(file))
    recorded = file.read_bytes()
    for name, (edit, call, what, at) in DIFFERENCES.items():
        file.write_bytes(recorded)
        change(file, edit)
        again = replay_on(host, read_recording(file))
        found = again.difference
        assert found is not None, name
        assert (found.part, found.call, found.what, found.at) == (1, call, what, at), name
        assert found.recorded != found.now, name
        assert again.parts[0].calls == (1 if call is None else call - 1), name


def test_a_run_that_ended_in_a_call_is_replayed_as_far_as_it_goes(
    project: Project, file: Path, host: HostUnderTest
) -> None:
    """There is no answer to the last call, so there the other host stops, and that is the same."""
    project.create_agent("tidy", ["formatter"]).run({"code": "", "indent": 4}, record=Recorder(file))
    change(file, event(result=None, response=None))
    again = replay_on(host, read_recording(file))
    assert (again.same, again.parts[0].calls) == (True, 1)


@NEEDS_NODE
def test_a_host_without_what_the_run_needs_is_not_asked(project: Project, file: Path) -> None:
    """A run that WASI or a limit decided is not put to a host that has neither: it would hang, or differ for that."""
    with Program(NODE) as host:
        project.run_gene("machine", {}, record=Recorder(file))
        with pytest.raises(HostError, match="has no wasi: it cannot do what machine did"):
            replay_on(host, read_recording(file))
        project.run_gene("spins", {}, record=Recorder(file), limits=Limits(fuel=10_000))
        with pytest.raises(HostError, match="has no fuel: it cannot do what spins did"):
            replay_on(host, read_recording(file))
        agent = project.create_agent("poor", ["counter"])
        agent.run({}, record=Recorder(file), limits=Limits(fuel=19_000))
        with pytest.raises(HostError, match="has no fuel"):
            replay_on(host, read_recording(file))


class Scripted:
    """A host that says what it is told to say."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)

    def ask(self, _message: Mapping[str, Any]) -> dict[str, Any]:
        """Give the next answer."""
        return self.answers.pop(0)


HELLO = {"v": 1, "host": "fake", "capabilities": ["replay", "wasi", "fuel"]}
ENDED = {"status": "failed", "code": "TRAP", "message": "", "calls": []}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{**HELLO, "capabilities": ["fuel"]}], "fake cannot replay: it has no capability `replay`"),
        ([HELLO, {"error": "no"}], "fake could not replay traps: no"),
        ([HELLO, {}], "in another form than the protocol's: Object missing required field `status`"),
        ([HELLO, {**ENDED, "calls": 5}], "Expected `array`, got `int` - at `$.calls`"),
        ([HELLO, {**ENDED, "calls": [{"function": "rotifer.log"}]}], "call 1: Object missing required field `request`"),
        (
            [HELLO, {**ENDED, "calls": [{"function": "x", "request": "?", "outCap": 1, "result": 1}]}],
            "call 1: Invalid base64",
        ),
        ([HELLO, {"status": "ok", "calls": []}], "missing required field `output`"),
        ([HELLO, {**ENDED, "status": "stopped"}], "it stopped the run, though all that was asked has its answer"),
    ],
)
def test_hosts_that_do_not_keep_the_protocol_are_refused(
    project: Project, file: Path, answers: list[dict[str, Any]], message: str
) -> None:
    """What a host answers wrongly is its error, and no difference of the run."""
    project.run_gene("traps", {}, record=Recorder(file))
    with pytest.raises(HostError, match=re.escape(message)):
        replay_on(Scripted(*answers), read_recording(file))


def test_a_refused_module_is_a_difference(project: Project, file: Path) -> None:
    """A host that does not run the module at all says so in the place of how it ended."""
    project.run_gene("hello", {"name": "A"}, record=Recorder(file))
    change(file, events(0))
    refused = {"status": "refused", "code": "UNKNOWN_IMPORT", "message": "no rotifer.readMemory", "calls": []}
    found = replay_on(Scripted(HELLO, refused), read_recording(file)).difference
    assert found is not None
    assert (found.what, found.now) == ("status", "refused, UNKNOWN_IMPORT: no rotifer.readMemory")


def test_the_module_may_be_a_file(project: Project, file: Path) -> None:
    """What a recording left out is taken from what is given, on another host too."""
    project.run_gene("traps", {}, record=Recorder(file, with_modules=False))
    with OwnHost(store="model") as host:
        with pytest.raises(RecordingError, match="does not hold the module of traps"):
            replay_on(host, read_recording(file))
        wasm = (project.root / "genes" / "traps" / "gene.ir.wasm").read_bytes()
        assert replay_on(host, read_recording(file), [wasm]).same


def test_the_command_takes_hosts_and_call_paths(
    project: Project, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--against cmd:PROGRAM` is a row like the others, and a program that is no host an error."""
    project.create_agent("tally", ["counter"]).run({}, record=Recorder(file))
    own = f"cmd:{shlex.quote(sys.executable)} -m rotifer_host.conformance.host_own"
    assert main(["--json", "replay", str(file), "--against", "raw", "--against", own]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["same"] is True
    assert [each["callPath"].partition(" ")[0] for each in found["replays"]] == ["raw", "rotifer-host"]
    assert main(["replay", str(file), "--against", own]) == 0
    assert "counter  same" in capsys.readouterr().out
    for command, status, error in (
        ("cmd:", 2, "the command of the host is empty"),
        ("cmd:/does/not/exist", 2, "cannot start '/does/not/exist'"),
        (f"cmd:{shlex.quote(sys.executable)} -c pass", 1, "error[HOST_UNDER_TEST]"),
    ):
        assert main(["replay", str(file), "--against", command]) == status
        assert error in capsys.readouterr().err
