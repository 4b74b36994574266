"""Declares what `_ffi.py` knows, and writes it: `python -m rotifer_host.sandbox.ffi_build`.

A module written ahead spares every start the parser of C declarations, which takes
as long to import as the engine does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cffi import FFI

__all__ = ["write"]


def write(path: Path) -> None:
    """Write the module to `path`."""
    builder = FFI()
    builder.cdef(
        "typedef union { uint32_t i32; int64_t i64; float f32; double f64; uint64_t words[2]; } rotifer_value;"
    )
    builder.set_source("rotifer_host.sandbox._ffi", None)
    builder.emit_python_code(str(path))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("_ffi.py"))
