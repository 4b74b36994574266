"""Host calls that change nothing: a no-op, an exchange, a whole `readMemory`."""

from __future__ import annotations

import pytest

from bench.conftest import Timed
from bench.peers.host import Host, HostMemory
from bench.work import Case, case

_CASES = [case(name) for name in ("noop", "echo", "read")]
_UNITS = 2000


@pytest.fixture(params=_CASES, ids=lambda case: case.name)
def work(request: pytest.FixtureRequest) -> Case:
    """Each kind of call."""
    kind: Case = request.param
    return kind


@pytest.mark.parametrize("units", [0, 1, 2, _UNITS])
def test_call_answers(memory: HostMemory, call_path: str, work: Case, units: int) -> None:
    """Every call of a run is answered with the bytes the contract asks for."""
    with Host(memory, call_path).runner(work) as run:
        work.check(units, run(units))


def test_call_time(timed: Timed, memory: HostMemory, call_path: str, work: Case) -> None:
    """One host call, of a run of many."""
    host = Host(memory, call_path)
    timed(host.name, host.runner(work), work, _UNITS)
