"""Coverage-guided fuzzing of what reads modules: their sections, their imports, their compilation. `make fuzz`.

    python tests/fuzz/atheris_modules.py [CORPUS] [-max_total_time=SECONDS] [-runs=N]

The engine itself is not instrumented, and a crash of its is a finding all the same.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["rotifer_host"]):
    from rotifer_host.errors import RotiferError
    from rotifer_host.gene.sections import code_digest, read_source
    from rotifer_host.sandbox import HostFunctions, Sandbox, core_functions

SANDBOX = Sandbox(HostFunctions(core_functions()))
READERS = (code_digest, read_source, lambda wasm: SANDBOX.load(wasm, name="fuzz"))


def one(data: bytes) -> None:
    """Load: a module or one of this package's errors."""
    for wasm in (data, b"\0asm\1\0\0\0" + data):
        for read in READERS:
            try:
                read(wasm)
            except RotiferError:
                continue


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
