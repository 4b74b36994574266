"""Guests and places for the faults to happen to."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.torture.commands import QUOTA, make_agent
from tests.torture.guest import Guest
from tests.torture.place import FOR_EVER, Place

from rotifer_host import Agent
from rotifer_host.sandbox import available_call_paths

_told = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session", params=available_call_paths())
def guest(request: pytest.FixtureRequest) -> Guest:
    """Give a guest on each call path there is."""
    return Guest(request.param)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Give a place with no files yet."""
    return Place(tmp_path)


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Give a way to say what was tried, for the end of the session."""
    told = request.config.stash.setdefault(_told, [])
    name = request.node.name
    return lambda text: told.append(f"{name}: {text}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was tried."""
    told = config.stash.get(_told, [])
    if told:
        terminalreporter.section("torture")
        terminalreporter.write("".join(f"{line}\n" for line in told))


@pytest.fixture
def torture_kills(pytestconfig: pytest.Config) -> int:
    """Give how many writers to kill (`--torture-kills`)."""
    kills: int = pytestconfig.getoption("torture_kills")
    return kills


@pytest.fixture
def torture_seed(pytestconfig: pytest.Config, tell: Callable[[str], None]) -> int:
    """Give the seed of what is left to chance (`--torture-seed`), and tell it for a failure to be repeated."""
    given: int | None = pytestconfig.getoption("torture_seed")
    seed = secrets.randbelow(1 << 32) if given is None else given
    tell(f"--torture-seed {seed}")
    return seed


@pytest.fixture
def torture_all(pytestconfig: pytest.Config) -> bool:
    """Tell whether every fault is asked for, not a sample (`--torture-all`)."""
    return bool(pytestconfig.getoption("torture_all"))


@pytest.fixture
def torture_rounds(pytestconfig: pytest.Config) -> int:
    """Give how often to repeat what is random (`--torture-rounds`)."""
    rounds: int = pytestconfig.getoption("torture_rounds")
    return rounds


@pytest.fixture
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    """Give an agent with the example gene `counter`, and a quota that shared entries fill; `param` is its policy."""
    return make_agent(tmp_path / "project", getattr(request, "param", FOR_EVER))


@pytest.fixture
def busy(agent: Agent) -> Place:
    """Give the files of the agent, at the machine's time."""
    place = Place(agent._project.root / ".rotifer", QUOTA, agent.id, agent._record.dataPolicy)
    place.clock.set(time.time_ns() // 1_000_000)
    return place
