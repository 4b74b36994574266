"""A project with the example genes in it, compiled."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rotifer_host import Project

GUESTS = Path(__file__).parents[2] / "guest-examples"


@pytest.fixture
def guests() -> Path:
    """Return the folder of the example genes."""
    return GUESTS


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a project with all example genes, compiled; tests take copies of it."""
    project = Project.init(tmp_path_factory.mktemp("examples") / "project")
    for phenotype in sorted(GUESTS.glob("*/phenotype.json")):
        shutil.copytree(phenotype.parent, project.root / "genes" / phenotype.parent.name)
        project.compile(phenotype.parent.name)
    return project.root


@pytest.fixture
def project(tmp_path: Path, compiled: Path) -> Project:
    """Return a new project with all example genes, compiled."""
    return Project.open(shutil.copytree(compiled, tmp_path / "examples"))
