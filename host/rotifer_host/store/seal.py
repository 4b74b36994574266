"""Has anybody but this package changed a memory file since it was last closed?

Walking all of a file's pages before LMDB maps them costs milliseconds, more than a whole
small run. So the last one to close a file notes, in the lock file beside it, what the
operating system says of it. A file that still answers to that note has not been cut,
copied over or edited, and its pages were sound; any other one is looked through.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

__all__ = ["is_sealed", "seal", "was_sealed"]

_NOTE_BYTES: Final = 120


def is_sealed(path: Path, note: Path) -> bool:
    """Tell whether the file is as it was when `seal` was last called."""
    try:
        return note.read_bytes() == _note(path)
    except OSError:
        return False


def was_sealed(path: Path, note: Path) -> bool:
    """Tell whether `seal` was ever called for this very file, whatever is in it now."""
    try:
        return note.read_bytes().startswith(_begin(path.stat()))
    except OSError:
        return False


def seal(path: Path, note: Path) -> None:
    """Note that the file was closed in order; without effect where that cannot be written."""
    with contextlib.suppress(OSError):
        descriptor = os.open(note, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(descriptor, _note(path), 0)
        finally:
            os.close(descriptor)


def _note(path: Path) -> bytes:
    status = path.stat()
    text = b"%b%d %d %d\n" % (_begin(status), status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return text.ljust(_NOTE_BYTES)


def _begin(status: os.stat_result) -> bytes:
    return b"closed 1 %d " % status.st_ino
