"""A replay says where a run first parts from its recording, and refuses files that are none."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Project, Recorder, replay
from rotifer_host.errors import RecordingError
from rotifer_host.record import Recording

Change = Callable[[dict[str, Any]], None]


def change(file: Path, edit: Change) -> None:
    """Rewrite a recording."""
    document = json.loads(file.read_bytes())
    edit(document)
    file.write_text(json.dumps(document), encoding="utf-8")


def named(name: str, edit: Change) -> Change:
    """Name an edit, for the list of tests."""
    edit.__name__ = name
    return edit


def set_event(**members: Any) -> Change:
    """Return an edit of the first event."""
    return named(f"event{members}", lambda document: document["parts"][0]["events"][0].update(members))


def set_outcome(**members: Any) -> Change:
    """Return an edit of the outcome."""
    return named(f"outcome{members}", lambda document: document["parts"][0]["outcome"].update(members))


def drop_events(document: dict[str, Any]) -> None:
    """Record no call at all."""
    document["parts"][0]["events"] = []


def repeat_event(document: dict[str, Any]) -> None:
    """Record each call twice."""
    document["parts"][0]["events"] *= 2


TRAP = {"code": "TRAP", "message": "x", "backtrace": []}


@pytest.mark.parametrize(
    ("edit", "call", "what", "at"),
    [
        (set_event(request='{"key":"formatter/other"}'), 1, "request", 18),
        (set_event(request={"base64": "/w=="}), 1, "request", 0),
        (set_event(outCap=7), 1, "out_cap", None),
        (set_event(function="rotifer.readMemory"), 1, "function", None),
        (set_event(request=None, outCap=None, response=None, result=-2), 1, "refusal", None),
        (drop_events, 1, "function", None),
        (repeat_event, 2, "function", None),
        (set_event(result=None, response=None), None, "status", None),
        (
            set_event(response=None, result=-8, refusal={"result": -8, "code": "MEMORY_QUOTA_EXCEEDED", "message": ""}),
            None,
            "status",
            None,
        ),
        (set_outcome(status="failed", error=TRAP), None, "status", None),
        (set_outcome(output='{"formatted":"a"}'), None, "output", 15),
        (set_outcome(log="said"), None, "log", 0),
        (set_outcome(stderr="said"), None, "stderr", 0),
        (set_outcome(logDropped=1), None, "log", None),
        (set_outcome(answers={"writeMemory": {"ok": 2}}), None, "answers", None),
        (set_outcome(peakMemoryBytes=65536), None, "memory", None),
    ],
)
def test_the_first_difference_is_named(  # noqa: PLR0913 - a table
    formatter: Recording, file: Path, call_path: str, edit: Change, *, call: int | None, what: str, at: int | None
) -> None:
    """Which gene, which call or the end, what, and for bytes from where."""
    assert formatter.parts[0].gene == "formatter"
    change(file, edit)
    again = replay(file, call_path=call_path)
    assert not again.same
    difference = again.difference
    assert difference is not None
    assert (difference.gene, difference.part, difference.call, difference.what, difference.at) == (
        "formatter",
        1,
        call,
        what,
        at,
    )
    assert difference.recorded != difference.now


def test_arguments_of_the_machines_functions_are_compared(project: Project, file: Path, call_path: str) -> None:
    """A guest that asks for other randomness differs there; an answer that is another shows in the output."""
    project.run_gene("machine", {}, record=Recorder(file))
    original = file.read_bytes()
    change(file, set_event(arguments=[100, 17]))
    difference = replay(file, call_path=call_path).difference
    assert difference is not None
    assert (difference.call, difference.what, difference.recorded, difference.now) == (
        1,
        "arguments",
        "(100, 17)",
        "(100, 16)",
    )
    file.write_bytes(original)
    change(file, set_event(written=[{"at": 100, "data": "0123456789abcdef"}]))
    difference = replay(file, call_path=call_path).difference
    assert difference is not None
    assert (difference.call, difference.what) == (None, "output")


def test_fuel_is_told_and_not_compared(formatter: Recording, file: Path) -> None:
    """Another version of the engine counts other figures."""
    assert formatter.parts[0].outcome is not None
    change(file, set_outcome(fuel=1))
    (part,) = replay(file).parts
    assert (part.difference, part.fuel_recorded) == (None, 1)
    assert part.fuel == formatter.parts[0].outcome.fuel


def test_a_replay_stops_at_the_first_part_that_differs(project: Project, file: Path) -> None:
    """Later genes are not run: what they got may follow from the difference."""
    project.create_agent("both", ["counter", "formatter"]).run({}, record=Recorder(file))
    change(file, set_outcome(log="said"))
    (part,) = replay(file).parts
    assert part.gene == "counter"


def test_a_run_that_the_host_ended_in_the_middle_can_be_replayed(formatter: Recording, file: Path) -> None:
    """A recording without an outcome, of a host that failed, is replayed as far as it goes."""
    assert formatter.parts

    def end_in_the_call(document: dict[str, Any]) -> None:
        document["parts"][0]["outcome"] = None
        document["parts"][0]["events"][0].update(result=None, response=None)

    change(file, end_in_the_call)
    (part,) = replay(file).parts
    assert (part.calls, part.difference) == (1, None)


def set_member(**members: Any) -> Change:
    """Return an edit of the recording's own members."""
    return named(f"{members}", lambda document: document.update(members))


def other_module(document: dict[str, Any]) -> None:
    """Put other bytes in the place of the module."""
    document["modules"][0]["zlib"] = base64.b64encode(zlib.compress(b"\0asm\1\0\0\0")).decode()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_member(v=2), "has format version 2; this host reads 1"),
        (set_member(v=True), "has format version True"),
        (set_member(format="other"), "is not a recording of a run"),
        (set_member(more=1), "is damaged: .*unknown field `more`"),
        (set_member(parts=[{}]), r"is damaged: .*missing required field `gene`.*\$.parts\[0\]"),
        (set_member(modules=[]), r"is damaged: parts\[0\] names a module that it does not list"),
        (
            set_member(limits={"fuel": 0, "deadlineMs": 1, "memoryBytes": 1, "hostTimeMs": 1}),
            "is damaged: limit fuel must be a whole number",
        ),
        (lambda document: document["modules"][0].update(zlib="AAAA"), "module .* is damaged: Error -3"),
        (other_module, "module .* is damaged: its digest is another one"),
        (set_event(result=7, refusal={"result": 7, "code": "X", "message": ""}), "is damaged: it holds the result 7"),
        (set_event(event="other"), "is damaged: Invalid value 'other'"),
    ],
)
def test_damaged_recordings_are_refused(formatter: Recording, file: Path, edit: Change, message: str) -> None:
    """Format, version, members, modules and results are checked, and the error says what is wrong."""
    assert formatter.parts
    change(file, edit)
    with pytest.raises(RecordingError, match=message):
        replay(file)


def test_results_that_no_host_gives_are_refused(project: Project, file: Path, call_path: str) -> None:
    """A number that the guest's i32 cannot hold never reaches the engine."""
    project.run_gene("machine", {}, record=Recorder(file))
    for result in (1 << 40, -1):
        change(file, set_event(result=result))
        with pytest.raises(RecordingError, match=f"it holds the result {result}"):
            replay(file, call_path=call_path)


@pytest.mark.parametrize("cut", [0, 1, 30, 700, -2])
def test_cut_off_recordings_are_refused(formatter: Recording, file: Path, cut: int) -> None:
    """A file that lost its end is no recording, wherever it was cut."""
    assert formatter.parts
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(RecordingError, match=r"is damaged or cut off|is not a recording of a run"):
        replay(file)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\0asm\1\0\0\0", b"\xff\xfe", b"[" * 100_000, b"1"])
def test_foreign_files_are_refused(file: Path, data: bytes) -> None:
    """What is no recording is called that, and not damaged."""
    file.write_bytes(data)
    with pytest.raises(RecordingError, match="is not a recording of a run"):
        replay(file)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    """A missing file and a folder are named with the system's reason."""
    for path, reason in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(RecordingError, match=reason):
            replay(path)
