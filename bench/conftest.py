"""What the suites share: the memory, the call paths, and a figure per call beside pytest-benchmark's per run."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.peers import Runner
from bench.peers.host import HostMemory, available_call_paths
from bench.work import Case

_figures = pytest.StashKey[list[str]]()
_ROUNDS = 20


class Timed(Protocol):
    """Times a case."""

    def __call__(self, name: str, runner: AbstractContextManager[Runner], case: Case, units: int) -> None:
        """Time runs of `units`, and runs without calls; check what they answered."""
        ...


@pytest.fixture(scope="session")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostMemory]:
    """The memory of one agent, filled, on the disk of the temporary folder."""
    with HostMemory(tmp_path_factory.mktemp("bench") / "host") as memory:
        yield memory


@pytest.fixture(params=available_call_paths())
def call_path(request: pytest.FixtureRequest) -> str:
    """Each call path there is."""
    path: str = request.param
    return path


@pytest.fixture
def timed(benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> Timed:
    """Return the function that times: pytest-benchmark sees the run, the summary shows the call."""

    def time(name: str, runner: AbstractContextManager[Runner], case: Case, units: int) -> None:
        with runner as run:
            case.check(units, run(units))
            output = benchmark.pedantic(run, args=(units,), rounds=_ROUNDS, warmup_rounds=1)  # type: ignore[no-untyped-call]
            case.check(units, output)
            if benchmark.stats is None:  # --benchmark-disable
                return
            seconds = benchmark.stats.stats.median
            if not case.whole_run:
                seconds = (seconds - _median_start(run)) / units
            benchmark.extra_info["microseconds"] = seconds * 1e6
        figures = request.config.stash.setdefault(_figures, [])
        figures.append(f"{name:24} {seconds * 1e6:10.2f} µs  {case.title}")

    return time


def _median_start(run: Runner) -> float:
    return statistics.median(timeit.repeat(lambda: run(0), number=1, repeat=_ROUNDS))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show what one call, or one whole run, took: medians."""
    figures = config.stash.get(_figures, [])
    if figures:
        terminalreporter.section("per call, or per whole run")
        for line in figures:
            terminalreporter.write_line(line)
