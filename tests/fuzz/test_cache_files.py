"""Damaged files of compiled modules: a miss and a compilation, never a crash, and never another module's code."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

COUNT = int(os.environ.get("FUZZ_FILES", "150"))

PROGRAM = """
import hashlib, json, random, sys
from pathlib import Path
from rotifer_host.limits import Limits
from rotifer_host.sandbox import Deadline, HostFunctions, HostTime, Sandbox, assemble, core_functions
from rotifer_host.sandbox.library import LIBRARY

folder, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
sandbox = Sandbox(HostFunctions(core_functions()), cache_dir=folder)
modules = [assemble(f'(module (memory (export "memory") 1) (data (i32.const 1024) "{number}") (func (export "express")'
    f' (param i32 i32) (result i32) (i32.const 1024)))') for number in range(2)]

def run(wasm):
    LIBRARY.forget()
    return sandbox.run(sandbox.load(wasm, name="cached"), b"{}", limits=Limits(), deadline=Deadline(60_000),
        host_time=HostTime(30_000), services=None, context={}, logical_ms=0).output_json.decode()

assert [run(wasm) for wasm in modules] == ["0", "1"]
own, other = (next(folder.glob(f"{hashlib.sha256(wasm).hexdigest()}*.cwasm")) for wasm in modules)
good = own.read_bytes()
randomness = random.Random(seed)
outputs = []
for number in range(count):
    data = bytearray(good)
    kind = number % 5
    at = randomness.randrange(len(data) if number % 2 else 64)
    if kind == 0:
        data[at] ^= 1 << randomness.randrange(8)
    elif kind == 1:
        data = data[:at]
    elif kind == 2:
        data += randomness.randbytes(at + 1)
    elif kind == 3:
        data[at : at + 64] = bytes(64)
    else:
        data = bytearray(other.read_bytes())
    own.write_bytes(data)
    outputs.append(run(modules[0]))
    own.write_bytes(good)
print(json.dumps(outputs))
"""


def test_any_damage(tmp_path: Path) -> None:
    """Flipped bits, ends cut off or put on, zeros, another module's file: what runs is the gene that was asked for."""
    seed = int(os.environ.get("FUZZ_SEED") or random.randrange(1 << 32))  # noqa: S311 - to be repeated
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "cache", str(seed), str(COUNT)],
        capture_output=True,
        timeout=250 + COUNT,
        check=False,
    )
    assert done.returncode == 0, f"FUZZ_SEED={seed}: {done.stderr.decode()}"
    assert json.loads(done.stdout) == ["0"] * COUNT, f"FUZZ_SEED={seed}"
