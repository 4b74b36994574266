"""`python -m bench`: the comparison with peers; a whole run is written to `bench/RESULTS.md`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import click
from rich.console import Console
from rich.progress import Progress

from bench.contest import open_contest
from bench.machine import describe, file_system, pin
from bench.measure import Timings, time_case
from bench.peers.host import available_call_paths
from bench.report import case_table, fact_table, markdown, show, target_table
from bench.targets import targets, verdict
from bench.work import CASES, Case
from rotifer_host.files import check_writable

_RESULTS: Final = Path(__file__).with_name("RESULTS.md")
_ON_DISK: Final = Path(__file__).parents[1] / ".benchmarks"
_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a file system without a disk is what is wanted
_ROUNDS: Final = 15
_SAMPLE_MS: Final = 20.0
_LEAST_MS: Final = 1
_MOST_MS: Final = 60_000
_INTRODUCTION: Final = """# Results

Written by `make bench-peers`; [README.md](README.md) says what is measured, how, and how to read it.
Only ratios travel to another machine. `a (b … c)` is a median with its quartiles over the rounds;
where the quartiles of a ratio hold 1, it is called no difference.
"""


class _Place(NamedTuple):
    name: str
    folder: Path
    cases: list[Case]


class _Plan(NamedTuple):
    rounds: int
    sample_ms: float
    console: Console


def _milliseconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not _LEAST_MS <= number <= _MOST_MS:  # nor is it `nan`
        raise click.BadParameter(f"a sample takes from {_LEAST_MS} to {_MOST_MS:,} ms, not {text!r}")
    return number


def _bad_output(message: str) -> NoReturn:
    raise click.BadParameter(message, param_hint="'--output'")


@click.command(name="python -m bench")
@click.option(
    "--rounds", type=click.IntRange(min=3), default=_ROUNDS, show_default=True, help="Samples of each contestant."
)
@click.option(
    "--sample-ms", type=_milliseconds, default=_SAMPLE_MS, show_default=True, help="How long a sample takes, about."
)
@click.option(
    "--case", "names", multiple=True, type=click.Choice([case.name for case in CASES]), help="This case only."
)
@click.option(
    "--disk",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="A folder on the disk to write to, instead of .benchmarks of the project.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where the results go: bench/RESULTS.md when left out, and nowhere when not all is run.",
)
def main(rounds: int, sample_ms: float, names: tuple[str, ...], disk: Path | None, output: Path | None) -> None:
    """Time this host beside wasmtime-py, Extism's SDK and the floor in C, in one process.

    A quick look, at some cases or with fewer or shorter samples, is only shown.
    """
    if output is None and not names and rounds >= _ROUNDS and sample_ms >= _SAMPLE_MS:
        output = _RESULTS
    if output is not None:
        check_writable(output, _bad_output)
    if disk is None:
        disk = _ON_DISK
        disk.mkdir(exist_ok=True)
    cases = [case for case in CASES if not names or case.name in names]
    plan = _Plan(rounds, sample_ms, Console())
    cpu = pin()
    facts = describe() | {
        "pinned to": "no CPU" if cpu is None else f"CPU {cpu}",
        "load before": f"{os.getloadavg()[0]:.2f}",
        "taken": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {rounds} rounds, samples of {sample_ms:g} ms",
        "command": " ".join(["python -m bench", *sys.argv[1:]]),
    }
    places = [_Place("on disk", disk, [case for case in cases if case.writes])]
    if _IN_MEMORY.is_dir():
        places.insert(0, _Place("in memory", _IN_MEMORY, cases))
    else:
        places = [_Place("on disk", disk, cases)]
    timings = {}
    for place in places:
        facts[place.name] = file_system(place.folder)
        timings[place.name], missing = _time_place(place, plan)
        facts |= {f"not timed: {name}": why for name, why in missing.items()}
    verdicts = [
        (place, verdict(target, by_case))
        for target in targets(available_call_paths())
        for place, by_case in timings.items()
        if target.case in by_case
    ]
    found = target_table(verdicts)
    figures = [case_table(timing, place) for place, by_case in timings.items() for timing in by_case.values()]
    parts = [_INTRODUCTION, markdown(fact_table(facts)), markdown(found), "## Figures\n"]
    show(found)
    if output is None:
        plan.console.print("not written anywhere: this was not a whole run, and --output was not given")
        return
    output.write_text("\n".join(parts + [markdown(table, 3) for table in figures]), encoding="utf-8")
    plan.console.print(f"written to {output}")


def _time_place(place: _Place, plan: _Plan) -> tuple[dict[str, Timings], dict[str, str]]:
    """Return the timings by case, and the peers that could not be timed with the reason.

    Each case begins with memories filled anew: what is free in a file, and how it is
    scattered, would else depend on which cases were timed before.
    """
    timings: dict[str, Timings] = {}
    missing: dict[str, str] = {}
    for case in place.cases:
        with (
            tempfile.TemporaryDirectory(prefix="rotifer-bench-", dir=place.folder) as name,
            open_contest(Path(name)) as contest,
            contest.runners(case) as runners,
            _progress(plan.console, f"{case.name} {place.name}", plan.rounds) as step,
        ):
            timing = time_case(case, runners, rounds=plan.rounds, sample_ms=plan.sample_ms, progress=step)
            missing |= contest.missing
        show(case_table(timing, place.name))
        timings[case.name] = timing
    return timings, missing


@contextmanager
def _progress(console: Console, title: str, rounds: int) -> Iterator[Callable[[], None]]:
    with Progress(console=console, transient=True, auto_refresh=False) as progress:  # no thread beside what is timed
        task = progress.add_task(title, total=rounds)

        def step() -> None:
            progress.advance(task)
            progress.refresh()

        yield step


if __name__ == "__main__":
    main()
