"""Temporary folders that are gone afterwards, also those of a process that was killed.

A folder is locked as long as it is in use; whoever makes another one of its kind removes
those that nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

__all__ = ["ScratchFolder", "left_over"]

_LOCK: Final = "in-use"


class ScratchFolder:
    """A private folder (0700) for temporary files; `close`, or the end of a `with` block, deletes it.

    `prefix` begins its name, and those of the folders it removes; it lies in `where`, or
    where temporary files do. Raises `OSError`.
    """

    def __init__(self, prefix: str, where: Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
        try:
            _remove_leftovers(self.path.parent, prefix)
            self._lock = _locked(self.path)
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def close(self) -> None:
        """Delete the folder and all that is in it; called once."""
        try:
            shutil.rmtree(self.path, ignore_errors=True)
        finally:
            os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _locked(folder: Path) -> int:
    """Make a file in the folder that is locked until its descriptor is closed; it comes into being locked."""
    draft = folder / f"{_LOCK}.tmp"
    lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        draft.rename(folder / _LOCK)
    except BaseException:
        os.close(lock)
        raise
    return lock


def left_over(where: Path, prefix: str) -> list[Path]:
    """Return the folders that processes which were killed have left there."""
    return [folder for folder in sorted(where.glob(f"{prefix}*")) if _if_unused(folder, lambda _folder: None)]


def _remove_leftovers(where: Path, prefix: str) -> None:
    for folder in where.glob(f"{prefix}*"):
        _if_unused(folder, shutil.rmtree)


def _if_unused(folder: Path, do: Callable[[Path], None]) -> bool:
    """Do this with a folder unless it is somebody else's, still in use, or gone since; tell whether it was done."""
    with suppress(OSError):
        if folder.lstat().st_uid != os.getuid():
            return False
        fd = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            do(folder)
        finally:
            os.close(fd)
        return True
    return False
