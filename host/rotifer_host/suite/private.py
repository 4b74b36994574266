"""An agent of one gene with a memory for the length of a test.

memory-api.en.md, "Which genes can use memory": no agent's memory is touched, nor the
project's audit log and telemetry.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rotifer_host.api import Agent, Project
from rotifer_host.errors import ProjectError
from rotifer_host.gene import Gene
from rotifer_host.modules.registry import usable_modules
from rotifer_host.project import ProjectFolder
from rotifer_host.scratch import ScratchFolder

__all__ = ["private_agent"]


class _OneGene(ProjectFolder):
    """A project whose one gene lies in another."""

    def __init__(self, root: Path, gene: Gene) -> None:
        super().__init__(root)
        self._gene = gene

    def gene(self, name: str) -> Gene:
        del name
        return Gene(self._gene.path, self._gene.project)


@contextmanager
def private_agent(gene: Gene) -> Iterator[Agent]:
    """Give an agent of a gene as it lies in its project, with an empty memory that is gone afterwards.

    It is granted all host modules, without settings.

    What a test that was killed left behind goes with the next one. Raises
    `ProjectError` when there is no place for temporary files.
    """
    try:
        folder = ScratchFolder("rotifer-suite-")
    except OSError as error:
        message = f"cannot make a memory for the test: {error.strerror}"
        raise ProjectError(message) from error
    with folder:
        root = ProjectFolder.init(folder.path / "project", "test").root
        yield Project(_OneGene(root, gene)).create_agent(
            "test", [gene.name], grants=[module.name for module in usable_modules()]
        )
