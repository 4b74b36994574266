"""Time by stage: nested, exclusive, and with its own cost taken off."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from rotifer_host.bench import stages
from rotifer_host.bench.stages import HANDLER_STAGES, Overhead, Recorder, calibrate


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each look at the clock one nanosecond later than the one before."""
    clock = itertools.count()
    monkeypatch.setattr(stages, "perf_counter_ns", lambda: next(clock))


def spent(recorder: Recorder) -> dict[str, float]:
    """Return the stages of the one call that was recorded."""
    (record,) = recorder.calls["path", "call"].handled
    nanos = record.corrected(recorder.overhead)
    return {stage: value for stage, value in zip(HANDLER_STAGES, nanos, strict=True) if value}


@pytest.mark.usefixtures("ticks")
def test_time_belongs_to_the_innermost_stage() -> None:
    """A stage inside another takes its time from it, and gives it back when it ends."""
    recorder = Recorder()
    sync = recorder.timed("sync", lambda: None)
    audit = recorder.timed("audit", sync)
    recorder.handler("path", "call", lambda: (audit(), sync()))()
    # each stretch between two edges is one look at the clock
    assert spent(recorder) == {"rules": 3, "audit": 2, "sync": 2}


@pytest.mark.usefixtures("ticks")
def test_steps_of_an_iterator_belong_to_its_stage() -> None:
    """What a walk does when it is stepped is its stage's; what is done with each item is not."""

    def walk() -> Iterator[int]:
        yield from (1, 2)

    recorder = Recorder()
    timed = recorder.timed("store", walk)
    seen: list[int] = []
    recorder.handler("path", "call", lambda: seen.extend(timed()))()
    assert seen == [1, 2]
    # the call that makes the walk, two items, and the end
    assert spent(recorder)["store"] == 4


@pytest.mark.usefixtures("ticks")
def test_the_cost_of_timing_is_subtracted_where_it_falls() -> None:
    """The inside cost comes off the stage that is entered, the outside cost off the one it is entered from."""
    recorder = Recorder(Overhead(inside=0.25, around=0.5))
    store = recorder.timed("store", lambda: None)
    recorder.handler("path", "call", lambda: (store(), store()))()
    assert spent(recorder) == {"rules": 3 - 0.25 - 2 * 0.5, "store": 2 * (1 - 0.25)}


@pytest.mark.usefixtures("ticks")
def test_how_long_a_response_stays_right_is_asked_within_its_call() -> None:
    """What is asked after the handler is a part of the call it answered, and lies not outside of calls."""
    recorder = Recorder()
    store = recorder.timed("store", lambda: None)
    recorder.handler("path", "call", lambda: None)()
    assert recorder.unchanged_until("path", "call", lambda _run: store())(None) is None
    assert spent(recorder) == {"rules": 1 + 2, "store": 1}
    assert set(recorder.outside()) == {0.0}


def test_what_lies_outside_of_calls_is_kept_apart() -> None:
    """Stages of the end of a run do not count for any call, and a new run starts with nothing."""
    recorder = Recorder()
    sync = recorder.timed("sync", lambda: sum(range(1000)))
    recorder.handler("path", "call", lambda: None)()
    sync()
    assert "sync" not in spent(recorder)
    assert dict(zip(HANDLER_STAGES, recorder.outside(), strict=True))["sync"] > 0
    recorder.next_run()
    assert set(recorder.outside()) == {0.0}
    assert recorder.calls["path", "call"].handled == []


def test_a_refusal_is_recorded_and_raised() -> None:
    """A handler that raises is timed all the same, counted as a refusal, and its error goes on its way."""
    recorder = Recorder()

    def refuse() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        recorder.handler("path", "call", refuse)()
    calls = recorder.calls["path", "call"]
    assert (len(calls.handled), calls.refused) == (1, 1)


def test_calibration_finds_a_cost() -> None:
    """Timing a seam is never free, and the calibration sees both parts of what it costs."""
    overhead = calibrate()
    assert overhead.inside > 0
    assert overhead.around > 0
