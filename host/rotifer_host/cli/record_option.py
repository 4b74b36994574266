"""`--record` and `--without-module`, of the commands that run genes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

import rotifer_host
from rotifer_host.cli.common import FileName, Session
from rotifer_host.cli.output import print_note
from rotifer_host.errors import UsageError

__all__ = ["record_options", "recorder", "tell_recorded"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def record_options(function: _Function) -> _Function:
    """Add the options that record a run."""
    for option in (
        click.option(
            "--without-module",
            is_flag=True,
            help="Leave the modules out of the recording; `rotifer replay` then needs them as files.",
        ),
        click.option(
            "--record",
            "record",
            type=FileName(),
            metavar="FILE",
            help="Write the run, with its input and all that was asked and answered, for `rotifer replay`.",
        ),
    ):
        function = option(function)
    return function


def recorder(session: Session, record: Path | None, *, without_module: bool) -> rotifer_host.Recorder | None:
    """Return what records the run, None when nothing does. Raises `UsageError`."""
    if record is None:
        if without_module:
            raise UsageError("--without-module goes with --record FILE")
        return None
    return rotifer_host.Recorder(session.directory / record, with_modules=not without_module)


def tell_recorded(record: Path | None) -> None:
    """Say where the recording is, and what is in it."""
    if record is not None:
        print_note(f"recorded in {record}, with the input and what the genes read and wrote")
