"""Projects and agents that last as long as a test."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rotifer_host import Agent, DataPolicy, Project
from rotifer_host.clock import Clock, SystemClock
from rotifer_host.sandbox import assemble

__all__ = ["GeneSource", "temporary_agent", "temporary_project"]

GeneSource = str | bytes | Path
"""A gene: a folder (copied), a `.wasm` or `.wat` file, a module's bytes, or WAT text (it starts with `(` or `;;`)."""

_PHENOTYPE: Final[dict[str, Any]] = {"domain": "test", "version": "0.1.0", "inputSchema": {}, "outputSchema": {}}
_SYSTEM_CLOCK: Final = SystemClock()


@contextmanager
def temporary_project(
    genes: Mapping[str, GeneSource],
    *,
    phenotype: Mapping[str, Any] | None = None,
    clock: Clock = _SYSTEM_CLOCK,
) -> Iterator[Project]:
    """Give a project of these genes, compiled, in a folder that is deleted afterwards.

    A gene that does not come with a folder gets the domain `test`, version 0.1.0 and
    schemas that take anything; `phenotype` replaces members of that.

    Not safe for anything you want to keep, nor for use after the `with` block. Genes
    are copied: a change of the original is not seen.
    """
    with tempfile.TemporaryDirectory(prefix="rotifer-test-") as folder:
        project = Project.init(Path(folder) / "project", "test-project", clock=clock)
        for name, source in genes.items():
            _put_gene(project.root / "genes" / name, source, _PHENOTYPE | dict(phenotype or {}))
            project.compile(name)
        yield project


@contextmanager
def temporary_agent(  # noqa: PLR0913 - what an agent can be made of
    genes: Mapping[str, GeneSource],
    *,
    phenotype: Mapping[str, Any] | None = None,
    clock: Clock = _SYSTEM_CLOCK,
    composition: str | Mapping[str, object] | None = None,
    exclusive: bool = False,
    memory_quota: int | None = None,
    data_policy: DataPolicy | None = None,
    grants: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
) -> Iterator[Agent]:
    """Give an agent of these genes, in this order, with an empty memory; deleted afterwards.

    Like `temporary_project`, and as little safe for what you want to keep. Its memory
    is a real one: rules, quota and audit log are those of any agent.
    """
    with temporary_project(genes, phenotype=phenotype, clock=clock) as project:
        yield project.create_agent(
            "test-agent",
            list(genes),
            composition=composition,
            exclusive=exclusive,
            memory_quota=memory_quota,
            data_policy=data_policy,
            grants=grants,
        )


def module_bytes(source: GeneSource) -> bytes:
    """Return the WebAssembly module of a source that is no folder. Raises `BadModuleError`."""
    if isinstance(source, str) and _is_path(source):
        source = Path(source)
    if isinstance(source, Path):
        data = source.read_bytes()
        return assemble(data, name=str(source)) if source.suffix == ".wat" else data
    return source if isinstance(source, bytes) else assemble(source)


def _put_gene(folder: Path, source: GeneSource, phenotype: Mapping[str, Any]) -> None:
    if isinstance(source, Path) or (isinstance(source, str) and _is_path(source)):
        path = Path(source)
        if path.is_dir():
            shutil.copytree(path, folder, dirs_exist_ok=True)
            return
    folder.mkdir(parents=True, exist_ok=True)  # the starter gene of a project may have the name
    (folder / "gene.wasm").write_bytes(module_bytes(source))
    (folder / "phenotype.json").write_text(json.dumps(phenotype), encoding="utf-8")


def _is_path(text: str) -> bool:
    return not text.lstrip().startswith(("(", ";;"))
