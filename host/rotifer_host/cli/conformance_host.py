"""`rotifer conformance host`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from rotifer_host import contract
from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.output import print_document, print_text, working
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.errors import UsageError
from rotifer_host.text import indented

if TYPE_CHECKING:
    from rotifer_host.conformance.report import Report

__all__ = ["host"]

_PAGE: Final = "memory-api.en.md"
_STYLES: Final = {"pass": "green", "fail": "bold red", "skipped": "yellow"}


@click.command(
    "host",
    cls=Command,
    examples=[
        "rotifer conformance host --part deleting --part reading",
        'rotifer conformance host --part deleting --cmd "./my-host --stdio"',
    ],
)
@click.option("--cmd", "command", metavar="CMD", help="The program to test, which speaks the protocol of abi/vectors.")
@click.option("--part", "parts", metavar="PART", multiple=True, help="Ask the vectors of this part only; repeatable.")
@click.pass_obj
def host(session: Session, command: str | None, parts: tuple[str, ...]) -> int:
    """Put the vectors of abi/vectors to a host and report a verdict for each.

    Without --cmd it is this host, on every call path. Exits 1 when a vector fails.
    """
    with working("asking the host"):
        reports = list(_reports(command, _checked(parts)))
    passed = all(report.passed for report in reports)
    if session.json:
        print_document({"passed": passed, "reports": [report.to_json() for report in reports]})
    else:
        for report in reports:
            _show(report)
    return contract.EXIT_OK if passed else contract.EXIT_FAILED


def _checked(parts: Sequence[str]) -> Sequence[str]:
    from rotifer_host.conformance.vectors import PARTS  # noqa: PLC0415 - `rotifer --help` needs none of it

    for part in parts:
        if part not in PARTS:
            raise UsageError(f"there is no part {part!r} of the vectors", help=f"there are {', '.join(PARTS)}")
    return parts or PARTS


def _reports(command: str | None, parts: Sequence[str]) -> Iterator[Report]:
    from rotifer_host.conformance.host import examine  # noqa: PLC0415
    from rotifer_host.conformance.host_own import OwnHost  # noqa: PLC0415
    from rotifer_host.conformance.protocol import Program  # noqa: PLC0415
    from rotifer_host.conformance.vectors import guest_source, vectors_of  # noqa: PLC0415
    from rotifer_host.sandbox import assemble, available_call_paths  # noqa: PLC0415

    guest = assemble(guest_source())
    vectors = [vector for part in parts for vector in vectors_of(part)]
    if command is not None:
        with Program(command) as program:
            yield examine(program, vectors, guest)
        return
    for path in available_call_paths():
        with OwnHost(path) as own:
            yield examine(own, vectors, guest)


def _show(report: Report) -> None:
    """Show what passed as numbers, what did not one by one."""
    print_text(f"{report.subject}:\n")
    parts = list(dict.fromkeys(verdict.point.rpartition("-")[0] for verdict in report.verdicts))
    counted = Counter((verdict.point.rpartition("-")[0], verdict.verdict) for verdict in report.verdicts)
    print_table(
        ("part", *(f"{kind}>" for kind in _STYLES)),
        [
            (part, *(_count(counted[part, kind], style) for kind, style in _STYLES.items()))  # type: ignore[index]
            for part in [*parts]
        ],
    )
    total = report.counts
    print_text("\n" + ", ".join(f"{total[kind]} {kind}" for kind in ("pass", "fail", "skipped")) + "\n")
    reasons = Counter(verdict.seen for verdict in report.verdicts if verdict.verdict == "skipped")
    for reason, count in reasons.most_common():
        print_text(f"skipped {count}: {reason}")
    # below a first line stands the end of a program's standard error
    failed = [(each, *each.seen.partition("\n")[::2]) for each in report.verdicts if each.verdict == "fail"]
    if failed:
        print_table(
            ("failed", "", "seen"),
            [(verdict.point, verdict.title, f"{seen}; {verdict.todo}") for verdict, seen, _ in failed],
        )
    if any(_PAGE in verdict.todo for verdict, _, _ in failed):
        print_text(f'\nabi/README.md, "The Memory API", says under which of its headings a section of {_PAGE} stands')
    for verdict, seen, lines in failed:
        if lines:
            print_text(f"\n{verdict.point}: {seen}\n{indented(lines, '  | ')}")


def _count(number: int, style: str) -> Cell:
    return Cell(str(number) if number else "-", style if number else "")
