"""Shortcuts under measurement: timed where bare runs have them, with what they leave to the handler."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable

import pytest

from rotifer_host.bench import probe, stages
from rotifer_host.bench.probe import Probe, Shape
from rotifer_host.bench.stages import HANDLER_STAGES, Overhead, Record, Recorder
from rotifer_host.memory.ordinary import READ
from rotifer_host.sandbox import Run

_shortcuts = pytest.importorskip("rotifer_host.bench._shortcuts", reason="there is no C compiler, so no shortcut")

SHAPE = Shape(17, 590, "shortcut")
WHICH = ("native", "call")


class Recorded(Probe):
    """A probe whose function has this shortcut, and whose handler is recorded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, recorder: Recorder, shortcut: object) -> None:
        monkeypatch.setattr(probe, "fill", shortcut)
        self._recorded = recorder.handler(*WHICH, super()._answer)
        super().__init__("native")

    def _answer(self, run: Run, request: bytes, out_cap: int) -> bytes:
        answer: bytes = self._recorded(run, request, out_cap)
        return answer


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each look at the clock one nanosecond later than the one before."""
    clock = itertools.count()
    monkeypatch.setattr(stages, "perf_counter_ns", lambda: next(clock))


def distinct(calls: list[Record]) -> list[dict[str, float]]:
    """Return the stages of calls, of equal ones once."""
    different = {each.corrected(Overhead()) for each in calls}
    return [{stage: nanos for stage, nanos in zip(HANDLER_STAGES, each, strict=True) if nanos} for each in different]


@pytest.mark.usefixtures("ticks")
def test_an_answer_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call that the shortcut answers is one of its own, all in the stage `shortcut`, and never the handler's."""
    recorder = Recorder()
    recorded = Recorded(monkeypatch, recorder, recorder.shortcut(*WHICH, _shortcuts.fill))
    recorder.next_run()
    sample = recorded.sample(SHAPE)
    calls = recorder.calls[WHICH]
    assert (distinct(calls.shortcuts), calls.handled, calls.refused) == ([{"shortcut": 1}], [], 0)
    assert len(calls.shortcuts) >= sample.calls
    recorder.next_run()
    assert calls.shortcuts == []


@pytest.mark.usefixtures("ticks")
@pytest.mark.skipif(READ is None, reason="there is no C compiler, so no shortcut")
def test_what_is_left_to_the_handler_is_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shortcut that does not answer has its time in the call that the handler answers, and in no other."""
    recorder = Recorder()
    recorded = Recorded(monkeypatch, recorder, recorder.shortcut(*WHICH, READ))
    recorder.next_run()
    recorded.sample(SHAPE)
    calls = recorder.calls[WHICH]
    assert (distinct(calls.handled), calls.shortcuts, calls.refused) == ([{"rules": 1, "shortcut": 1}], [], 0)


@pytest.mark.usefixtures("ticks")
def test_seams_inside_a_shortcut_keep_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shortcut calls Python for is in the stage of that, and outside of calls there is nothing of it."""
    recorder = Recorder()
    sync = recorder.timed("sync", lambda: None)
    inner = recorder.shortcut(*WHICH, _shortcuts.timed(_shortcuts.fill, sync, lambda _answered: None))
    Recorded(monkeypatch, recorder, inner).sample(SHAPE)
    assert distinct(recorder.calls[WHICH].shortcuts) == [{"shortcut": 2, "sync": 1}]
    assert set(recorder.outside()) == {0.0}


def fail(*_arguments: object) -> None:
    """Be wrong."""
    raise LookupError


@pytest.mark.parametrize(
    ("enter", "leave"), [(fail, lambda _answered: None), (lambda: None, fail)], ids=["enter", "leave"]
)
def test_a_mistake_in_timing_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, enter: Callable[[], None], leave: Callable[[bool | None], None]
) -> None:
    """An exception from what is called around a shortcut ends the run and is raised, before and after the answer."""
    with pytest.raises(LookupError):
        Recorded(monkeypatch, Recorder(), _shortcuts.timed(_shortcuts.fill, enter, leave)).sample(SHAPE)


def test_what_times_is_freed_with_its_shortcut() -> None:
    """Timing keeps alive what it times, and what it calls, and lets go of them with itself."""

    class Called:
        def __call__(self, *_told: object) -> None:
            """Take what it is told."""

    called = Called()
    seen = weakref.ref(called)
    timed = _shortcuts.timed(_shortcuts.fill, called, called)
    del called
    assert seen() is not None
    del timed
    assert seen() is None


@pytest.mark.parametrize("shortcut", [None, fail, object()])
def test_what_is_no_shortcut_cannot_be_timed(shortcut: object) -> None:
    """Anything but a capsule of shortcuts is refused."""
    with pytest.raises(ValueError, match="PyCapsule"):
        _shortcuts.timed(shortcut, fail, fail)
