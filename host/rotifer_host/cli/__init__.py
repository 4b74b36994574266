"""The command `rotifer`: one module for each command, all over the public API."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

import click

from rotifer_host import contract
from rotifer_host.cli.app import rotifer
from rotifer_host.cli.common import Session, wants_json
from rotifer_host.cli.output import OutputError, discard_output, finish_output, print_document, print_error
from rotifer_host.cli.usage import describe
from rotifer_host.errors import InvalidInputError, RotiferError, UsageError

__all__ = ["main"]

# What a shell reports for a program that died of the signal.
_EXIT_INTERRUPTED: Final = 128 + signal.SIGINT
_EXIT_TERMINATED: Final = 128 + signal.SIGTERM
_EXIT_BROKEN_PIPE: Final = 128 + signal.SIGPIPE


class _TerminatedError(BaseException):
    """SIGTERM came. Like KeyboardInterrupt no Exception: nothing on the way may take it for a failure."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status.

    0 done, 1 failed or rejected, 2 wrong usage, 3 a limit was hit; 130 after Ctrl-C,
    143 after SIGTERM, 141 when the reader of standard output went away.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    session = Session(json=wants_json(arguments))
    try:
        try:
            with _sigterm_raises():
                status = _run(arguments, session)
        except KeyboardInterrupt:
            status = _fail(session, "INTERRUPTED", "stopped by Ctrl-C", None, _EXIT_INTERRUPTED)
        except _TerminatedError:
            status = _fail(session, "INTERRUPTED", "stopped by SIGTERM", None, _EXIT_TERMINATED)
        finish_output()
    except OutputError as error:
        discard_output()
        if error.errno == errno.EPIPE:
            return _EXIT_BROKEN_PIPE
        print_error("OUTPUT", f"cannot write to standard output: {os.strerror(error.errno)}")
        return contract.EXIT_FAILED
    return status


def _run(arguments: Sequence[str], session: Session) -> int:
    try:
        # Not click's own main(): it swallows broken pipes and turns Ctrl-C into something else.
        with rotifer.make_context("rotifer", list(arguments), obj=session) as ctx:
            status = rotifer.invoke(ctx)
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.UsageError as error:
        message, help_text = describe(error)
        return _fail(session, "USAGE", message, help_text, contract.EXIT_USAGE)
    except (UsageError, InvalidInputError) as error:
        return _fail(session, error.code, error.message, error.help, contract.EXIT_USAGE)
    except RotiferError as error:
        return _fail(session, error.code, error.message, error.help, contract.EXIT_FAILED)
    except OutputError:
        raise
    except Exception as error:  # noqa: BLE001 - a bug: users get a line and a way to the traceback
        if os.environ.get("ROTIFER_DEBUG"):
            traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        help_text = "this is a bug in rotifer; set ROTIFER_DEBUG=1 to see where it comes from"
        return _fail(session, "INTERNAL", message, help_text, contract.EXIT_FAILED)
    return contract.EXIT_OK if status is None else int(status)


def _fail(session: Session, code: str, message: str, help_text: str | None, status: int) -> int:
    print_error(code, message, help_text)
    if session.json:
        print_document({"error": {"code": code, "message": message}})
    return status


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only there may handlers be set
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise _TerminatedError

    previous = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
