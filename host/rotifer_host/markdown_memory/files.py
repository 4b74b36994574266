"""The Markdown files under one folder: found without following links, read whole, replaced whole."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rotifer_host import contract
from rotifer_host.errors import MarkdownError
from rotifer_host.files import write_atomic
from rotifer_host.lock import FileLock, Patience
from rotifer_host.text import is_unicode

__all__ = ["MarkdownFiles"]


_LOCK: Final = ".lock"


class MarkdownFiles:
    """The `.md` files below `folder`, by their path relative to it, with `/`.

    Raises `MarkdownError` with the code `MEMORY_STORAGE_ERROR`: a file or folder that
    cannot be read or written, is a link, is not UTF-8, or is too large.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = root / folder
        self._lock = FileLock(self._folder / _LOCK)

    @contextmanager
    def locked(self, patience: Patience) -> Iterator[None]:
        """Hold the lock of all who change files here, in every process, and make the folder.

        Raises `LockTimeoutError`, too.
        """
        try:
            self._make(self._folder)
            self._lock.acquire(patience)
        except OSError as error:
            raise _failed("lock", self._folder.name, error) from error
        try:
            yield
        finally:
            self._lock.release()

    def read(self) -> dict[str, str]:
        """Return the text of every file, sorted by name; a file or folder whose name begins with a dot is left out."""
        texts = {}
        total = 0
        for name in self._names():
            data = self._read(name)
            total += len(data)
            if total > contract.MAX_MARKDOWN_BYTES:
                raise _refused(
                    f"the files of memories are larger than {contract.MAX_MARKDOWN_BYTES} bytes: move some away"
                )
            try:
                texts[name] = data.decode()
            except UnicodeDecodeError as error:
                raise _refused(f"{name} is not UTF-8: byte {error.start}") from error
        return texts

    def check_room(self, texts: Mapping[str, str], name: str) -> None:
        """Refuse `texts`, what all files would be with the new one of `name`, where they are too large."""
        sizes = {each: len(text.encode()) for each, text in texts.items()}
        size, most = sizes[name], contract.MAX_MARKDOWN_FILE_BYTES
        if size > most:
            raise _refused(f"{name} would have {size} bytes, a file of memories has at most {most}")
        total = sum(sizes.values())
        if total > contract.MAX_MARKDOWN_BYTES:
            raise _refused(
                f"the files of memories would have {total} bytes, at most {contract.MAX_MARKDOWN_BYTES} are allowed"
            )

    def replace(self, name: str, text: str) -> None:
        """Put a text in place of a file, or make it; whoever reads sees the old one or the new one."""
        path = self._folder / name
        try:
            self._make(path.parent)
            mode = stat.S_IMODE(path.stat(follow_symlinks=False).st_mode) if path.exists() else 0o666
            write_atomic(path, text.encode(), mode=mode)
        except OSError as error:
            raise _failed("write", name, error) from error

    def _names(self) -> list[str]:
        found: list[str] = []
        if not self._is_there(self._folder):
            return found
        for folder, folders, files in os.walk(self._folder, onerror=_stop, followlinks=False):
            folders[:] = [name for name in folders if not name.startswith(".")]
            below = Path(folder).relative_to(self._folder)
            found += [(below / name).as_posix() for name in files if name.endswith(".md") and not name.startswith(".")]
        for name in found:
            if not is_unicode(name):
                raise _refused(f"the name of {name!a} is not UTF-8")
        return sorted(found)

    def _read(self, name: str) -> bytes:
        """Return what is in a file, nothing when it is gone."""
        try:
            descriptor = os.open(self._folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _refused(f"{name} is a link: put the file itself there") from error
            raise _failed("read", name, error) from error
        try:
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise _refused(f"{name} is not a file")
                data = file.read(contract.MAX_MARKDOWN_FILE_BYTES + 1)
        except OSError as error:
            raise _failed("read", name, error) from error
        if len(data) > contract.MAX_MARKDOWN_FILE_BYTES:
            raise _refused(
                f"{name} is larger than {contract.MAX_MARKDOWN_FILE_BYTES} bytes, the most a file of memories may have"
            )
        return data

    def _is_there(self, folder: Path) -> bool:
        """Tell whether there is a folder, with no link on the way to it from the root."""
        return all(self._is_folder(part) for part in self._parts(folder))

    def _make(self, folder: Path) -> None:
        """Make a folder and those above it up to the root, none of which may be a link."""
        for part in self._parts(folder):
            while not self._is_folder(part):
                with suppress(FileExistsError):  # made by somebody else at this moment
                    part.mkdir()

    def _parts(self, folder: Path) -> list[Path]:
        below = folder.relative_to(self._root)
        return [self._root / part for part in (*reversed(below.parents[:-1]), below)]

    def _is_folder(self, path: Path) -> bool:
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _failed("look at", path.name, error) from error
        if not stat.S_ISDIR(mode):
            raise _refused(f"{path.relative_to(self._root)} is not a folder, or a link to one")
        return True


def _stop(error: OSError) -> None:
    raise _refused(f"cannot look into the folder of memories: {error.strerror}") from error


def _failed(what: str, name: str, error: OSError) -> MarkdownError:
    return _refused(f"cannot {what} {name}: {error.strerror}")


def _refused(message: str) -> MarkdownError:
    return MarkdownError(message, code="MEMORY_STORAGE_ERROR")
