"""`rotifer run`."""

from __future__ import annotations

from pathlib import Path

import click

from rotifer_host.cli.common import Command, Session, limit_options
from rotifer_host.cli.output import working
from rotifer_host.cli.record_option import record_options, recorder, tell_recorded
from rotifer_host.cli.report_option import report_of, report_option, tell_reported
from rotifer_host.cli.run_input import read_input
from rotifer_host.cli.run_report import show_run
from rotifer_host.limits import Limits

__all__ = ["run"]


@click.command(
    cls=Command,
    examples=[
        """rotifer run echo --input '{"name": "Ada"}'""",
        """echo '{"name": "Ada"}' | rotifer run echo --input -""",
        "rotifer run echo --input @request.json --fuel 1000000 --json",
        "rotifer run echo --record echo.rec --report echo.html",
        "rotifer run echo --record small.rec --without-module",
    ],
)
@click.argument("gene")
@limit_options
@record_options
@report_option
@click.pass_obj
def run(  # noqa: PLR0913 - click passes each option by name
    session: Session,
    gene: str,
    *,
    source: str,
    fuel: int,
    deadline_ms: int,
    memory_bytes: int,
    recompile: bool,
    call_path: str | None,
    record: Path | None,
    without_module: bool,
    report: Path | None,
) -> int:
    """Run one GENE on its own, outside any agent.

    It has no memory then: every memory call it makes is refused. Shows its output,
    and what the run cost.
    """
    limits = Limits(fuel=fuel, deadline_ms=deadline_ms, memory_bytes=memory_bytes)
    document = read_input(session, source)
    project = session.project()
    tape = recorder(session, record, without_module=without_module)
    page = report_of(session, report)
    with working(f"running {gene}"):
        result = project.run_gene(
            gene, document, limits=limits, recompile=recompile, call_path=call_path, record=tape, report=page
        )
    tell_recorded(record)
    tell_reported(report)
    return show_run(session, result, limits)
