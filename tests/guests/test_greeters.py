"""The WASI genes remember, in C and in Rust alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.guests.modules import Guests

from rotifer_host import Agent, Project
from rotifer_host.errors import BudgetExhaustedError, StorageError
from rotifer_host.testing import ScriptedHost

GREETERS = ("wasi-c", "wasi-rust")


@pytest.fixture
def project(guests: Guests, tmp_path: Path) -> Project:
    """Return a project with both."""
    return guests.project(tmp_path / "greeters", *GREETERS)


@pytest.fixture
def agents(project: Project) -> list[Agent]:
    """Return an agent for each."""
    return [project.create_agent(f"with-{gene}", [gene]) for gene in GREETERS]


def test_same_runs(project: Project, agents: list[Agent]) -> None:
    """The same inputs one after another give the same outputs, words on standard error, and memory."""
    documents: list[Any] = [
        {}, {"name": "Ada"}, {}, {"name": "Ada"}, {"name": 'Zoë "\\\n\x7f" 🦀'}, {}, {"name": ""}, {"name": None},
        {"name": 5}, [], "name", None, {"name": "x" * 100_000}, {},
    ]  # fmt: skip
    for document in documents:
        results = [agent.run(document) for agent in agents]
        assert results[0].status == results[1].status
        assert results[0].output == results[1].output
        assert results[0].error == results[1].error
        assert results[0].genes[0].stderr == results[1].genes[0].stderr
        entries = [
            agent.memory(project.gene(gene)).read("greeter/name") for agent, gene in zip(agents, GREETERS, strict=True)
        ]
        assert len({entry and (entry.value, entry.category) for entry in entries}) == 1


@pytest.mark.parametrize("index", range(len(GREETERS)))
def test_greeting(agents: list[Agent], index: int) -> None:
    """A name is used, remembered, and told on standard error when it is new."""
    agent = agents[index]
    assert agent.run({}).output == {"greeting": "Hello, stranger!", "new": True}
    told = agent.run({"name": "Zoë"})
    assert told.output == {"greeting": "Hello, Zoë!", "new": True}
    assert told.genes[0].stderr == "a new name of 4 bytes\n"
    again = agent.run({"name": "Zoë"})
    assert (again.output, again.genes[0].stderr) == ({"greeting": "Hello, Zoë!", "new": False}, "")
    assert "writeMemory" not in {call for call, report in again.genes[0].host_calls.items() if report.count}


@pytest.mark.parametrize("gene", GREETERS)
def test_failures(guests: Guests, gene: str) -> None:
    """A refused call is handed on as the output; one without a payload is an exit status."""
    host = ScriptedHost()
    host.answer("readMemory", StorageError("disk"), BudgetExhaustedError("no"))
    rejected = host.run(guests.module(gene), {})
    assert rejected.error is not None
    assert (rejected.status, rejected.error.message) == ("rejected", "disk")
    failed = host.run(guests.module(gene), {})
    assert failed.error is not None
    assert (failed.status, failed.error.code) == ("failed", "EXIT_STATUS")
