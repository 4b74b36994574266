"""Where a gene's module comes from, and what to type to get it."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import Final

from rotifer_host import contract
from rotifer_host.errors import GeneError, UsageError
from rotifer_host.files import is_file, write_atomic

__all__ = [
    "ARTEFACT_FILE",
    "RESULT_FILE",
    "SCRIPTS",
    "compile_command",
    "default_source",
    "entry_of",
    "how_to_build",
    "is_script",
    "read_given_file",
    "read_module_file",
    "write_gene_file",
]

ARTEFACT_FILE: Final = "gene.ir.wasm"
RESULT_FILE: Final = ".compile-result.json"

SCRIPTS: Final = ("index.ts", "index.js", "index.mjs")
"""A gene's TypeScript or JavaScript, which runs on Node.js where it is not compiled."""
_MODULES: Final = ("gene.wasm", "gene.wat")
_SCRIPT_SUFFIXES: Final = (".ts", ".js", ".mjs")
_BUILD_COMMANDS: Final = (
    ("Cargo.toml", "cargo build --release --target wasm32-unknown-unknown"),
    ("asconfig.json", "npx asc assembly/index.ts -o gene.wasm -O2"),
    ("assembly/index.ts", "npx asc assembly/index.ts -o gene.wasm -O2"),
    ("go.mod", "GOOS=wasip1 GOARCH=wasm go build -o gene.wasm ."),
    ("build.zig", "zig build -Dtarget=wasm32-freestanding -Doptimize=ReleaseSmall"),
    ("gene.ts", "npx asc gene.ts -o gene.wasm -O2 --use abort="),
    (
        "*.zig",
        (
            "zig build-exe {file} -target wasm32-freestanding -O ReleaseSmall -fno-entry"
            " --export=alloc --export=express -femit-bin=gene.wasm"
        ),
    ),
    ("*.rs", "rustc --target wasm32-unknown-unknown --crate-type cdylib -O -o gene.wasm {file}"),
    ("*.c", "clang --target=wasm32 -Os -ffreestanding -mbulk-memory -nostdlib -Wl,--no-entry -o gene.wasm {file}"),
)


def default_source(folder: Path) -> Path | None:
    """Return what compiling uses when no file is given, None when nothing is there. Raises `GeneError`.

    It is the first of `gene.wasm`, `gene.wat`, `index.ts`, `index.js` and `index.mjs`.
    """
    name = next((name for name in _MODULES if is_file(folder / name, GeneError)), None) or entry_of(folder)
    return None if name is None else folder / name


def entry_of(folder: Path) -> str | None:
    """Return which file of a gene's folder Node.js would run: the first of `SCRIPTS`; None when there is none.

    An `index.ts` beside `asconfig.json` is AssemblyScript. Raises `GeneError`.
    """
    if is_file(folder / "asconfig.json", GeneError):
        return None
    return next((name for name in SCRIPTS if is_file(folder / name, GeneError)), None)


def is_script(source: Path) -> bool:
    """Tell whether this is TypeScript or JavaScript, by its name."""
    return source.suffix in _SCRIPT_SUFFIXES


def how_to_build(folder: Path) -> str:
    """Say how to get from the source in `folder`, which has no module, to a compiled gene."""
    name = folder.name
    for pattern, command in _BUILD_COMMANDS:
        found = sorted(folder.glob(pattern))
        if found:
            build = command.format(file=shlex.quote(found[0].name))
            if "gene.wasm" in build:
                return f"in {folder} type `{build}`, then `rotifer compile {name}`"
            return f"in {folder} type `{build}`, then `rotifer compile {name} --wasm FILE` with the .wasm file it made"
    return f"put gene.wasm, gene.wat or index.ts into {folder}, or type `rotifer compile {name} --wasm FILE`"


def compile_command(folder: Path, project: Path, source: Path | None) -> str:
    """Return the command that compiles the gene in `folder` from `source`, as it can be typed here and now."""
    words = ["rotifer", "compile", folder.name]
    if source is not None and source != default_source(folder):
        words += ["--wasm", os.fspath(source)]
    try:
        inside = Path.cwd().is_relative_to(project)
    except OSError:  # the current folder is deleted
        inside = False
    if not inside:
        words += ["-C", os.fspath(project)]
    return shlex.join(words)


def read_given_file(path: Path) -> bytes:
    """Read a module or its text that somebody named, as `read_module_file` does. Raises `UsageError`."""
    try:
        return read_module_file(path)
    except FileNotFoundError:
        message = f"there is no file {path}"
        raise UsageError(message) from None
    except GeneError as error:
        raise UsageError(error.message) from error


def read_module_file(path: Path) -> bytes:
    """Read a module or its text, at most 64 MiB. Raises `GeneError`, or `FileNotFoundError`."""
    try:
        # O_NONBLOCK: a pipe must not make the host wait
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                message = f"{path} is not a file"
                raise GeneError(message)
            data = file.read(contract.MAX_MODULE_BYTES + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        message = f"cannot read {path}: {error.strerror if isinstance(error, OSError) else error}"
        raise GeneError(message) from error
    if len(data) > contract.MAX_MODULE_BYTES:
        message = f"{path} is larger than {contract.MAX_MODULE_BYTES} bytes, the most a module may have"
        raise GeneError(message)
    return data


def write_gene_file(path: Path, data: bytes) -> None:
    """Write a file of a gene's folder, whole or not at all. Raises `GeneError`."""
    try:
        write_atomic(path, data)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}"
        raise GeneError(message) from error
