"""`rotifer bench`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from rotifer_host import contract
from rotifer_host.cli.bench_report import show_comparison, show_report
from rotifer_host.cli.common import Command, Session, budget_options
from rotifer_host.cli.output import is_terminal, print_document, print_error, print_note
from rotifer_host.cli.run_input import read_input
from rotifer_host.errors import UsageError
from rotifer_host.files import check_writable
from rotifer_host.limits import Limits

if TYPE_CHECKING:
    from rotifer_host.bench import Report

__all__ = ["bench"]

_FEWEST_RUNS: Final = 5
_MOST_RUNS: Final = 1_000_000
_STEPS: Final = 200
_FILE: Final = click.Path(dir_okay=False, path_type=Path)


@click.command(
    cls=Command,
    examples=[
        "rotifer bench counter --runs 5 --warmup 1 --allow-varying",
        """rotifer bench my-agent --input '{"name": "Ada"}' --runs 5 --durability run --json > before.json""",
        """rotifer bench my-agent --input '{"name": "Ada"}' --runs 5 --call-path plain --compare before.json""",
        """rotifer bench hello --input '{"name": "Ada"}' --runs 5 --call-path plain --pytest-benchmark hello.json""",
        """rotifer bench hello --input '{"name": "Ada"}' --runs 5 --call-path plain --plot hello.svg""",
    ],
)
@click.argument("name", metavar="GENE|AGENT")
@budget_options
@click.option(
    "--durability",
    type=click.Choice(contract.DURABILITIES),
    default=contract.DURABILITIES[0],
    show_default=True,
    help="When changes are on disk: when their call returns, or together when the run ends.",
)
@click.option(
    "--runs",
    type=click.IntRange(_FEWEST_RUNS, _MOST_RUNS),
    metavar="N",
    default=50,
    show_default=True,
    help="Timed runs on each call path; as many more find out where a call's time goes.",
)
@click.option(
    "--warmup",
    type=click.IntRange(0, _MOST_RUNS),
    metavar="N",
    default=5,
    show_default=True,
    help="Runs on each call path before anything is timed.",
)
@click.option(
    "--call-path",
    "call_paths",
    multiple=True,
    metavar="PATH",
    help="How host calls reach Python: native, raw or plain; repeat it for several. When left out all there are, "
    "whatever ROTIFER_CALL_PATH says.",
)
@click.option("--allow-varying", is_flag=True, help="Measure a gene whose output changes from run to run all the same.")
@click.option("--in-place", is_flag=True, help="Run on the agent's own memory and audit log, and change them.")
@click.option("--compare", "earlier", type=_FILE, metavar="FILE", help="Compare with what --json printed earlier.")
@click.option(
    "--pytest-benchmark",
    "benchmark_file",
    type=_FILE,
    metavar="FILE",
    help="Also write the figures for `pytest-benchmark compare`.",
)
@click.option("--plot", "picture", type=_FILE, metavar="FILE", help="Also draw them: FILE ends in .svg or .png.")
@click.pass_obj
def bench(  # noqa: PLR0913 - click passes each option by name
    session: Session,
    name: str,
    *,
    source: str,
    fuel: int,
    deadline_ms: int,
    memory_bytes: int,
    recompile: bool,
    durability: Literal["call", "run"],
    runs: int,
    warmup: int,
    call_paths: tuple[str, ...],
    allow_varying: bool,
    in_place: bool,
    earlier: Path | None,
    benchmark_file: Path | None,
    picture: Path | None,
) -> int:
    """Measure what the host calls of an agent or a gene cost, and where a call's time goes.

    Runs it many times on one input, on each call path, in a private copy of the agent's
    memory (a gene on its own gets an empty one); every output is checked against the
    first. docs/benchmarking.md says what each figure means.
    """
    # Only here: `rotifer --help` needs neither the engine nor the store.
    from rotifer_host.bench import BenchRunError, Options, measure, read_report  # noqa: PLC0415
    from rotifer_host.bench.plot import check_plot, plot  # noqa: PLC0415
    from rotifer_host.bench.pytest_format import write_pytest_benchmark  # noqa: PLC0415

    options = Options(
        runs=runs,
        warmup=warmup,
        call_paths=call_paths,
        limits=Limits(fuel=fuel, deadline_ms=deadline_ms, memory_bytes=memory_bytes),
        durability=durability,
        allow_varying=allow_varying,
        in_place=in_place,
        recompile=recompile,
    )
    document = read_input(session, source)
    before = None if earlier is None else read_report(session.directory / earlier)
    for file, check in ((benchmark_file, partial(check_writable, error=UsageError)), (picture, check_plot)):
        if file is not None:
            check(session.directory / file)
    project = session.project()
    try:
        with _progress(f"measuring {name}", options.total_runs) as progress:
            report = measure(project, name, document, options, progress)
    except BenchRunError as error:
        if error.result is None:
            raise
        print_error(error.code, error.message, error.help)
        if session.json:
            print_document({"error": {"code": error.code, "message": error.message}})
        return error.result.exit_status
    _show(session, report, before)
    if benchmark_file is not None:
        write_pytest_benchmark(report, session.directory / benchmark_file)
        print_note(f"wrote {benchmark_file}")
    if picture is not None:
        plot(report, session.directory / picture)
        print_note(f"wrote {picture}")
    return contract.EXIT_OK


def _show(session: Session, report: Report, before: Report | None) -> None:
    for warning in report.warnings:
        print_note(f"warning: {warning}")
    if session.json:
        print_document(report.to_json())
    else:
        show_report(report)
    if before is not None:
        show_comparison(before, report, as_notes=session.json)


@contextmanager
def _progress(label: str, steps: int) -> Iterator[Callable[[], None]]:
    """Show a bar on a terminal; it is drawn between runs, by no thread of its own that would disturb them."""
    if not is_terminal(sys.stderr):
        yield lambda: None
        return
    with click.progressbar(length=steps, label=label, file=sys.stderr, update_min_steps=max(1, steps // _STEPS)) as bar:
        yield lambda: bar.update(1)
