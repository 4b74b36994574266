"""`--report`, of the commands that run genes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

import rotifer_host
from rotifer_host.cli.common import FileName, Session
from rotifer_host.cli.output import print_note

__all__ = ["report_of", "report_option", "tell_reported"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def report_option(function: _Function) -> _Function:
    """Add the option that makes a page of a run."""
    return click.option(
        "--report",
        "report",
        type=FileName(),
        metavar="FILE",
        help="Write a page for the browser: when what ran and asked what, what was refused, what changed in memory.",
    )(function)


def report_of(session: Session, file: Path | None) -> rotifer_host.Report | None:
    """Return what makes the page, None when nothing does. Raises `UsageError`."""
    return None if file is None else rotifer_host.Report(session.directory / file)


def tell_reported(file: Path | None) -> None:
    """Say where the page is, and what is in it."""
    if file is not None:
        print_note(f"the report is {file}; it holds the input, and of what the genes read and wrote the beginning")
