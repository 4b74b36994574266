"""`rotifer test`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from rotifer_host import contract
from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.output import pretty, print_document, print_note, print_styled, print_text, working
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.errors import GeneError, UsageError
from rotifer_host.text import counted, indented, quoted, shortened

if TYPE_CHECKING:
    from rotifer_host import GeneTest
    from rotifer_host.suite import Check, Evidence, KeptEntry

__all__ = ["test"]

_STYLES: Final = {"pass": "green", "fail": "bold red", "skipped": "yellow"}
_SHOWN: Final = 2000
_BRIEF: Final = 100


@click.command(
    cls=Command,
    examples=["rotifer test hello", "rotifer test", "rotifer test hello --json"],
)
@click.argument("genes", metavar="[GENE]...", nargs=-1)
@click.option("--random", is_flag=True, help="The output is meant to differ from run to run: do not ask for the same.")
@click.option("--scaffold", is_flag=True, help="Write a testsuite.json to start from, and test nothing.")
@click.pass_obj
def test(session: Session, genes: Sequence[str], *, random: bool, scaffold: bool) -> int:
    """Test each GENE, or all: schemas, its testsuite.json, generated inputs, and the guest ABI.

    A gene's runs share one memory, empty at first and gone afterwards; no agent's
    memory is touched. Exits 1 when a check fails.
    """
    project = session.project()
    names = genes or [gene.name for gene in project.genes()]
    if not names:
        message = f"there is no gene in {project.genes_path}"
        raise GeneError(message, code="GENE_NOT_FOUND", help="make a folder with a phenotype.json there")
    if scaffold:
        return _scaffold(session, names)
    tests = []
    for name in dict.fromkeys(names):
        with working(f"testing {name}"):
            tests.append(project.test_gene(name, random=random))
        if not session.json:
            _show(tests[-1])
    passed = all(each.passed for each in tests)
    if session.json:
        print_document({"passed": passed, "genes": [each.to_json() for each in tests]})
    return contract.EXIT_OK if passed else contract.EXIT_FAILED


def _scaffold(session: Session, names: Sequence[str]) -> int:
    from rotifer_host.suite import write_suite  # noqa: PLC0415 - loads the engine

    if len(names) > 1:
        raise UsageError("--scaffold writes the suite of one gene", help="type `rotifer test GENE --scaffold`")
    path = write_suite(session.project().gene(names[0]))
    if session.json:
        print_document({"gene": names[0], "suite": str(path)})
    else:
        print_text(f"wrote {path}")
        print_note(f"next: add what you expect to its cases, then type `rotifer test {names[0]}`")
    return contract.EXIT_OK


def _show(test: GeneTest) -> None:
    print_text(f"{test.gene}  {test.gene_id or 'no v2 id'}")
    print_table(
        ("check", "verdict", "what was checked"),
        [
            (
                check.id,
                Cell(check.verdict, _STYLES[check.verdict]),
                check.title if check.verdict == "fail" or not check.reason else shortened(check.reason, _BRIEF),
            )
            for check in test.checks
        ],
    )
    for check in test.checks:
        if check.verdict == "fail":
            _show_failure(check)
        elif check.todo:
            print_note(f"{check.reason}: {check.todo}")
    counts = test.to_json()["counts"]
    met = ", ".join(f"{name} {'met' if done else 'NOT met'}" for name, done in test.requirements.items())
    print_text(f"\n{counts['pass']} passed, {counts['fail']} failed, {counts['skipped']} skipped; suite: {met}\n")


def _show_failure(check: Check) -> None:
    print_styled(f"\n{check.id} failed:\n{indented(shortened(check.reason, _SHOWN), '  ')}")
    if check.todo:
        print_styled(indented(shortened(check.todo, _SHOWN), "  todo: "))
    if check.evidence is not None:
        _show_evidence(check.evidence)


def _show_evidence(evidence: Evidence) -> None:
    for title, value in (("input", evidence.input), ("expected", evidence.expected), ("got", evidence.got)):
        print_styled(f"  {title}:\n{indented(_json(value), '  | ')}")
    lines = [_entry(entry) for entry in evidence.memory]
    if evidence.more_entries:
        lines.append(f"and {evidence.more_entries} more")
    print_styled(f"  memory it left:\n{indented(chr(10).join(lines) or 'nothing', '  | ')}")


def _entry(entry: KeptEntry) -> str:
    value = "" if entry.value is None else f": {quoted(entry.value.decode('utf-8', 'backslashreplace'))}"
    return f"{entry.category} {quoted(entry.key)} ({counted(entry.size, 'byte')}){value}"


def _json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return shortened(pretty(value), _SHOWN)
