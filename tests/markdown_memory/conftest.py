"""A project with an agent that is granted the Markdown memory, and a gene that makes any call to it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rotifer_host import Agent, Project
from rotifer_host.testing import ManualClock

CALLER = Path(__file__).parent / "caller.wat"
PHENOTYPE = '{"domain": "notes.any", "version": "1.0.0", "description": "d", "inputSchema": {}, "outputSchema": {}}'


class Place(NamedTuple):
    """Where a gene calls the Markdown memory."""

    project: Project
    agent: Agent
    clock: ManualClock

    @property
    def folder(self) -> Path:
        """The folder of memories."""
        return self.project.root / ".agent/memory"

    def call(self, operation: str, request: Any, *, room: int = 1, **options: Any) -> tuple[int, Any]:
        """Make one call in a run of its own; return its result, 0 for all that are not negative, and what came back."""
        result = self.agent.run([operation, room, request], **options)
        assert result.status == "ok", result.error
        return int(result.output[0]), result.output[1]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Give a project whose agent `a` has the gene `caller` and the grant `markdown`."""
    clock = ManualClock()
    project = Project.init(tmp_path / "p", clock=clock)
    folder = project.genes_path / "caller"
    folder.mkdir()
    shutil.copy(CALLER, folder / "gene.wat")
    (folder / "phenotype.json").write_text(PHENOTYPE)
    project.compile("caller")
    return Place(project, project.create_agent("a", ["caller"], grants=["markdown"]), clock)
