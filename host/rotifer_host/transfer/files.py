"""The file of a moved agent on disk, or whatever stream it comes from or goes to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from rotifer_host.errors import TransferError
from rotifer_host.files import replacing

__all__ = ["source_stream", "target_stream"]


@contextmanager
def source_stream(source: str | Path | BinaryIO) -> Iterator[tuple[BinaryIO, str]]:
    """Give a stream to read and what errors call it. Raises `TransferError`."""
    if not isinstance(source, str | Path):
        yield source, _name_of(source)
        return
    try:
        stream = Path(source).open("rb")  # noqa: SIM115 - closed below; an error of the block is not one of opening
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        message = f"cannot read {source}: {error.strerror if isinstance(error, OSError) else error}"
        raise TransferError(message) from error
    with stream:
        yield stream, str(source)


@contextmanager
def target_stream(target: str | Path | BinaryIO, *, force: bool) -> Iterator[tuple[BinaryIO, str]]:
    """Give a stream to write and what errors call it.

    A file has mode 0600 and is at its path, on the disk, once the block has ended; when
    the block raises, nothing is. One that is there is replaced with `force`, else, as for
    whatever keeps it from being written, this raises `TransferError`.
    """
    if not isinstance(target, str | Path):
        yield target, _name_of(target)
        return
    path = Path(target)
    claimed = False
    try:
        if not force:
            _make(path).close()  # the name is ours before the work begins
            claimed = True
        with replacing(path, mode=0o600) as stream:
            yield stream, str(path)
    except BaseException as error:
        if claimed:
            with suppress(OSError):
                path.unlink()
        if isinstance(error, FileExistsError):
            message = f"{path} is there already"
            raise TransferError(message, help="--force replaces it") from error
        if isinstance(error, OSError | ValueError):  # ValueError: a NUL in the path
            message = f"cannot write {path}: {error.strerror if isinstance(error, OSError) else error}"
            raise TransferError(message) from error
        raise


def _make(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def _name_of(stream: BinaryIO) -> str:
    name = getattr(stream, "name", None)
    return name if isinstance(name, str) else "the stream"
