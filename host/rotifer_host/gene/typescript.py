"""From TypeScript or JavaScript to a module: esbuild makes one script of it, and QuickJS runs that.

A gene compiled so has no memory (memory-api.en.md, "Which genes can use memory"): its
`express` is called with the input only. What it returns, or what the promise it
returns comes to, is the output.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from rotifer_host.errors import GeneError
from rotifer_host.gene.quickjs import embed
from rotifer_host.gene.source import read_module_file
from rotifer_host.gene.toolchain import find_esbuild, find_quickjs, read_bundle

__all__ = ["Bundle", "build"]

_PATIENCE_S: Final = 60
_OPTIONS: Final = (
    "--bundle",
    "--format=esm",
    "--platform=neutral",
    "--main-fields=module,main",
    "--target=es2023",
    "--charset=utf8",
    "--external:qjs:*",
    "--minify-whitespace",
    "--color=false",
    "--log-level=warning",
    "--log-limit=10",
    "--sourcefile=<entry>",
)
_REMARK: Final = re.compile(
    r"^\S+ \[(?:ERROR|WARNING)\] (?P<text>.*)(?:\n\n +(?P<where>[^\n<]+:\d+:\d+:)$)?", re.MULTILINE
)
"""What esbuild complains of, and where; the entry is not the user's."""
_CALLS: Final = re.compile(r"\b(?:read|write|query|delete)Memory\b")


@dataclass(frozen=True, slots=True)
class Bundle:
    """What became of a gene's source."""

    module: bytes
    files: tuple[Path, ...]
    """What the script was made of, without the source itself."""
    steps: tuple[str, ...]
    """What was done, for people."""
    warnings: tuple[str, ...]


def build(source: Path, project: Path) -> Bundle:
    """Build the module of a TypeScript or JavaScript file that exports `express`.

    esbuild is looked for beside the source, in the project, and on the path. Raises
    `GeneError`: with code `GENE_TOOLCHAIN` when a tool is missing or does not work,
    `GENE_BUILD` for a source that does not become a script.
    """
    esbuild, quickjs = find_esbuild(source.parent, project), find_quickjs()
    with tempfile.TemporaryDirectory(prefix="rotifer-") as folder:
        remarks = _bundle(esbuild, source, Path(folder))
        content, names = read_bundle(esbuild, Path(folder) / "gene.js", Path(folder) / "meta.json")
    script = content.decode()
    inputs = {Path(os.path.normpath(source.parent / name)) for name in names if not name.startswith("<")}
    files = tuple(sorted(inputs - {source}))
    calls = sorted(set(_CALLS.findall(script)))
    if calls:
        remarks.append(
            f"the gene names {', '.join(calls)}: compiled from TypeScript it has no memory, on Node.js it has"
        )
    return Bundle(
        module=embed(read_module_file(quickjs), script, name=os.fspath(quickjs)),
        files=files,
        steps=(
            f"bundled {', '.join((source.name, *(file.name for file in files)))} with {esbuild}",
            f"made the module of the script, {len(script.encode()):,} bytes, and a copy of the engine {quickjs}",
        ),
        warnings=tuple(remarks),
    )


def _bundle(esbuild: Path, source: Path, folder: Path) -> list[str]:
    """Make `gene.js` and `meta.json` in `folder`; return esbuild's warnings."""
    command = [
        os.fspath(esbuild),
        *_OPTIONS,
        f"--banner:js={_text('before.js')}",
        f"--metafile={folder / 'meta.json'}",
        f"--outfile={folder / 'gene.js'}",
    ]
    entry = _text("entry.js").replace("$GENE", source.name)
    try:
        done = subprocess.run(  # noqa: S603 - the user's own tool
            command, input=entry.encode(), cwd=source.parent, capture_output=True, timeout=_PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise GeneError(f"{esbuild} did not end within {_PATIENCE_S} s", code="GENE_TOOLCHAIN") from None
    except OSError as error:
        raise GeneError(f"cannot start {esbuild}: {error.strerror}", code="GENE_TOOLCHAIN") from error
    said = done.stderr.decode(errors="replace")
    remarks = list(_remarks(said))
    if done.returncode == 0:
        return remarks
    if not remarks:
        words = f": {' '.join(said.split())}" if said.strip() else ""
        raise GeneError(f"{esbuild} failed with status {done.returncode}{words}", code="GENE_TOOLCHAIN")
    raise GeneError(f"cannot bundle {source.name}: {'; '.join(remarks)}", code="GENE_BUILD", help=_help(said))


def _remarks(said: str) -> Iterator[str]:
    for found in _REMARK.finditer(said):
        text, where = found.group("text"), found.group("where")
        yield text if where is None else f"{where} {text}"


def _help(said: str) -> str | None:
    if "No matching export" in said and '"express"' in said:
        return "write `export function express(input) { … }`"
    if "built into node" in said:
        return "a compiled gene has the language and nothing of Node.js; not compiled, it runs on Node.js"
    return None


def _text(name: str) -> str:
    return (resources.files("rotifer_host.gene") / "javascript" / name).read_text(encoding="utf-8")
