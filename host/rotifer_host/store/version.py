"""The number of an LMDB file's last committed transaction, as one readable cell.

Every read transaction takes it from the lock file that all processes share, and so
does this: while the cell holds the same number, a new read transaction would see the
same state. Where the cell lies depends on the size of the platform's mutex; what is
found there is compared with what LMDB says, and not used when the two differ.

LMDB holds POSIX locks on its lock file, and a process loses those when it closes any
descriptor of the file. So the page is mapped before LMDB opens the file, and without
`mmap.mmap`, which keeps a descriptor: that closed, the next process would take itself
for the first, and clear the table of readers under everybody's feet.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import weakref
from ctypes import c_int, c_long, c_size_t, c_void_p
from pathlib import Path
from typing import Final

import lmdb

__all__ = ["map_version_page", "version_cell"]

_MUTEX_BYTES: Final = {"x86_64": 40, "aarch64": 48}
"""Of `pthread_mutex_t` in glibc: other C libraries have other sizes."""
_HEAD_BYTES: Final = 8  # magic and format, before the mutex
_CELL_BYTES: Final = 8
_FAILED: Final = c_void_p(-1).value

_libc: Final = ctypes.CDLL(None)
_libc.mmap.argtypes = (c_void_p, c_size_t, c_int, c_int, c_int, c_long)
_libc.mmap.restype = c_void_p
_libc.munmap.argtypes = (c_void_p, c_size_t)


def map_version_page(path: Path) -> memoryview | None:
    """Map the cell of the environment that is about to be opened at `path`; None where that cannot be done.

    It must not be open in this process yet, and may be read only once it is.
    """
    mutex = _MUTEX_BYTES.get(platform.machine()) if _has_glibc() else None
    if mutex is None:
        return None
    try:
        descriptor = os.open(path.with_name(f"{path.name}-lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        address = _libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    finally:
        os.close(descriptor)
    if address == _FAILED:
        return None
    cell = (ctypes.c_ubyte * _CELL_BYTES).from_address(address + _HEAD_BYTES + mutex)
    weakref.finalize(cell, _libc.munmap, address, mmap.PAGESIZE).atexit = False
    return memoryview(cell).cast("B").toreadonly()


def _has_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError):  # a name that other C libraries do not know
        return False


def version_cell(cell: memoryview | None, env: lmdb.Environment) -> memoryview | None:
    """Return the mapped cell if it is what it should be; None where that is not certain."""
    if cell is None:
        return None
    return cell if int.from_bytes(cell, "little") == env.info()["last_txnid"] else None
