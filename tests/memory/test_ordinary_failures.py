"""Files that are damaged, full, closed or taken: the same refusal, and nothing half done, whoever answers."""

from __future__ import annotations

import gc
import itertools
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from tests.memory.differences import compare
from tests.memory.patience import Passed
from tests.memory.twins import (
    AGENT,
    BUILT,
    DURABILITIES,
    PATHS,
    A,
    B,
    Call,
    End,
    Ended,
    Ran,
    Step,
    Twin,
    Twins,
    amid,
    deleting,
    outcome,
    paired,
    reading,
    writing,
)
from tests.torture.countdown import NEVER, Countdown, Mode

from rotifer_host.contract import STORAGE_ERROR
from rotifer_host.lock import FileLock, Wait
from rotifer_host.memory import Caller, DataPolicy, Durability
from rotifer_host.memory.trail import Trail
from rotifer_host.sandbox import Deadline, available_call_paths


@pytest.fixture
def twins(spoilt_twins: Twins) -> Twins:
    """Give both memories with two entries."""
    return spoilt_twins


@DURABILITIES
def test_a_full_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Durability) -> None:
    """Writes are refused from some row on; reads go on, deletes make room, and what did not fit has left nothing."""
    monkeypatch.setattr("rotifer_host.store.environment.map_size", lambda _quota: 200_000)
    steps: list[Step] = []
    for number in range(60):
        steps += [writing(f"{number:04}", "AAAA" * (300 + number)), reading(f"{number:04}")]
    again: list[Step] = [*[deleting(f"{number:04}") for number in range(20)], *steps[:40], writing("k"), reading("k")]
    with paired(tmp_path) as twins:
        for twin in twins.twins:
            twin.watched = False
        runs = []
        for chunk in itertools.batched(steps, 6) if hasattr(itertools, "batched") else _chunks(steps, 6):
            runs += twins.run((A, list(chunk)), durability=durability)
        runs += twins.run((B, again), durability=durability)
        assert -13 in [result for ran in runs for result in ran.results]
        assert twins.took_shortcuts()
        assert twins.each(lambda twin: twin.problems()) == []


def _chunks(steps: list[Step], size: int) -> Iterator[list[Step]]:
    return (steps[at : at + size] for at in range(0, len(steps), size))


def _folder_for_log(twin: Twin) -> None:
    twin.log.path.rename(twin.folder / "kept")
    twin.log.path.mkdir()


def _log_again(twin: Twin) -> None:
    twin.log.path.rmdir()
    (twin.folder / "kept").rename(twin.log.path)


@contextmanager
def _largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


STEPS: Final[list[Step]] = [
    writing("k", "AAAA"),
    reading("k"),
    writing("new"),
    reading("new"),
    deleting("l"),
    reading("l"),
]


@DURABILITIES
def test_a_folder_in_the_place_of_the_log(twins: Twins, durability: Durability) -> None:
    """No change is made that cannot be told; those of a run are lost at its end, or when too many lines wait."""
    many: list[Step] = [writing(f"k{number}") for number in range(260)]
    for end in get_args(End):
        runs = twins.run((A, [_folder_for_log, *STEPS, _log_again, *STEPS]), durability=durability, end=end)
        assert (-13 in runs[0].results) == (durability == "call")
        twins.each(_folder_for_log)
        twins.run((A, STEPS), durability=durability, end=end)
        for twin in twins.twins:
            twin.watched = False
        if durability == "run":
            (ran,) = twins.run((A, [*many, _log_again, *STEPS]), durability=durability, end=end)
            assert ran.results.count(-13) == 4
        else:
            twins.each(_log_again)
    assert twins.took_shortcuts()
    assert twins.each(lambda twin: twin.problems()) == []


@DURABILITIES
@pytest.mark.parametrize("room", [0, 1, 100, 500, 900, 1500])
def test_a_log_that_may_not_grow(twins: Twins, durability: Durability, room: int) -> None:
    """A line that fits half is taken back; the next one is whole when there is room again."""
    for twin in twins.twins:
        with twin.log.path.open("ab") as file:  # longer than the memory's file, which may grow
            file.write(b'{"action":"a line of another program","padding":"' + b"x" * 1_000_000 + b'"}\n')

    limited: list[Any] = []

    def limit(twin: Twin) -> None:
        limited.append(_largest_file(twin.log.path.stat().st_size + room))
        limited[-1].__enter__()

    def unlimit(_twin: Twin) -> None:
        limited.pop().__exit__(None, None, None)

    for end in get_args(End):
        many: list[Step] = (
            [writing("m", "AAAA" * 100)] * 5
            if durability == "call"
            else [writing(f"k{number}") for number in range(257)]
        )
        for twin in twins.twins:
            twin.watched = False
        runs = twins.run((A, [limit, *STEPS, *many, unlimit, *STEPS]), (B, STEPS), durability=durability, end=end)
        assert -13 in runs[0].results
    assert twins.took_shortcuts()
    assert twins.each(lambda twin: twin.problems()) == []


@DURABILITIES
def test_files_that_may_not_grow(twins: Twins, durability: Durability) -> None:
    """The memory's own file too, whose failed commit is taken back in the log."""
    limited: list[Any] = []

    def limit(_twin: Twin) -> None:
        limited.append(_largest_file(8192))
        limited[-1].__enter__()

    def unlimit(_twin: Twin) -> None:
        limited.pop().__exit__(None, None, None)

    steps: list[Step] = [limit, *STEPS, unlimit, *STEPS]
    for _ in range(2):
        twins.run((A, steps), (B, STEPS), durability=durability)
    twins.run((A, STEPS), durability=durability)
    assert twins.took_shortcuts()
    assert twins.each(lambda twin: twin.problems()) == []


@DURABILITIES
@pytest.mark.parametrize("elsewhere", [False, True], ids=["nowhere else", "open elsewhere"])
def test_a_store_that_is_closed(twins: Twins, durability: Durability, *, elsewhere: bool) -> None:
    """Between two calls, or amid one: what is closed answers nothing, though the file may be open in this process."""

    def close(twin: Twin) -> None:
        twin.watched = False
        twin.store.close()

    look: list[Step] = [reading("k"), reading("k")]
    for between, written in itertools.product([close, amid(close)], [[], [writing("k")]]):
        for call in (reading("k"), writing("k", "AAAA"), writing("new"), reading("none")):
            others = [twin.open() for twin in twins.twins] if elsewhere else []
            steps: list[Step] = [*look, *written, *look, between, call, *look, writing("k")]
            if not elsewhere and written and durability == "run":
                steps = [*look, between, call, *look]  # a held change must end before its file is closed
            twins.run((A, steps), durability=durability)
            for twin in twins.twins:
                twin.store = twin.open()
                twin.watched = True
            for store in others:
                store.close()
    assert twins.took_shortcuts()


def test_a_store_that_what_a_write_calls_closes(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever Python runs amid a write, it may close the file: what was seen of it is not looked at again."""
    members = Trail.members

    def closing(trail: Trail, action: str, caller: Caller | None) -> str:
        for twin in twins.twins:
            if twin.memory._trail is trail:
                twin.watched = False
                twin.store.close()
        return members(trail, action, caller)

    for call in (writing("k", "AAAA"), writing("new", "AAAA")):
        with monkeypatch.context() as patched:
            patched.setattr(Trail, "members", closing)
            for twin in twins.twins:  # not as twins: what a call is charged until then differs
                twin.deadline = Deadline(60_000)
                twin.memory = twin.use("call", twin.deadline)
                assert twin.run(A, [call], fuel=1 << 40).results == [STORAGE_ERROR]
                twin.store = twin.open()


@contextmanager
def _closing_at_collection(twin: Twin, number: int) -> Iterator[Callable[[Twin], None]]:
    """Give a step from which on garbage is collected whenever it can be, and the store closed at this collection."""
    left = itertools.count(number, -1)
    threshold = gc.get_threshold()

    def collect(phase: str, _info: object) -> None:
        if phase == "start" and next(left) == 0:
            gc.set_threshold(*threshold)
            twin.store.close()

    def arm(_twin: Twin) -> None:
        gc.callbacks.append(collect)
        gc.set_threshold(1, 1000, 1000)

    try:
        yield arm
    finally:
        gc.set_threshold(*threshold)
        with suppress(ValueError):
            gc.callbacks.remove(collect)


@pytest.mark.parametrize("call", [reading("k"), writing("k", "AAAA"), writing("new")], ids=["read", "update", "create"])
def test_a_store_that_a_collection_of_garbage_closes(twins: Twins, call: Call) -> None:
    """Wherever amid a call a finalizer closes the file: nothing of it is looked at again, and no lock stays."""
    for number, twin in itertools.product(range(12), twins.twins):
        twin.watched = False
        twin.deadline = Deadline(60_000)
        twin.memory = twin.use("call", twin.deadline)
        environment = twin.store._environment
        assert environment is not None
        with _closing_at_collection(twin, number) as arm:
            (result,) = twin.run(A, [amid(arm), call], fuel=1 << 40).results
        assert result > 0 or result == STORAGE_ERROR
        assert not environment.lock._thread_lock.locked()
        twin.store.close()
        twin.store = twin.open()
        assert twin.problems() == []


@DURABILITIES
@pytest.mark.parametrize("which", ["memory", "log"])
def test_a_lock_that_others_hold(twins: Twins, durability: Durability, which: str) -> None:
    """A call waits for it as long as its run may, and changes nothing then; a read waits for none."""
    locks: list[FileLock] = []

    def lock(twin: Twin) -> None:
        path = twin.memory_path if which == "memory" else twin.log.path
        locks.append(FileLock(path.with_name(f"{AGENT}.lock") if which == "memory" else path.with_suffix(".lock")))
        locks[-1].acquire(Wait())
        twin.memory._changes._deadline = Passed()

    def unlock(_twin: Twin) -> None:
        locks.pop().release()

    steps: list[Step] = [reading("k"), reading("k"), lock, *STEPS, unlock, *STEPS]
    if which == "log" or durability == "call":
        steps = [writing("l"), *steps]
    (ran,) = twins.run((A, steps), durability=durability)
    assert (-4 in ran.results) == (which == "memory" or durability == "call")
    assert twins.took_shortcuts()


def test_a_clock_that_fails(twins: Twins) -> None:
    """What it raises ends the run, and is raised."""

    def fail(_twin: Twin) -> None:
        message = "the clock cannot be read"
        raise OSError(message)

    for durability in get_args(Durability):
        for call in (reading("k"), writing("k", "AAAA"), Call("writeMemory", b"?")):
            (ran,) = twins.run(
                (A, [reading("k"), writing("k"), amid(fail), call, writing("never")]), durability=durability
            )
            assert ran.ended == Ended("raised", (OSError, "the clock cannot be read")) or call.request == b"?"
    assert twins.took_shortcuts()


KINDS: Final = ("lmdb put", "lmdb del", "lmdb commit", "write", "fdatasync", "flock", "stat")
FAULTS: Final[list[tuple[Mode, str | None]]] = [
    *[("once", kind) for kind in KINDS],
    *[("from then on", kind) for kind in KINDS[:4]],
    ("short", None),
]


@DURABILITIES
@pytest.mark.parametrize(("mode", "kind"), FAULTS)
def test_the_nth_operation_fails(tmp_path: Path, durability: Durability, mode: Mode, kind: str | None) -> None:
    """Of each kind of operation that a change consists of, each one in turn."""
    if PATHS[0] not in available_call_paths():
        pytest.skip("the native call path is not built here: there was no C compiler")
    hits = 1
    for number in itertools.count(1):
        seen = []
        for call_path in PATHS:
            folder = tmp_path / str(number) / call_path
            folder.mkdir(parents=True)
            countdown = Countdown(NEVER, mode, kind)
            twin, ran = _counted(folder, call_path, durability, countdown, number)
            seen.append((ran, twin.kept(), twin.problems()))
            twin.close()
            hits = countdown.hits.total()
        compare(f"number {number}", *seen)
        if hits == 0:
            break
    assert number > 1


@DURABILITIES
@pytest.mark.parametrize("call_path", available_call_paths())
@pytest.mark.parametrize("kind", ["lmdb get", "lmdb txn_begin"])
def test_the_nth_look_fails(tmp_path: Path, durability: Durability, kind: str, call_path: str) -> None:
    """C looks at other times than the Python rules: one call is refused, or none, and nothing else comes of it."""
    for number in itertools.count(1):
        folder = tmp_path / str(number)
        folder.mkdir()
        countdown = Countdown(NEVER, "once", kind)
        twin, seen = _counted(folder, call_path, durability, countdown, number)
        for ran in seen:
            if isinstance(ran, Ran):
                assert ran.ended == Ended("ok")
                assert [result for result in ran.results if result < 0] in ([], [-13])
        assert twin.problems() == []
        twin.close()
        if countdown.hits.total() == 0:
            break
    assert number > 1


def _counted(
    folder: Path, call_path: str, durability: Durability, countdown: Countdown, number: int
) -> tuple[Twin, list[object]]:
    """Make two runs on a memory whose `number`-th operation fails; return it, opened again, and what came of them."""
    with countdown.armed():
        twin = Twin(folder, call_path, quota=1 << 20, policy=DataPolicy(), pages=2)
        twin.watched = False
        countdown.left = number
        ran = _two_runs(twin, durability)
        countdown.left = NEVER
        twin.close()
    twin.store = twin.open()
    return twin, ran


def _two_runs(twin: Twin, durability: Durability) -> list[object]:
    steps: list[Step] = [writing("k"), reading("k"), writing("k", "AAAA"), writing("k", "", "PATTERN"), writing("l")]
    seen: list[object] = []
    for caller in (A, B):
        twin.deadline = Deadline(60_000)
        twin.memory = twin.use(durability, twin.deadline)
        seen.append(twin.run(caller, [*steps, reading("l"), *steps], fuel=1 << 40))
        seen.append(outcome(lambda twin: twin.memory.finish(), twin))
    assert twin.shortcuts > 0 or twin.call_path != PATHS[0] or not BUILT
    return seen


_OTHER: Final = """
import _xxsubinterpreters
import rotifer_host.agent.memory_calls
other = _xxsubinterpreters.create(isolated=False)
_xxsubinterpreters.run_string(other, '''
from rotifer_host.agent.memory_calls import memory_functions
assert [function.shortcut for function in memory_functions()] == [None] * 4
''')
_xxsubinterpreters.destroy(other)
print("both")
"""


def test_another_interpreter_has_no_shortcut() -> None:
    """There is one of it in a process; what is there without it works."""
    pytest.importorskip("_xxsubinterpreters", reason="this Python has no module of this name to make interpreters")
    done = subprocess.run([sys.executable, "-c", _OTHER], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "both\n"), done.stderr
