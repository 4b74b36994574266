"""Compiled modules on disk.

Loading one means running native code, so only files this user alone can write are
read, in a folder this user alone can write. Every file carries a digest of its key
and content: one that was torn by a crash, altered, or put in another one's place is a
miss, as is any other failure. The file is read whole and its bytes are checked and then used, rather than
mapped: what was checked is what runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import threading
from pathlib import Path
from typing import Final

__all__ = ["ModuleCache"]

_HEADER: Final = b"rotifer compiled module 2\n"
_DIGEST_BYTES: Final = 32
_SUFFIX: Final = ".cwasm"
_TEMPORARY: Final = ".partial"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_MAX_BYTES: Final = 512 << 20


class ModuleCache:
    """A folder of compiled modules by key, at most `max_bytes` of them; the oldest go first. Never raises `OSError`."""

    def __init__(self, folder: Path, *, max_bytes: int = _MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def get(self, key: str) -> bytes | None:
        """Return what was put under `key`; None when there is nothing that can be trusted."""
        try:
            self._check_folder()
            content = _read_own(self._folder / (key + _SUFFIX))
        except OSError:
            return None
        payload = content[len(_HEADER) + _DIGEST_BYTES :]
        return payload if content == _sealed(key, payload) else None

    def put(self, key: str, payload: bytes) -> None:
        """Keep `payload` under `key`, if that is possible."""
        temporary = self._folder / f"{key}.{os.getpid()}-{threading.get_ident()}{_TEMPORARY}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_folder()
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(_sealed(key, payload))
            temporary.replace(self._folder / (key + _SUFFIX))
            self._evict()
        except OSError:
            pass
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _check_folder(self) -> None:
        _check_own(self._folder.stat())

    def _evict(self) -> None:
        files = [
            (status.st_mtime_ns, status.st_size, entry)
            for entry in self._folder.iterdir()
            if entry.suffix in (_SUFFIX, _TEMPORARY) and stat.S_ISREG((status := entry.lstat()).st_mode)
        ]
        excess = sum(size for _, size, _ in files) - self._max_bytes
        for _, size, entry in sorted(files):
            if excess <= 0:
                break
            entry.unlink(missing_ok=True)
            excess -= size


def _sealed(key: str, payload: bytes) -> bytes:
    digest = hashlib.sha256(b"%b\0" % key.encode())
    digest.update(payload)
    return b"%b%b%b" % (_HEADER, digest.digest(), payload)


def _read_own(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError("not a regular file")
        _check_own(status)
        return file.read()


def _check_own(status: os.stat_result) -> None:
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
        raise PermissionError("somebody else could have written it")
