"""The few ways this package touches plain files: whole or not at all, private, and with errors that say where."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from rotifer_host.errors import RotiferError

__all__ = ["make_private_folder", "read_json", "write_atomic"]

_PRIVATE: Final = 0o700


def write_atomic(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file so that a reader, a crash or a power cut sees the old one or the new one, never a part.

    `mode` is narrowed by the umask. Raises `OSError`; then the old file stands and no
    temporary file is left.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fsync(fd)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def make_private_folder(path: Path) -> None:
    """Make a folder only its owner may enter (0700), or close one that is open to others; parents must exist.

    Raises `OSError`.
    """
    try:
        path.mkdir(mode=_PRIVATE)
    except FileExistsError:
        mode = path.stat().st_mode
        if not path.is_dir():
            raise
        if mode & 0o077:
            path.chmod(_PRIVATE)


def read_json(path: Path, error: Callable[[str], RotiferError]) -> object:
    """Read one JSON document in UTF-8; `NaN` and infinities are not JSON.

    Raises what `error` makes of a message naming the file and, for bad JSON, line and column.
    """
    try:
        text = path.read_bytes().decode()
        return json.loads(text, parse_constant=_refuse_constant)
    except OSError as cause:
        message = f"cannot read {path}: {cause.strerror}"
    except UnicodeDecodeError as cause:
        message = f"{path} is not UTF-8: byte {cause.start}"
    except json.JSONDecodeError as cause:
        message = f"{path} is not JSON: {cause.msg} at line {cause.lineno}, column {cause.colno}"
    except RecursionError:
        message = f"{path} is nested too deeply"
    except ValueError as cause:
        message = f"{path} is not JSON this host reads: {cause}"
    raise error(message)


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is not a JSON number"
    raise ValueError(message)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
