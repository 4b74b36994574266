"""What is written beside the figures: pytest-benchmark's format, and pictures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from rotifer_host.bench import Report, plot, pytest_format
from rotifer_host.errors import UsageError
from rotifer_host.extras import how_to_install

ROOT = Path(__file__).parents[2]


def slower(report: Report, factor: float) -> Report:
    """Return the same measurement with whole runs so many times as long."""
    paths = [
        msgspec.structs.replace(path, each_run=[micros * factor for micros in path.each_run]) for path in report.paths
    ]
    return msgspec.structs.replace(report, paths=paths)


def test_pytest_benchmark_compares_the_files(tmp_path: Path, reports: dict[str, Report]) -> None:
    """Its own `compare` shows every figure of two measurements, and finds the one that is three times as long."""
    files = [str(tmp_path / name) for name in ("before.json", "now.json")]
    for file, factor in zip(files, (1, 3), strict=True):
        pytest_format.write_pytest_benchmark(slower(reports["call"], factor), Path(file))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest_benchmark", "compare", *files),
            *(
                "--columns=min,max,mean,stddev,median,iqr,outliers,ops,rounds,iterations",
                f"--csv={tmp_path / 'out.csv'}",
            ),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for path in reports["call"].paths:
        for what in ("run", *path.calls):
            assert done.stdout.count(f"{what}[{path.call_path}]") == len(files)
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()]
    medians = [float(dict(zip(rows[0], row, strict=True))["median"]) for row in rows[1:] if "run[plain]" in row[0]]
    assert max(medians) / min(medians) == pytest.approx(3)


def test_its_figures_are_those_of_the_report(tmp_path: Path, reports: dict[str, Report]) -> None:
    """Medians, quartiles and rounds are the same, in seconds."""
    report = reports["call"]
    pytest_format.write_pytest_benchmark(report, tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    found = {each["name"]: each for each in document["benchmarks"]}
    for path in report.paths:
        for what, spread in {"run": path.run, **{name: call.micros for name, call in path.calls.items()}}.items():
            stats = found[f"{what}[{path.call_path}]"]["stats"]
            figures = [stats[name] * 1e6 for name in ("q1", "median", "q3")]
            assert figures == pytest.approx([spread.low, spread.median, spread.high], abs=1e-3)
            assert stats["rounds"] == report.runs


def test_its_details_say_where_the_time_goes(tmp_path: Path, reports: dict[str, Report]) -> None:
    """Each call has its counts, its stages and the rest."""
    report = reports["call"]
    pytest_format.write_pytest_benchmark(report, tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    found = {each["name"]: each["extra_info"] for each in document["benchmarks"]}
    for path in report.paths:
        for label, call in path.calls.items():
            details = found[f"{label}[{path.call_path}]"]
            assert {stage: split["mean"] for stage, split in details["stages"].items()} == {
                stage: split.mean for stage, split in call.stages.items()
            }
            assert (details["count"], details["again"], details["shortcuts"], details["rest"]) == (
                *(call.count, call.again, call.shortcuts),
                call.rest,
            )


def test_a_picture_names_what_it_shows(tmp_path: Path, reports: dict[str, Report]) -> None:
    """An SVG has text that is text: each host function, each call path, each stage, and the measured times."""
    report = reports["call"]
    plot.plot(report, tmp_path / "out.svg")
    drawing = ET.parse(tmp_path / "out.svg")  # noqa: S314 - our own
    texts = [text.strip() for element in drawing.iter() for text in element.itertext()]
    for path in report.paths:
        assert path.call_path in texts
        assert f"{path.run.median:,.2f} µs" in texts
        for label, call in path.calls.items():
            assert f"{label}: one call" in texts
            assert f"{call.micros.median:,.2f} µs" in texts
            assert set(call.stages) <= set(texts)


def test_the_same_figures_give_the_same_picture(tmp_path: Path, reports: dict[str, Report]) -> None:
    """Nothing in an SVG depends on when it was drawn."""
    for name in ("one.svg", "two.svg"):
        plot.plot(reports["call"], tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_picture_may_be_a_png(tmp_path: Path, reports: dict[str, Report]) -> None:
    """The ending says the format."""
    plot.plot(reports["run"], tmp_path / "out.PNG")
    assert (tmp_path / "out.PNG").read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize(
    ("name", "message"), [("out.pdf", ".svg or .png"), ("out", ".svg"), ("none/out.svg", "no folder")]
)
def test_pictures_that_cannot_be_drawn_are_refused(tmp_path: Path, name: str, message: str) -> None:
    """Before anything is measured, the error says what is wrong with the file."""
    with pytest.raises(UsageError, match=message):
        plot.check_plot(tmp_path / name)


def test_without_the_library_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is optional: the extra that brings it is named."""
    monkeypatch.setattr(plot, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match="matplotlib") as caught:
        plot.check_plot(tmp_path / "out.svg")
    assert caught.value.help == how_to_install("plot")
    assert '\nplot = ["matplotlib' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("write", [plot.plot, pytest_format.write_pytest_benchmark])
def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path, reports: dict[str, Report], write: object) -> None:
    """A folder in the way is reported as such."""
    (tmp_path / "out.svg").mkdir()
    assert callable(write)
    with pytest.raises(UsageError, match="cannot write"):
        write(reports["run"], tmp_path / "out.svg")
