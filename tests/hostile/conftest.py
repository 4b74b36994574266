"""Hostile guests as genes of agents with real memories, on every call path."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Agent, Limits, Project, RunResult
from rotifer_host.memory import ordinary
from rotifer_host.sandbox import GuestResult, Sandbox, available_call_paths
from rotifer_host.store import open_store
from rotifer_host.store.check import problems
from rotifer_host.testing import temporary_project

GUESTS = Path(__file__).with_name("guests")


@pytest.fixture(params=available_call_paths())
def call_path(request: pytest.FixtureRequest) -> str:
    """Name each call path that works here."""
    return str(request.param)


@pytest.fixture(scope="session")
def hostile_project() -> Iterator[Project]:
    """Make one project of all hostile guests."""
    with temporary_project({path.stem: path for path in sorted(GUESTS.glob("*.wat"))}) as project:
        yield project


@pytest.fixture
def shortcuts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Give how many calls of each name C has answered by now, in the place of the memory rules."""
    counted: Counter[str] = Counter()
    run = Sandbox.run

    def counting(*arguments: Any, **named: Any) -> GuestResult:
        result = run(*arguments, **named)
        for name, stats in result.host_calls.items():
            counted[name] += stats.shortcuts
        return result

    monkeypatch.setattr(Sandbox, "run", counting)
    return counted


@pytest.fixture
def takes_shortcuts(call_path: str) -> bool:
    """Tell whether C answers what is ordinary: not on other call paths, and not without a C compiler."""
    return call_path == "native" and ordinary.WRITE is not None


_numbers = itertools.count()


@pytest.fixture
def attack(hostile_project: Project, call_path: str) -> Callable[..., tuple[RunResult, Agent]]:
    """Return a runner of one guest as the only gene of a new agent; memory and audit log must be sound afterwards."""

    def run(
        name: str, limits: Limits, *, quota: int = 4 << 20, durability: str = "call", document: object = None
    ) -> tuple[RunResult, Agent]:
        agent = hostile_project.create_agent(f"agent-{next(_numbers)}", [name], memory_quota=quota)
        result = agent.run(
            {"a": 1} if document is None else document,
            limits=limits,
            durability="run" if durability == "run" else "call",
            call_path=call_path,
        )
        path = hostile_project._folder.memory_path(agent.id)
        with open_store(path, agent_id=agent.id, quota=quota) as store, store.snapshot() as snapshot:
            assert problems(snapshot, agent.id) == []
        return result, agent

    return run


@pytest.fixture
def audit_lines(hostile_project: Project) -> Callable[[Agent], list[str]]:
    """Return a reader of the actions in the audit log that concern an agent."""

    def read(agent: Agent) -> list[str]:
        if not hostile_project.audit_path.exists():
            return []
        lines = map(json.loads, hostile_project.audit_path.read_text(encoding="utf-8").splitlines())
        return [line["action"].removeprefix("memory.") for line in lines if line["agentId"] == agent.id]

    return read
