"""The few ways this package touches plain files: whole or not at all, private, and with errors that say where."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

from rotifer_host.errors import RotiferError

try:
    from rotifer_host import _files
except ImportError:  # not built: there was no C compiler
    _files = None  # type: ignore[assignment]

__all__ = [
    "absolute",
    "check_writable",
    "is_file",
    "is_folder",
    "make_private_folder",
    "read_json",
    "replacing",
    "size_if_at",
    "sync_folder",
    "write_atomic",
]

_PRIVATE: Final = 0o700


def absolute(path: Path, error: Callable[[str], RotiferError]) -> Path:
    """Return `path` from the root, a link in it staying a link.

    Raises what `error` makes of a relative path whose folder, the current one, is gone.
    """
    try:
        return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps `..`, and resolve follows links
    except OSError as cause:
        message = f"cannot find {path}: the current folder is gone, or may not be looked into"
        raise error(message) from cause


def is_file(path: Path, error: Callable[[str], RotiferError]) -> bool:
    """Tell whether `path` is a file, links followed.

    Raises what `error` makes of a path nobody can say that of: in a folder that may
    not be entered, with a name that is too long, through links that go in a circle.
    """
    return stat.S_ISREG(_mode(path, error))


def is_folder(path: Path, error: Callable[[str], RotiferError]) -> bool:
    """Tell whether `path` is a folder, as `is_file` does."""
    return stat.S_ISDIR(_mode(path, error))


def check_writable(path: Path, error: Callable[[str], RotiferError]) -> None:
    """Raise what `error` makes of a path that no file can be written to; nothing is changed there."""
    folder = absolute(path, error).parent
    if is_folder(path, error):
        why = "it is a folder"
    elif not is_folder(folder, error):
        why = f"there is no folder {folder}"
    elif not os.access(path if os.path.lexists(path) else folder, os.W_OK):
        why = os.strerror(errno.EACCES)
    else:
        return
    raise error(f"cannot write {path}: {why}")


def write_atomic(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file as `replacing` does."""
    with replacing(path, mode=mode) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Give a file to write, so that a reader, a crash or a power cut sees the old one or the new one, never a part.

    It is at `path` when the block ends; `mode` is narrowed by the umask. When the block
    raises, and by its own `OSError`, the old file stands and no temporary file is left.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            os.fsync(fd)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def _size_if_at(path: str, file: tuple[int, int]) -> int:
    """Return the size of the file at `path`, links followed, if it is the one with this device and inode; else -1.

    Raises `OSError` where there is no telling.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - every line and every change comes here
    except FileNotFoundError:
        return -1
    return found.st_size if file == (found.st_dev, found.st_ino) else -1


size_if_at: Final = _size_if_at if _files is None else _files.size_if_at


def sync_folder(path: Path) -> None:
    """Bring the names in a folder to the disk. Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_private_folder(path: Path) -> None:
    """Make a folder only its owner may enter (0700), or close one that is open to others; parents must exist.

    Raises `OSError`.
    """
    try:
        path.mkdir(mode=_PRIVATE)
    except FileExistsError:
        mode = path.stat().st_mode
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
        if mode & 0o077:
            path.chmod(_PRIVATE)


def read_json(path: Path, error: Callable[[str], RotiferError], *, if_missing: str | None = None) -> object:
    """Read one JSON document in UTF-8; `NaN` and infinities are not JSON.

    Raises what `error` makes of a message naming the file and, for bad JSON, line and column;
    `if_missing` is the help when there is no such file.
    """
    help_text = None
    try:
        text = _content(path).decode()
        return json.loads(text, parse_constant=_refuse_constant)
    except OSError as cause:
        message = f"cannot read {path}: {cause.strerror}"
        help_text = if_missing if isinstance(cause, FileNotFoundError) else None
    except UnicodeDecodeError as cause:
        message = f"{path} is not UTF-8: byte {cause.start}"
    except json.JSONDecodeError as cause:
        message = f"{path} is not JSON: {cause.msg} at line {cause.lineno}, column {cause.colno}"
    except RecursionError:
        message = f"{path} is nested too deeply"
    except ValueError as cause:
        message = f"{path} is not JSON this host reads: {cause}"
    refusal = error(message)
    refusal.help = help_text or refusal.help
    raise refusal


def _mode(path: Path, error: Callable[[str], RotiferError]) -> int:
    """Return type and permissions of what lies at `path`, 0 when nothing does."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as cause:
        message = f"cannot look at {path}: {cause.strerror}"
        raise error(message) from cause
    except ValueError as cause:
        message = f"cannot look at {path}: {cause}"
        raise error(message) from cause


def _content(path: Path) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe that nobody writes into is empty
    with os.fdopen(fd, "rb") as file:
        os.set_blocking(fd, True)
        return file.read()


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is not a JSON number"
    raise ValueError(message)
