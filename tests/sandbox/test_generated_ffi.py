"""The declarations that are written ahead."""

from __future__ import annotations

from pathlib import Path

from rotifer_host.sandbox import _ffi, ffi_build


def test_written_module_is_current(tmp_path: Path) -> None:
    """`_ffi.py` is what `python -m rotifer_host.sandbox.ffi_build` writes."""
    ffi_build.write(tmp_path / "_ffi.py")
    assert Path(_ffi.__file__).read_text() == (tmp_path / "_ffi.py").read_text()
