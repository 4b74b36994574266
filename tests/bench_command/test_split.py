"""Where a call's time goes: each stage is seen where it happens, on every call path, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rotifer_host import contract
from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.bench import STAGES, CallReport, PathReport, Report, measurement, summary
from rotifer_host.bench.runner import Observed
from rotifer_host.sandbox import available_call_paths

HAPPENING = {
    "readMemory": {"boundary", "decode", "rules", "store"},
    "writeMemory": {"boundary", "decode", "rules", "store", "audit", "sync", "render"},
    "queryMemory": {"boundary", "decode", "rules", "store"},
    "deleteMemory": {"boundary", "decode", "rules", "store", "audit", "sync"},
}
SHORTCUTS = {function.label for function in memory_functions() if function.shortcut is not None}
"""What has one: nothing where there was no C compiler."""
BY_SHORTCUT = {
    "readMemory": {"boundary", "shortcut"},
    "writeMemory": {"boundary", "store", "audit", "sync", "shortcut"},
}
NOT_BY_SHORTCUT = {"decode", "rules", "render"}
NEVER = {
    "readMemory": {"audit", "sync"},
    "writeMemory": {"again"},
    "queryMemory": {"audit", "sync", "again"},
    "deleteMemory": {"render", "again"},
}


@pytest.fixture(params=available_call_paths())
def path(request: pytest.FixtureRequest, reports: dict[str, Report]) -> PathReport:
    """Each call path of the measurement with durability `call`."""
    (found,) = [each for each in reports["call"].paths if each.call_path == request.param]
    return found


def has_shortcut(path: PathReport, label: str) -> bool:
    """Tell whether ordinary calls of a function are answered by its shortcut on a call path."""
    return path.call_path == "native" and label in SHORTCUTS


@pytest.mark.parametrize("label", HAPPENING)
def test_each_stage_is_seen_where_it_happens(path: PathReport, label: str) -> None:
    """A stage that a call goes through has taken time, one that it cannot go through has not."""
    by_shortcut = has_shortcut(path, label)
    happening = BY_SHORTCUT[label] if by_shortcut else HAPPENING[label]
    never = NEVER[label] | (NOT_BY_SHORTCUT if by_shortcut else {"shortcut"})
    stages = path.calls[label].stages
    assert tuple(stages) == STAGES
    assert {stage for stage, split in stages.items() if split.mean > 0} >= happening
    assert {stage for stage in never if stages[stage].mean} == set()


@pytest.mark.parametrize("label", HAPPENING)
def test_parts_and_rest_add_up_to_the_whole(path: PathReport, label: str) -> None:
    """The rest is exactly what the stages leave of the measured call, whatever its sign."""
    call = path.calls[label]
    assert sum(split.mean for split in call.stages.values()) + call.rest == pytest.approx(call.micros.median, abs=1e-3)


def test_calls_are_counted_as_they_were_made(path: PathReport) -> None:
    """Counts, errors and bytes are those of one run; a refusal before the handler is no repeated answer."""

    def figures(call: CallReport) -> tuple[object, ...]:
        return call.count, call.errors, call.bytes_in

    assert {label: figures(call) for label, call in path.calls.items()} == {
        "readMemory": (11, {"-10": 1}, pytest.approx(10 * 17 / 11, abs=0.1)),
        "writeMemory": (1, {}, 51),
        "queryMemory": (1, {}, 0),
        "deleteMemory": (2, {"-12": 1}, 20),
    }
    read = path.calls["readMemory"]
    assert read.again <= 9  # of ten equal reads one at least asks the handler
    assert read.fuel == pytest.approx(
        contract.CALL_BASE_FUEL + contract.CALL_FUEL_PER_BYTE * (read.bytes_in + read.bytes_out), abs=2
    )


def test_repeated_answers_have_a_stage_of_their_own(path: PathReport) -> None:
    """The stage `again` is there exactly when calls were answered without their handler."""
    read = path.calls["readMemory"]
    assert (read.stages["again"].mean > 0) == (read.again > 0)


@pytest.mark.parametrize("label", HAPPENING)
def test_calls_answered_by_a_shortcut_are_counted(path: PathReport, label: str) -> None:
    """Every call that may be is answered by the shortcut, but for what is refused before it or was answered already."""
    call = path.calls[label]
    refused_before = 1 if label == "readMemory" else 0
    assert call.shortcuts == (call.count - refused_before - call.again if has_shortcut(path, label) else 0)


def test_split_runs_are_answered_as_bare_runs_are(
    measured: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every call path timing the seams leaves to the handler what bare runs leave to it, and nothing else."""
    seen: dict[str, set[tuple[int, int]]] = {}

    class Watched(summary.Sampled):
        def add_bare(self, observed: Observed) -> None:
            self.note(observed)
            super().add_bare(observed)

        def add_split(self, observed: Observed) -> None:
            self.note(observed)
            super().add_split(observed)

        def note(self, observed: Observed) -> None:
            for label, stats in observed.calls.items():
                seen.setdefault(f"{self.call_path} {label}", set()).add((stats.count, stats.shortcuts))

    monkeypatch.setattr(measurement, "Sampled", Watched)
    measured("every", call_paths=available_call_paths())
    assert {each: len(figures) for each, figures in seen.items() if len(figures) != 1} == {}
    assert len(seen) == len(available_call_paths()) * len(HAPPENING)


def test_a_refusal_by_the_shortcut_is_no_repeated_answer(measured: Callable[..., Report]) -> None:
    """A response that does not fit is an error of that call, on the call path that the shortcut answers too."""
    for path in measured("cramped", call_paths=available_call_paths()).paths:
        read = path.calls["readMemory"]
        assert (read.count, read.errors, read.again) == (2, {str(contract.BUFFER_TOO_SMALL): 1}, 0)
        assert read.shortcuts == (2 if has_shortcut(path, "readMemory") else 0)


def test_percentiles_are_in_order(path: PathReport) -> None:
    """Half of the calls take no longer than nine tenths, and those no longer than ninety-nine hundredths."""
    for call in path.calls.values():
        assert call.percentiles is not None
        assert 0 < call.percentiles.p50 <= call.percentiles.p90 <= call.percentiles.p99


def test_durability_run_waits_for_the_disk_at_the_end(reports: dict[str, Report]) -> None:
    """With durability `run` no call waits for the disk, and the saving at the end does."""
    for path in reports["run"].paths:
        assert [label for label, call in path.calls.items() if call.stages["sync"].mean] == []
        assert path.end["sync"] > 0


def test_durability_call_leaves_nothing_for_the_end(reports: dict[str, Report]) -> None:
    """What calls wait for, how long their responses stay right included, is none of what a run saves at its end."""
    assert [path.end for path in reports["call"].paths if path.end] == []


def test_every_call_path_is_measured_fastest_first(reports: dict[str, Report]) -> None:
    """Without a choice all call paths are measured, in the order of their speed."""
    assert [path.call_path for path in reports["call"].paths] == available_call_paths()
