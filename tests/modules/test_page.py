"""docs/host-modules.md: its commands, and the module it shows."""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.docs.test_walkthroughs import blocks, run
from tests.modules.conftest import Register, audited, only_call, relay

from rotifer_host import Agent
from rotifer_host.errors import HostCallError
from rotifer_host.modules import find_module

PAGE = "docs/host-modules.md"


def test_its_commands_can_be_typed(tmp_path: Path) -> None:
    """Granting, with settings, listing and revoking."""
    (commands,) = blocks(PAGE, "sh")
    assert "keeper is granted json" in run(["/bin/sh", "-euc", commands], tmp_path)


@pytest.fixture
def agent(register: Register, agent_of: Callable[..., Agent]) -> Agent:
    """Install the page's module as its entry point says, and give an agent that is granted it."""
    (source,) = blocks(PAGE, "python")
    (project,) = map(tomllib.loads, blocks(PAGE, "toml"))
    ((name, value),) = project["project"]["entry-points"]["rotifer_host.modules"].items()
    assert len(source.splitlines()) <= 32
    register(name, source, value.partition(":")[2], distribution=project["project"]["name"])
    return agent_of(relay("counter.increment"), name)


def test_its_module_loses_no_increment(agent: Agent) -> None:
    """Runs at the same time all count, each with a line in the log."""
    threads = [threading.Thread(target=lambda: [agent.run({"name": "visits"}) for _ in range(5)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert agent.run({"name": "visits"}).output == {"value": 16}
    assert [(line["action"], line["key"]) for line in audited(agent)] == [("counter.increment", "visits")] * 16
    assert agent.run({"name": "others"}).output == {"value": 1}


@pytest.mark.parametrize(("request_", "result"), [({}, -10), ({"name": ""}, -10), ({"name": "x", "by": 2}, -10)])
def test_its_module_refuses_what_it_cannot_count(agent: Agent, request_: object, result: int) -> None:
    """As a host call does, and without a change."""
    assert only_call(agent.run(request_))[1] == {result: 1}
    assert not agent._project.audit_path.exists()


def test_its_error_is_its_own(agent: Agent) -> None:
    """Its code and result are the page's."""
    assert agent.grants == {"counter": {}}
    (error,) = find_module("counter").errors
    assert issubclass(error, HostCallError)
    assert (error.result, error.code) == (-100, "COUNTER_FULL")
