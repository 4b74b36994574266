"""`rotifer conformance`: does a guest keep the ABI, does a host?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from rotifer_host.cli.common import Group, Session
from rotifer_host.cli.output import print_document, print_text
from rotifer_host.cli.table import Cell, print_table

if TYPE_CHECKING:
    from rotifer_host.conformance.report import Report

__all__ = ["conformance", "show_report"]

_STYLES: Final = {"pass": "green", "fail": "bold red", "skipped": "yellow", "not-applicable": ""}


@click.group(cls=Group, examples=["rotifer conformance host --part deleting"])
def conformance() -> None:
    """Test genes and hosts against the ABI, point by point."""


conformance.load_later({"gene": "conformance_gene:gene", "host": "conformance_host:host"})


def show_report(session: Session, report: Report, *, brief: bool = False) -> int:
    """Show a report as a document or as a table, and return the exit status; `brief` leaves passed points out."""
    if session.json:
        print_document(report.to_json())
        return report.exit_status
    shown = [verdict for verdict in report.verdicts if not (brief and verdict.verdict == "pass")]
    if shown:
        print_table(
            ("point", "verdict", "what is asked", "seen"),
            [
                (
                    verdict.point,
                    Cell(verdict.verdict, _STYLES[verdict.verdict]),
                    verdict.title,
                    verdict.seen + (f"; {verdict.todo}" if verdict.todo else ""),
                )
                for verdict in shown
            ],
        )
        print_text("")
    counted = ", ".join(f"{count} {kind}" for kind, count in report.counts.items() if count)
    print_text(f"{report.subject}: {counted or 'nothing was tested'}")
    return report.exit_status
