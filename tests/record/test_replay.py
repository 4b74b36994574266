"""A recorded run, run again, is the same run."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest

from rotifer_host import Limits, Project, Recorder, replay
from rotifer_host.errors import GeneError, RecordingError, UsageError
from rotifer_host.record import Recording, read_recording
from rotifer_host.record.recording import Bytes, Exchange, from_bytes, to_bytes
from rotifer_host.sandbox import available_call_paths


def everywhere(file: Path) -> list[tuple[str, bool]]:
    """Replay on each call path."""
    return [(path, replay(file, call_path=path).same) for path in available_call_paths()]


SAME = [(path, True) for path in available_call_paths()]


def test_what_is_the_machines_is_answered_as_it_was(project: Project, file: Path, call_path: str) -> None:
    """Randomness, clocks, sleep, fuel left, time and trace id come from the recording, on each path from any other."""
    result = project.run_gene("machine", {}, call_path=call_path, record=Recorder(file))
    assert result.status == "ok"
    assert project.run_gene("machine", {}, call_path=call_path).output != result.output
    (part,) = read_recording(file).parts
    assert [event.function for event in part.events] == [
        "wasi_snapshot_preview1.random_get",
        "wasi_snapshot_preview1.clock_time_get",
        "wasi_snapshot_preview1.clock_time_get",
        "wasi_snapshot_preview1.poll_oneoff",
        "rotifer.remainingBudget",
    ]
    assert everywhere(file) == SAME
    fuels = {replay(file, call_path=path).parts[0].fuel for path in available_call_paths()}
    assert fuels == {result.genes[0].fuel}


@pytest.mark.parametrize("stored", [None, b"4", b"\xff\x00"])
def test_memory_is_answered_as_it_was(project: Project, file: Path, call_path: str, stored: bytes | None) -> None:
    """A replay gives the recorded answers whatever memory holds by then, -1 and bad pointers included."""
    agent = project.create_agent("reads", ["reader"])
    memory = agent.memory(project.gene("reader"))
    if stored is not None:
        memory.write("k", stored, "CACHE")
    result = agent.run({"key": "k"}, call_path=call_path, record=Recorder(file))
    assert (result.status, result.genes[0].host_calls["readMemory"].errors) == ("ok", {-1: 1, -10: 1})
    memory.write("k", b"changed", "CACHE")
    (part,) = read_recording(file).parts
    assert [(event.result, event.outCap) for event in part.events if isinstance(event, Exchange)] == [
        (-1, 3),
        (4 if stored is None else len(to_bytes(part.outcome.output)) if part.outcome else None, 4000),
    ]
    assert everywhere(file) == SAME


def test_a_replay_changes_nothing(project: Project, formatter: Recording, file: Path) -> None:
    """Memory and audit log stay as they are."""
    assert formatter.agent == "tidy"
    before = (project.audit_path.read_bytes(), project.agent("tidy").memory().list())
    assert replay(file).same
    assert (project.audit_path.read_bytes(), project.agent("tidy").memory().list()) == before


def test_each_gene_of_a_sequence_is_a_part(project: Project, file: Path, call_path: str) -> None:
    """Genes are replayed one by one, each on the input it was recorded with."""
    agent = project.create_agent("both", ["counter", "counter", "reader"])
    assert agent.run({}, record=Recorder(file)).status == "rejected"
    recording = read_recording(file)
    assert [(part.gene, part.input) for part in recording.parts] == [("counter", "{}"), ("counter", '{"count":1}')]
    assert len(recording.modules) == 1
    assert (recording.agent, recording.agentId, recording.composition) == ("both", agent.id, "Seq")
    again = replay(file, call_path=call_path)
    assert (again.same, [part.calls for part in again.parts]) == (True, [2, 0])


def test_a_refusal_of_the_caller_is_replayed(project: Project, file: Path) -> None:
    """A gene outside an agent, refused before its request is looked at, is refused again."""
    assert project.run_gene("reader", {"key": "k"}, record=Recorder(file)).genes[0].denied == 2
    (part,) = read_recording(file).parts
    assert {(event.function, event.result) for event in part.events} == {("rotifer.readMemory", -2)}
    assert everywhere(file) == SAME


@pytest.mark.parametrize(
    ("gene", "limits", "code"),
    [
        ("traps", Limits(), "TRAP"),
        ("spins", Limits(fuel=100_000), "FUEL_EXHAUSTED"),
        ("spins", Limits(fuel=1 << 62, deadline_ms=30), "DEADLINE_EXCEEDED"),
        ("machine", Limits(fuel=20_100), "FUEL_EXHAUSTED"),
        ("machine", Limits(host_time_ms=1), "HOST_TIME_EXCEEDED"),
        ("hello", Limits(memory_bytes=65536), "MEMORY_EXCEEDED"),
    ],
)
def test_failures_are_the_same_failures(  # noqa: PLR0913 - a table
    project: Project, file: Path, call_path: str, *, gene: str, limits: Limits, code: str
) -> None:
    """A run that failed or hit a limit does so again, for the recorded reason and under the recorded limits."""
    result = project.run_gene(gene, {}, limits=limits, record=Recorder(file))
    assert result.error is not None
    assert result.error.code == code
    again = replay(file, call_path=call_path)
    assert again.same, again.difference


@pytest.mark.parametrize("data", [b"", b"{}", "é☃\0".encode(), b"\xff\x00", bytes(range(256))])
def test_bytes_survive(data: bytes) -> None:
    """Text is written as text, what is no UTF-8 in base64; both come back as they were."""
    written = msgspec.json.encode(from_bytes(data))
    assert (b"base64" in written) == (data[-1:] == b"\xff" or data[:1] == b"\xff")
    assert to_bytes(msgspec.json.decode(written, type=Bytes)) == data


def test_modules_may_be_left_out(project: Project, file: Path) -> None:
    """Without its module a recording is replayed with the file that ran, and with no other."""
    project.run_gene("traps", {}, record=Recorder(file, with_modules=False))
    artefact = project.root / "genes" / "traps" / "gene.ir.wasm"
    with pytest.raises(RecordingError, match="does not hold the module of traps") as caught:
        replay(file)
    assert caught.value.code == "RECORDING_NO_MODULE"
    with pytest.raises(RecordingError, match="does not hold the module of traps"):
        replay(file, modules=[project.root / "genes" / "hello" / "gene.ir.wasm"])
    assert replay(file, modules=[artefact]).same
    with pytest.raises(UsageError, match="there is no file"):
        replay(file, modules=[file.parent / "none.wasm"])
    with pytest.raises(UsageError, match="Is a directory"):
        replay(file, modules=[file.parent])


def test_the_file_is_private_and_replaced(project: Project, file: Path) -> None:
    """Only its owner may read a recording; one of that name goes."""
    file.write_text("old", encoding="utf-8")
    project.run_gene("traps", {}, record=Recorder(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_recording(file).parts[0].gene == "traps"


def test_nothing_is_written_for_a_run_that_does_not_begin(project: Project, file: Path) -> None:
    """A gene that cannot run leaves no recording."""
    (project.root / "genes" / "traps" / "gene.ir.wasm").unlink()
    with pytest.raises(GeneError):
        project.run_gene("traps", {}, record=Recorder(file))
    assert not file.exists()


def test_a_path_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    """Before the run, not after it."""
    for path, reason in ((tmp_path, "is a folder"), (tmp_path / "no" / "run.rec", "there is no folder")):
        with pytest.raises(UsageError, match=reason):
            Recorder(path)
