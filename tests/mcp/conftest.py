"""Servers: one that the tests of a file share, and one for whoever changes its project."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from tests.mcp.clients import Connection, begin, connected, make_project, started

from rotifer_host import Project


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Make a project that all tests share: each leaves genes and grants as they were."""
    return make_project(tmp_path_factory.mktemp("shared") / "project")


@pytest.fixture(scope="session")
def greeter(shared: Project) -> Iterator[Connection]:
    """Connect to the agent `greeter`, acting as `hello`."""
    with connected(shared, "--agent", "greeter", "--gene", "hello") as connection:
        yield connection


@pytest.fixture(scope="session")
def prober(shared: Project) -> Iterator[Connection]:
    """Connect to the agent `prober`, acting as no gene."""
    with connected(shared, "--agent", "prober") as connection:
        yield connection


@pytest.fixture(scope="session")
def raw(shared: Project) -> Iterator[subprocess.Popen[bytes]]:
    """Give a server of the agent `prober` that is talked to in lines."""
    with started(shared, "--agent", "prober") as server:
        yield begin(server)
