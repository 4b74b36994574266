"""`rotifer doctor`."""

from __future__ import annotations

import os
import platform
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import click

import rotifer_host
from rotifer_host import contract
from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.list_genes import gene_states
from rotifer_host.cli.output import print_document, working
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.errors import GeneError, ModuleError, ProjectError, RotiferError
from rotifer_host.files import is_file, is_folder
from rotifer_host.limits import Limits, format_size

__all__ = ["doctor"]

_OTHERS: Final = 0o077
_OTHERS_WRITE: Final = 0o022
_BLOCK: Final = 512
"""Bytes of `st_blocks`: memory files are sparse, their length says nothing."""

_STATE: Final = (
    ("agents", is_folder, "a folder"),
    ("memory", is_folder, "a folder"),
    ("audit.jsonl", is_file, "a file"),
    ("telemetry.jsonl", is_file, "a file"),
)

_ECHO: Final = (
    b'(module (memory (export "memory") 1) (func (export "express") (param i32 i32) (result i32) i32.const 0))'
)


class Finding(NamedTuple):
    """One thing looked at."""

    name: str
    ok: bool
    detail: str


@click.command(cls=Command, examples=["rotifer doctor", "rotifer doctor --json"])
@click.pass_obj
def doctor(session: Session) -> int:
    """Show what this installation and this project consist of, and what is wrong with them.

    Works outside a project too, and changes nothing. Exits 1 when something is wrong.
    """
    with working("looking at everything"):
        findings = [*_installation(session.directory), *_surroundings(session)]
    ok = all(finding.ok for finding in findings)
    if session.json:
        print_document({"ok": ok, "findings": [finding._asdict() for finding in findings]})
    else:
        print_table(
            ("", "", ""),
            [
                (finding.name, Cell("ok", "green") if finding.ok else Cell("wrong", "bold red"), finding.detail)
                for finding in findings
            ],
        )
    return contract.EXIT_OK if ok else contract.EXIT_FAILED


def _installation(folder: Path) -> Iterator[Finding]:
    yield Finding("rotifer", ok=True, detail=rotifer_host.__version__)
    yield Finding("python", ok=True, detail=f"{platform.python_implementation()} {platform.python_version()}")
    yield Finding("platform", ok=True, detail=platform.platform())
    for package in ("wasmtime", "lmdb", "msgspec", "orjson", "cffi"):
        yield _tried(package, partial(_version, package))
    yield _tried("sandbox", _run_a_guest)
    yield _tried("module cache", _module_cache)
    yield _tried("node", lambda: _node(folder))
    yield _tried("host modules", _host_modules)


def _host_modules() -> str:
    from rotifer_host.modules.registry import find_module, module_names  # noqa: PLC0415 - as above

    names = module_names()
    for name in names:
        find_module(name)
    return ", ".join(names)


def _surroundings(session: Session) -> Iterator[Finding]:
    from rotifer_host.cli import doctor_project as looks  # noqa: PLC0415 - loads LMDB

    yield _tried("telemetry", looks.telemetry)
    try:
        project = session.project()
    except ProjectError as error:
        yield Finding("project", ok=error.code == "NO_PROJECT", detail=error.message)
        return
    yield Finding("project", ok=True, detail=str(project.root))
    yield _tried("genes", lambda: _genes(project))
    yield _tried("agents", lambda: f"{len(project.agents())}")
    yield _tried("memory", lambda: looks.memories(project))
    yield _tried("grants", lambda: looks.grants(project))
    yield _tried("left over", lambda: looks.leftovers(project))
    yield _tried("state", lambda: _state(project.root / ".rotifer"))


def _version(package: str) -> str:
    from importlib.metadata import version  # noqa: PLC0415 - takes longer to load than help to show

    return version(package)


def _tried(name: str, look: Callable[[], str]) -> Finding:
    """Look at one thing; what it raises is the finding."""
    try:
        return Finding(name, ok=True, detail=look())
    except RotiferError as error:
        return Finding(name, ok=False, detail=error.message)
    except ModuleNotFoundError:
        return Finding(name, ok=False, detail="not installed")
    except OSError as error:
        return Finding(name, ok=False, detail=str(error))


def _run_a_guest() -> str:
    """Run a real guest, so that an engine that cannot work here is found out."""
    from rotifer_host.api.sandboxes import wanted_path  # noqa: PLC0415 - `rotifer --help` needs none of it
    from rotifer_host.sandbox import (  # noqa: PLC0415
        Deadline,
        HostFunctions,
        HostTime,
        Sandbox,
        assemble,
    )

    sandbox = Sandbox(HostFunctions(), call_path=wanted_path(None), cache_dir=None)
    result = sandbox.run(
        sandbox.load(assemble(_ECHO), name="echo"),
        b"true",
        limits=Limits(),
        deadline=Deadline(contract.DEFAULT_DEADLINE_MS),
        host_time=HostTime(contract.DEFAULT_HOST_TIME_MS),
        services=None,
        context={},
        logical_ms=0,
    )
    if result.output is not True:
        raise ModuleError(f"a guest that echoes did not: {result.error}")
    return f"works; host calls take the {sandbox.call_path} path"


def _module_cache() -> str:
    from rotifer_host.project import module_cache_dir  # noqa: PLC0415

    folder = module_cache_dir()
    if not folder.exists():
        return f"{folder}, not made yet"
    if folder.stat().st_mode & _OTHERS_WRITE:
        raise ProjectError(f"{folder} is not used: others may write to it")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ProjectError(f"{folder} is not used: it cannot be written")
    return f"{folder}, {format_size(_size(folder))}"


def _node(folder: Path) -> str:
    """Find what runs genes in TypeScript or JavaScript; that there is nothing is wrong only if it was asked for."""
    from rotifer_host.gene.toolchain import find_esbuild  # noqa: PLC0415
    from rotifer_host.node.program import NODE_VARIABLE, find_node  # noqa: PLC0415

    try:
        node = find_node()
    except GeneError as error:
        if os.environ.get(NODE_VARIABLE):
            raise
        return f"none that is new enough, which genes in TypeScript or JavaScript need: {error.help}"
    typescript = "runs TypeScript"
    if not node.strips_types:
        try:
            typescript = f"runs TypeScript with {find_esbuild(folder)}"
        except GeneError:
            typescript = "does not run TypeScript without esbuild"
    network = "closes" if node.closes_network else "does not close"
    return f"{node.shown} ({node.path}, from {node.origin}); {typescript}; {network} the network to genes"


def _genes(project: rotifer_host.Project) -> str:
    states = Counter(gene.state for gene in gene_states(project.genes()))
    return ", ".join(f"{count} {state}" for state, count in states.items()) or "none"


def _state(folder: Path) -> str:
    if not os.path.lexists(folder):
        return "none yet"
    _check_usable(folder, is_folder, "a folder")
    if folder.stat().st_mode & _OTHERS:
        raise ProjectError(f"others may look into {folder}; type `chmod 700 {shlex.quote(str(folder))}`")
    for name, kind, what in _STATE:
        if os.path.lexists(folder / name):
            _check_usable(folder / name, kind, what)
    parts = (("memory", "memory"), ("audit log", "audit.jsonl"), ("telemetry", "telemetry.jsonl"))
    return ", ".join(f"{name} {format_size(_size(folder / file))}" for name, file in parts)


def _check_usable(path: Path, kind: Callable[[Path, Callable[[str], RotiferError]], bool], what: str) -> None:
    if not kind(path, ProjectError):
        raise ProjectError(f"{path} is not {what}")
    if not os.access(path, os.W_OK):
        raise ProjectError(f"{path} cannot be written, so memory cannot be changed")


def _size(path: Path) -> int:
    """Return the bytes on disk of a file, or of all files in a folder; 0 when there is none."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_blocks * _BLOCK for file in files if file.is_file())
