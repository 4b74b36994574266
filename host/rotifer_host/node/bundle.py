"""Where Node.js cannot strip types itself: TypeScript becomes one JavaScript file, with esbuild."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from rotifer_host.errors import GeneError
from rotifer_host.gene.script import Script
from rotifer_host.gene.toolchain import find_esbuild, read_bundle
from rotifer_host.node.program import NodeProgram, how_to_get_node
from rotifer_host.node.workspace import write_files

__all__ = ["bundler", "runnable"]

_PATIENCE_S: Final = 60
_BUNDLED: Final = "index.bundled.mjs"
_METAFILE: Final = "index.bundled.json"
_OPTIONS: Final = (
    "--bundle",
    "--platform=node",
    "--format=esm",
    "--target=node20",
    "--charset=utf8",
    "--sourcemap=inline",
    "--sources-content=false",
    "--external:@rotifer/playground",
    "--color=false",
    "--log-level=error",
    "--log-limit=3",
    f"--outfile={_BUNDLED}",
    f"--metafile={_METAFILE}",
)


def runnable(script: Script, node: NodeProgram, *folders: Path) -> Script:
    """Return a script that `node` can run: itself, or one file that esbuild makes of it.

    Raises `GeneError` as `bundler` does, and with code `GENE_BUILD` for what esbuild refuses.
    """
    esbuild = bundler(script, node, *folders)
    if esbuild is None:
        return script
    with tempfile.TemporaryDirectory(prefix="rotifer-") as folder:
        write_files(Path(folder), script.files)
        _run(esbuild, script.entry, folder)
        content, inputs = read_bundle(esbuild, Path(folder) / _BUNDLED, Path(folder) / _METAFILE)
        # esbuild reads whatever a script imports; a process may read nothing but the gene's files
        foreign = sorted(set(inputs) - set(script.files))
        if foreign:
            raise GeneError(f"{script.entry} imports what is no file of the gene: {foreign[0]}", code="GENE_BUILD")
        return Script(_BUNDLED, {_BUNDLED: content})


def bundler(script: Script, node: NodeProgram, *folders: Path) -> Path | None:
    """Return the esbuild that a script needs, None when `node` runs it as it is.

    It is looked for in the `node_modules` of `folders`. Raises `GeneError` with code `NODE`
    when it is not there.
    """
    if node.strips_types or not script.entry.endswith(".ts"):
        return None
    try:
        return find_esbuild(*folders)
    except GeneError as error:
        raise GeneError(
            f"Node.js {node.shown} ({node.path}) runs TypeScript only with esbuild: {error.message}",
            code="NODE",
            help=f"{how_to_get_node()}; or {error.help}",
        ) from error


def _run(esbuild: Path, entry: str, folder: str) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the user's own tool
            [os.fspath(esbuild), entry, *_OPTIONS],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=folder,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GeneError(f"{esbuild} did not end within {_PATIENCE_S} s", code="GENE_TOOLCHAIN") from None
    except OSError as error:
        raise GeneError(f"cannot start {esbuild}: {error.strerror}", code="GENE_TOOLCHAIN") from error
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise GeneError(f"esbuild refuses {entry}: {said}", code="GENE_BUILD")
