"""Medians, quartiles, percentiles, and when two figures differ."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from rotifer_host.bench import Percentiles, Report, Spread, compare, read_report
from rotifer_host.bench.compare import differing_conditions
from rotifer_host.errors import UsageError


@pytest.mark.parametrize(
    ("one", "other", "different"),
    [
        (Spread(9, 10, 11), Spread(9, 10, 11), False),
        (Spread(9, 10, 11), Spread(10.5, 11.5, 12.5), False),  # ranges overlap
        (Spread(9, 10, 11), Spread(11.1, 12, 14), False),  # apart, but by less than one of them scatters
        (Spread(9, 10, 11), Spread(12, 13, 14), True),
        (Spread(10, 10, 10), Spread(10.1, 10.1, 10.1), True),
        (Spread(5, 10, 10), Spread(10, 16, 17), False),  # ranges touch
    ],
)
def test_a_difference_smaller_than_the_spread_is_none(one: Spread, other: Spread, different: bool) -> None:  # noqa: FBT001
    """Two figures differ when their medians are further apart than either scatters and their ranges do not touch."""
    assert one.differs(other) is different
    assert other.differs(one) is different


def test_a_spread_is_the_median_between_the_quartiles() -> None:
    """Quartiles are those of the values themselves."""
    assert Spread.of([5, 1, 4, 2, 3]) == Spread(2, 3, 4)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7.0], Percentiles(7, 7, 7)),
        ([float(value) for value in range(100, 0, -1)], Percentiles(50, 90, 99)),
        ([1.0, 2.0, 3.0], Percentiles(2, 3, 3)),
    ],
)
def test_percentiles_are_nearest_ranks(values: list[float], expected: Percentiles) -> None:
    """A percentile is a value that occurred: the smallest that so many do not exceed."""
    assert Percentiles.of(values) == expected


@pytest.fixture
def saved(tmp_path: Path, reports: dict[str, Report]) -> Path:
    """A file with a measurement as `--json` prints it."""
    path = tmp_path / "before.json"
    path.write_bytes(msgspec.json.encode(reports["call"].to_json()))
    return path


def test_a_report_is_read_back_as_it_was(saved: Path, reports: dict[str, Report]) -> None:
    """The document holds the whole measurement."""
    assert read_report(saved) == reports["call"]


def test_a_measurement_from_before_shortcuts_is_read(saved: Path, reports: dict[str, Report]) -> None:
    """Neither the count nor the stage need be there: the figures are compared all the same."""
    document = json.loads(saved.read_bytes())
    for call in (call for path in document["paths"] for call in path["calls"].values()):
        del call["shortcuts"], call["stages"]["shortcut"]
    saved.write_text(json.dumps(document), encoding="utf-8")
    before = read_report(saved)
    assert {call.shortcuts for path in before.paths for call in path.calls.values()} == {0}
    assert [pair for pair in compare(before, reports["call"]) if pair.ratio != 1] == []


def test_a_measurement_does_not_differ_from_itself(reports: dict[str, Report]) -> None:
    """Every figure is paired, none differs, and nothing else was different either."""
    report = reports["call"]
    pairs = list(compare(report, report))
    assert {(pair.call_path, pair.what) for pair in pairs} == {
        (path.call_path, what) for path in report.paths for what in ("run", *path.calls)
    }
    assert [pair for pair in pairs if pair.real or pair.ratio != 1] == []
    assert differing_conditions(report, report) == []


def test_other_conditions_are_named(reports: dict[str, Report]) -> None:
    """What was not the same but the code is said: durability, versions, machine."""
    now = reports["call"]
    machine = msgspec.structs.replace(now.machine, versions=now.machine.versions | {"lmdb": "0"}, file_system="tmpfs")
    before = msgspec.structs.replace(now, machine=machine, durability="run")
    assert differing_conditions(before, now) == [
        "durability: run then, call now",
        f"file system: tmpfs then, {now.machine.file_system} now",
        f"lmdb: 0 then, {now.machine.versions['lmdb']} now",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read"),
        (b"{", "is no measurement"),
        (b"[]", "is no measurement"),
        (b'{"v": 1, "status": "ok"}', "is no measurement"),
        (b"\xff", "is no measurement"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    """The error names the file, and what --compare takes."""
    path = tmp_path / "other.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=message) as caught:
        read_report(path)
    assert "other.json" in caught.value.message
    assert "--json" in str(caught.value.help)


def test_another_format_version_is_refused(saved: Path) -> None:
    """A measurement of a later host is not guessed at."""
    saved.write_bytes(saved.read_bytes().replace(b'"v":1', b'"v":2', 1))
    with pytest.raises(UsageError, match="format version 1"):
        read_report(saved)
