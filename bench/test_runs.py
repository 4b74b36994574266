"""Whole runs: one that makes no call, from a warm start, and one of ten reads and two writes."""

from __future__ import annotations

import pytest

from bench.conftest import Timed
from bench.peers.host import Host, HostMemory
from bench.work import case

_START = case("start")
_RUN = case("run")


def test_start_answers(memory: HostMemory, call_path: str) -> None:
    """A run that makes no call gives its output, time after time."""
    with Host(memory, call_path).runner(_START) as run:
        for _ in range(3):
            _START.check(0, run(0))


def test_start_time(timed: Timed, memory: HostMemory, call_path: str) -> None:
    """A whole run of a tiny gene that is loaded already."""
    host = Host(memory, call_path)
    timed(host.name, host.runner(_START), _START, 0)


def test_start_from_the_module_cache_answers(memory: HostMemory, call_path: str) -> None:
    """A run whose gene comes from the module cache gives the output of one that was compiled."""
    with Host(memory, call_path).loading_runner(_START) as run:
        for _ in range(3):
            _START.check(0, run(0))
    assert list(memory.module_cache.iterdir())


def test_start_from_the_module_cache_time(timed: Timed, memory: HostMemory, call_path: str) -> None:
    """A whole run of a tiny gene, loaded from the cache of compiled modules first."""
    host = Host(memory, call_path)
    timed(f"{host.name}, module cache", host.loading_runner(_START), _START, 0)


@pytest.mark.parametrize("units", [1, 2, 50])
def test_run_answers(memory: HostMemory, call_path: str, units: int) -> None:
    """Reads and writes that take turns are all answered with their entries."""
    with Host(memory, call_path).runner(_RUN) as run:
        _RUN.check(units, run(units))


def test_run_time(timed: Timed, memory: HostMemory, call_path: str) -> None:
    """A whole run of ten reads and two durable writes."""
    host = Host(memory, call_path)
    timed(host.name, host.runner(_RUN), _RUN, 1)
