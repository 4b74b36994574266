"""A project with a sandbox, and genes to put into it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.gene import Gene
from rotifer_host.project import ProjectFolder
from rotifer_host.sandbox import HostFunctions, Sandbox, core_functions, wasi_functions

ECHO = (Path(__file__).parent / "echo.wat").read_text(encoding="utf-8")

PHENOTYPE: dict[str, Any] = {
    "domain": "text.echo",
    "version": "1.0.0",
    "inputSchema": {"type": "object"},
    "outputSchema": True,
}

_NO_CHANGES: Mapping[str, object] = {}


@pytest.fixture
def project(tmp_path: Path) -> ProjectFolder:
    """Return a new project."""
    return ProjectFolder.init(tmp_path / "project", "project")


@pytest.fixture
def make_gene(project: ProjectFolder) -> Callable[..., Gene]:
    """Return a function that puts a gene into the project."""

    def make(name: str = "echo", *, wat: str | None = ECHO, changes: Mapping[str, object] = _NO_CHANGES) -> Gene:
        folder = project.genes_dir / name
        folder.mkdir()
        (folder / "phenotype.json").write_text(json.dumps({**PHENOTYPE, **changes}), encoding="utf-8")
        if wat is not None:
            (folder / "gene.wat").write_text(wat, encoding="utf-8")
        return project.gene(name)

    return make


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """Return a sandbox that offers what a run offers, and keeps no files."""
    return Sandbox(HostFunctions(core_functions(), wasi_functions(), memory_functions()), cache_dir=None)
