"""Everything the command line prints: documents, text, notes, errors, signs of life.

Results go to standard output, the rest to standard error. Foreign text is made
printable on its way.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, TextIO

from rotifer_host import contract
from rotifer_host.errors import DocumentError
from rotifer_host.text import encodable, indented, printable

__all__ = [
    "OutputError",
    "colours",
    "discard_output",
    "finish_output",
    "is_terminal",
    "pretty",
    "print_document",
    "print_error",
    "print_note",
    "print_styled",
    "print_text",
    "working",
]

_PATIENCE_S: Final = 0.5
_FRAME_S: Final = 0.1
_FRAMES: Final = "|/-\\"
_RED: Final = "\x1b[1;31m"
_RESET: Final = "\x1b[0m"
_MARK: Final = "  | "


class OutputError(Exception):
    """Standard output cannot be written; `errno` says why."""

    def __init__(self, number: int) -> None:
        super().__init__(os.strerror(number))
        self.errno = number


def print_document(members: Mapping[str, object]) -> None:
    """Print the one JSON document of a command on standard output, with `v` as its first member.

    Raises `DocumentError` for an output of a guest that is nested too deep to be written.
    """
    print_text(_encode({"v": contract.FORMAT_VERSION, **members}))


def pretty(value: object) -> str:
    """Return a JSON value as JSON over several lines. Raises `DocumentError`."""
    import msgspec  # noqa: PLC0415 - `rotifer --help` needs none

    return msgspec.json.format(_encode(value), indent=2)


def print_text(text: str) -> None:
    """Print lines of a result on standard output."""
    print_styled(printable(text, lines=True))


def print_styled(text: str) -> None:
    """Print lines that are printable but for colours of our own on standard output."""
    if sys.stdout is None:  # its descriptor was closed before Python started
        raise OutputError(errno.EBADF)
    try:
        sys.stdout.write(_encodable(text, sys.stdout) + "\n")
    except OSError as error:
        raise OutputError(error.errno or errno.EIO) from error


def print_note(text: str) -> None:
    """Print a line that is no result on standard error."""
    _tell(printable(text, lines=True) + "\n")


def print_error(code: str, message: str, help_text: str | None = None, trace: Iterable[str] = ()) -> None:
    """Print an error the one way all errors are printed; `trace` names the guest's functions, innermost first."""
    red, reset = (_RED, _RESET) if colours(sys.stderr) else ("", "")
    text = f"{red}error[{code}]:{reset} {_marked(message)}\n"
    text += "".join(f"    at {printable(frame)}\n" for frame in trace)
    if help_text:
        text += f"help: {_marked(help_text)}\n"
    _tell(text)


def _marked(text: str) -> str:
    """Return text whose second line and those after it cannot pass for an error or a help of the host's."""
    return indented(text, _MARK).removeprefix(_MARK)


def colours(stream: TextIO | None) -> bool:
    """Tell whether to colour: on a terminal that can, unless `NO_COLOR` is set."""
    return not os.environ.get("NO_COLOR") and is_terminal(stream)


def finish_output() -> None:
    """Flush standard output. Raises `OutputError`."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        raise OutputError(error.errno or errno.EIO) from error


def discard_output() -> None:
    """Send what standard output still holds nowhere, so that the interpreter's exit has nothing to complain of."""
    if sys.stdout is None:
        return
    with suppress(OSError, ValueError):  # a stream without a descriptor has nothing to redirect
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that `what` is going on, once it has taken half a second."""
    if not is_terminal(sys.stderr):
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_spin, args=(what, done), name="rotifer-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _encode(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise DocumentError("nested too deep to be shown") from None


def _spin(what: str, done: threading.Event) -> None:
    started = time.monotonic()
    if done.wait(_PATIENCE_S):
        return
    frame = 0
    while not done.wait(_FRAME_S):
        frame += 1
        _tell(f"\r{_FRAMES[frame % len(_FRAMES)]} {printable(what)} {time.monotonic() - started:.0f} s")
    _tell("\r\x1b[K")


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal that can go back on its line."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def _encodable(text: str, stream: TextIO) -> str:
    return encodable(text, stream.encoding or "utf-8")  # a StringIO has none


def _tell(text: str) -> None:
    if sys.stderr is None:
        return
    with suppress(OSError):  # with nobody to tell, the exit status still speaks
        sys.stderr.write(_encodable(text, sys.stderr))
        sys.stderr.flush()
