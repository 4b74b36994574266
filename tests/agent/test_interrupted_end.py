"""Ctrl-C while a run's changes are saved, or taken back: it waits until that is done."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from tests.agent.guests import calling, write

from rotifer_host import Agent
from rotifer_host.audit import AuditLog
from rotifer_host.memory.changes import Changes
from rotifer_host.store.change import LmdbChange
from rotifer_host.testing import temporary_agent

_PLACES = [
    (AuditLog, "append"),
    (AuditLog, "_sync"),
    (LmdbChange, "commit"),
    (LmdbChange, "abort"),
    (Changes, "finish"),
]


@pytest.fixture
def agent() -> Iterator[Agent]:
    """Give an agent whose one gene writes."""
    with temporary_agent({"writer": calling(write("k"), output=1)}) as agent:
        yield agent


def _interrupting(patch: pytest.MonkeyPatch, place: type, name: str) -> None:
    """Have Ctrl-C come as a method begins, once."""
    method, signals = getattr(place, name), iter([signal.SIGINT])

    def interrupted(*arguments: object, **keywords: object) -> object:
        for number in signals:
            os.kill(os.getpid(), number)
        return method(*arguments, **keywords)

    patch.setattr(place, name, interrupted)


@pytest.mark.parametrize(("place", "name"), _PLACES, ids=lambda value: getattr(value, "__name__", value))
def test_changes_of_a_run_are_saved_before_it_is_interrupted(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, place: type, name: str
) -> None:
    """What the run held is kept whole, KeyboardInterrupt is raised, and the next run finds no lock taken."""
    with monkeypatch.context() as patch:
        _interrupting(patch, place, name)
        with pytest.raises(KeyboardInterrupt):
            agent.run({}, durability="run")
    assert [entry.key for entry in agent.memory().list().entries] == ["k"]
    assert agent.run({}, durability="run").status == "ok"
    assert agent.memory().check().problems == []
