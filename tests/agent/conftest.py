"""Agents of guests written as WAT, run over every call path."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from rotifer_host import Agent, Project
from rotifer_host.sandbox import available_call_paths
from rotifer_host.testing import temporary_project

MakeAgent = Callable[..., Agent]


@pytest.fixture(params=available_call_paths())
def call_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let every run take one of the call paths."""
    path: str = request.param
    monkeypatch.setenv("ROTIFER_CALL_PATH", path)
    return path


@pytest.fixture(scope="session")
def make_agent() -> Iterator[MakeAgent]:
    """Return a function that makes an agent of guests by name; those of the same guests share a project."""
    projects: dict[str, Project] = {}
    numbers = itertools.count()
    with ExitStack() as stack:

        def project_of(genes: Mapping[str, str], domains: Mapping[str, str]) -> Project:
            project = stack.enter_context(temporary_project(genes))
            for name, domain in domains.items():
                path = project.genes_path / name / "phenotype.json"
                path.write_text(json.dumps({**json.loads(path.read_bytes()), "domain": domain}), encoding="utf-8")
            return project

        def make(
            genes: Mapping[str, str],
            composition: Any = None,
            *,
            domains: Mapping[str, str] | None = None,
            **options: Any,
        ) -> Agent:
            key = json.dumps([genes, domains], sort_keys=True)
            if key not in projects:
                projects[key] = project_of(genes, domains or {})
            names = () if isinstance(composition, dict) else list(genes)
            return projects[key].create_agent(f"team-{next(numbers)}", names, composition=composition, **options)

        yield make


def audit_lines(agent: Agent) -> list[dict[str, Any]]:
    """Return the agent's lines of its project's audit log."""
    log = agent._project.audit_path.read_text(encoding="utf-8")
    return [line for line in map(json.loads, log.splitlines()) if line["agentId"] == agent.id]
