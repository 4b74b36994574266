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


@pytest.fixture
def project(tmp_path: Path, guests: Path) -> Project:
    """Return a new project with all example genes, compiled."""
    project = Project.init(tmp_path / "examples")
    for folder in sorted(guests.iterdir()):
        if folder.is_dir():
            shutil.copytree(folder, project.root / "genes" / folder.name)
            project.compile(folder.name)
    return project
