"""Writes: each durable by itself, and many of a run made durable together."""

from __future__ import annotations

import pytest

from bench.conftest import Timed
from bench.peers.host import Durability, Host, HostMemory
from bench.work import Case, case

_WRITES: list[tuple[Case, Durability, int]] = [(case("write"), "call", 50), (case("write100"), "run", 100)]


@pytest.fixture(params=_WRITES, ids=lambda setting: setting[0].name)
def setting(request: pytest.FixtureRequest) -> tuple[Case, Durability, int]:
    """The kind of write, the durability, and how many a run makes."""
    found: tuple[Case, Durability, int] = request.param
    return found


def test_write_answers_and_stays(memory: HostMemory, call_path: str, setting: tuple[Case, Durability, int]) -> None:
    """Every write is answered with its entry, recorded, and there for the next run."""
    work, durability, units = setting
    lines = memory.audit_lines()
    with Host(memory, call_path, durability).runner(work) as run:
        work.check(units, run(units))
    assert memory.audit_lines() == lines + units
    with Host(memory, call_path, durability).runner(work) as run:
        work.check(1, run(1))


def test_write_time(timed: Timed, memory: HostMemory, call_path: str, setting: tuple[Case, Durability, int]) -> None:
    """One `writeMemory`, what makes it durable included."""
    work, durability, units = setting
    host = Host(memory, call_path, durability)
    timed(host.name, host.runner(work), work, units)
