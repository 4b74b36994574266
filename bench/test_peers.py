"""The peers do the work they are timed at, and the comparison says what it found."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.contest import EXTISM, FLOOR, FLOOR_HELD, ORDINARY, Contest, open_contest
from bench.measure import Spread, Timings, time_case
from bench.report import case_table, markdown
from bench.targets import Target, verdict
from bench.work import CASES, Case, case


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Contest]:
    """Everybody who is there."""
    with open_contest(tmp_path_factory.mktemp("contest")) as contest:
        yield contest


@pytest.mark.parametrize("work", CASES, ids=lambda case: case.name)
def test_everybody_gives_the_same_answers(contest: Contest, work: Case) -> None:
    """All peers there are answer every run with the same bytes."""
    with contest.runners(work) as runners:
        assert ORDINARY in runners
        for run in runners.values():
            for units in (0, 1, 2, 150):
                work.check(units, run(units))


def test_a_peer_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Extism's SDK and a C compiler the comparison goes on, and says what it lacks."""
    monkeypatch.setitem(sys.modules, "extism.extism", None)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with open_contest(tmp_path / "place") as contest:
        assert set(contest.missing) == {EXTISM, FLOOR, FLOOR_HELD}
        assert ORDINARY in {peer.name for peer in contest.peers}


def test_a_wrong_answer_is_not_timed() -> None:
    """A contestant that answers anything else stops the comparison."""
    with pytest.raises(AssertionError, match="read, 0 units: got"):
        time_case(case("read"), {"wrong": lambda _: b'["0000000000",{}]'}, rounds=3, sample_ms=1, progress=lambda: None)


def test_one_wrong_result_among_many_is_noticed() -> None:
    """The sum of all results proves each call, not only the last."""
    right = case("noop")
    right.check(3, b'["0000000030",null]')
    with pytest.raises(AssertionError):
        right.check(3, b'["0000000029",null]')


def _timings(**rounds: list[float]) -> Timings:
    return Timings(case("read"), rounds)


def test_ratio_is_taken_inside_rounds() -> None:
    """What slows both contestants of a round down leaves their ratio alone."""
    ratio = _timings(slow=[10, 20, 40, 80], fast=[5, 10, 20, 40]).ratio("slow", "fast")
    assert ratio == Spread(2, 2, 2)


@pytest.mark.parametrize(
    ("slow", "words"),
    [
        ([300.0, 301, 302, 303], "met, by a factor of 1.51"),
        ([100.0, 101, 102, 103], "**missed**, by a factor of 1.97"),
        ([100.0, 150, 250, 300], "on the line: the spread holds the target"),
    ],
)
def test_verdict(slow: list[float], words: str) -> None:
    """A target is met or missed by so much, unless it lies within the spread."""
    timings = {"read": _timings(slow=slow, fast=[1.0, 1, 1, 1])}
    assert verdict(Target("read", "fast", "slow", at_least=200), timings).words == words


def test_verdict_within() -> None:
    """A target may also be a share of somebody else's time."""
    timings = {"read": _timings(slow=[40.0, 40, 40], fast=[10.0, 10, 10])}
    assert verdict(Target("read", "slow", "fast", within=5), timings).words == "met, by a factor of 1.25"
    assert verdict(Target("read", "slow", "fast", within=2), timings).words == "**missed**, by a factor of 2"


def test_verdict_names_who_is_absent() -> None:
    """A target of a call path or peer that is not there is not called met."""
    timings = {"read": _timings(slow=[40.0, 40, 40])}
    words = verdict(Target("read", "native", "slow", at_least=2), timings).words
    assert words == "not measured: there is no native here"


def test_a_difference_within_the_spread_is_none() -> None:
    """Two contestants whose ratios lie around one are called equal."""
    timings = Timings(case("read"), {ORDINARY: [10, 11, 9, 10, 12], "other": [11.0, 10, 10, 9, 11]})
    table = case_table(timings, "in memory")
    row = next(row for row in table.rows if row[0] == "other")
    assert row[3].startswith("no difference")
    assert "| other |" in markdown(table)
