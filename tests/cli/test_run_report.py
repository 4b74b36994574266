"""What a run shows, from a result made by hand."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from rotifer_host import CallReport, GeneReport, Limits, RunError, RunResult
from rotifer_host.agent.report import Status
from rotifer_host.cli.common import Session
from rotifer_host.cli.run_report import show_run
from rotifer_host.errors import DocumentError

GENE = GeneReport(
    name="greet",
    gene_id="v2:" + "0" * 64,
    status="ok",
    duration_ms=1.25,
    fuel=1_234_567,
    peak_memory_bytes=131_072,
    host_calls={
        "readMemory": CallReport(3, {-2: 1, -10: 1}, 90, 2048, 51.0),
        "writeMemory": CallReport(1, {}, 120, 400, 1_500_000.0),
    },
    denied=1,
    evicted=22,
    expired=333,
    log="",
    stderr="",
)
RESULT = RunResult("ok", {"greeting": "Hallå"}, None, "my-agent", "id", "Single", "raw", 2.0, (GENE,))
HOSTILE = "\x1b[2Jgone\x9b1m\u202e\r\nerror[X]: forged"


def ended(code: str, message: str, status: Status = "limit") -> RunResult:
    """Return the result of a run that ended with this error."""
    error = RunError(code, message)
    return replace(RESULT, status=status, output=None, error=error, genes=(replace(GENE, status=status, error=error),))


def test_a_report_has_output_and_costs(capsys: pytest.CaptureFixture[str]) -> None:
    """Output as JSON, then fuel and memory with their limits, times, and host calls with errors and bytes."""
    assert show_run(Session(json=False), RESULT, Limits()) == 0
    out, err = capsys.readouterr()
    output, *tables = out.split("\n\n")
    assert json.loads(output) == RESULT.output
    assert [" ".join(line.split()) for table in tables for line in table.splitlines()] == [
        "gene status fuel memory time",
        "greet ok 1,234,567 of 500,000,000 128 KB of 256 MB 1.25 ms",
        "gene host call (raw) count errors in out time",
        "greet readMemory 3 -2 (1), -10 (1) 90 B 2 KB 0.05 ms",
        "greet writeMemory 1 - 120 B 400 B 1.50 s",
        "gene denied evicted expired",
        "greet 1 22 333",
    ]
    assert err == ""


def test_what_did_not_happen_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """A run without host calls, denials, evictions, expiries and logs shows its output and one table."""
    quiet = replace(GENE, host_calls={}, denied=0, evicted=0, expired=0)
    show_run(Session(json=False), replace(RESULT, output=None, genes=(quiet,)), Limits())
    output, costs = capsys.readouterr().out.split("\n\n")
    assert output == "null"
    assert len(costs.splitlines()) == 2


def test_nothing_is_cut_when_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    """Away from a terminal no table is folded, shortened, coloured or padded."""
    name = "a" * 100
    show_run(Session(json=False), replace(RESULT, genes=(replace(GENE, name=name),)), Limits())
    out = capsys.readouterr().out
    assert f"\n{name}  ok " in out
    assert "\x1b" not in out
    assert all(line == line.rstrip() for line in out.splitlines())


@pytest.mark.parametrize("session", [Session(json=False), Session(json=True)], ids=["report", "json"])
def test_what_a_guest_says_is_escaped(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    """Log, standard error, output, messages and backtraces reach no stream with a control character in them."""
    gene = replace(GENE, log=HOSTILE, stderr=HOSTILE)
    result = replace(RESULT, output={HOSTILE: HOSTILE}, error=RunError("TRAP", HOSTILE, (HOSTILE,)), genes=(gene,))
    show_run(session, result, Limits())
    for text in capsys.readouterr():
        assert "\\u001b[2Jgone\\u009b1m\\u202e" in text
        assert text.replace("\n", "").isprintable()


def test_deep_output_is_shown_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Output nested by the hundreds is shown; what no writer takes is an error of its own, not a bug."""
    deep: list[object] = []
    for _ in range(500):
        deep = [deep]
    show_run(Session(json=False), replace(RESULT, output=deep), Limits())
    assert json.loads(capsys.readouterr().out.split("\n\n")[0]) == deep
    for _ in range(200_000):
        deep = [deep]
    with pytest.raises(DocumentError, match="nested too deep"):
        show_run(Session(json=True), replace(RESULT, output=deep), Limits())


def test_log_lines_cannot_pass_for_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line of a log and of standard error stands behind a bar."""
    show_run(Session(json=False), replace(RESULT, genes=(replace(GENE, log="a\nb\n", stderr="c"),)), Limits())
    out = capsys.readouterr().out
    assert "\nlog of greet:\n  | a\n  | b\n" in out
    assert "\nstandard error of greet:\n  | c\n" in out


@pytest.mark.parametrize(
    ("code", "option"),
    [("FUEL_EXHAUSTED", "--fuel"), ("DEADLINE_EXCEEDED", "--deadline-ms"), ("MEMORY_EXCEEDED", "--max-memory")],
)
def test_a_limit_names_its_option(code: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that hit a limit exits 3, shows no output, and says which option moves the limit."""
    assert show_run(Session(json=False), ended(code, "too much"), Limits()) == 3
    out, err = capsys.readouterr()
    assert not out.startswith("{")
    assert err == f"error[{code}]: too much\nhelp: {option} {err.split(option + ' ')[1]}"


@pytest.mark.parametrize(
    ("answers", "micros", "help_text"),
    [
        (
            {-4: 1},
            51.0,
            "readMemory was answered -4: what is left of the fuel, 500,000,000, does not pay for it; --fuel N",
        ),
        (
            {-4: 2, -2: 1},
            30_000_000.0,
            "readMemory was answered -4: host calls have used up the run's host time, 30,000 ms",
        ),
        ({-2: 1}, 51.0, None),
    ],
)
def test_a_used_up_budget_is_told_where_the_gene_does_not(
    answers: dict[int, int], micros: float, help_text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """-4 from `express` is the gene's own: the help says whether a call had answered so, and for want of what."""
    failed = ended("GENE_ERROR", "express returned -4", "failed")
    calls = {"readMemory": CallReport(3, answers, 90, 0, micros)}
    assert (
        show_run(Session(json=False), replace(failed, genes=(replace(failed.genes[0], host_calls=calls),)), Limits())
        == 1
    )
    err = capsys.readouterr().err
    assert err.startswith("error[GENE_ERROR]: express returned -4\n")
    assert (f"help: {help_text}" in err) if help_text else ("help" not in err)


def test_a_failure_shows_where(capsys: pytest.CaptureFixture[str]) -> None:
    """A trap's backtrace follows its message, by function name."""
    error = RunError("TRAP", "unreachable", ("inner at 0x1f", "express at 0x2a"))
    genes = (replace(GENE, status="failed", error=error),)
    result = replace(RESULT, status="failed", output=None, error=error, genes=genes)
    assert show_run(Session(json=False), result, Limits()) == 1
    assert capsys.readouterr().err == "error[TRAP]: unreachable\n    at inner at 0x1f\n    at express at 0x2a\n"


def test_a_gene_without_its_agent_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A gene that was refused memory because it ran on its own gets the way to an agent as its help."""
    result = replace(ended("INVALID_INPUT", "denied", "rejected"), agent=None, agent_id=None, composition=None)
    show_run(Session(json=False), result, Limits())
    assert "help: this gene uses memory, which only an agent has: rotifer agent create" in capsys.readouterr().err


def test_with_json_a_failed_run_is_the_run_document(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json standard output is the document of the contract, whatever the run came to."""
    result = ended("INVALID_INPUT", "no name", "rejected")
    assert show_run(Session(json=True), result, Limits()) == 1
    out, err = capsys.readouterr()
    assert json.loads(out) == result.to_json()
    assert out.count("\n") == 1
    assert err == "error[INVALID_INPUT]: no name\n"


PROGRAM = """
import sys
sys.path[:0] = {path!r}
from test_run_report import ended
from rotifer_host import Limits
from rotifer_host.agent.report import Status
from rotifer_host.cli.common import Session
from rotifer_host.cli.run_report import show_run
show_run(Session(json=False), ended("FUEL_EXHAUSTED", "used up"), Limits())
"""


@pytest.mark.parametrize(
    ("settings", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["terminal", "NO_COLOR", "dumb"],
)
def test_colour_is_for_terminals(settings: dict[str, str], coloured: bool) -> None:  # noqa: FBT001
    """A terminal shows what is over its limit in red, unless it cannot or NO_COLOR is set."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"this machine has no terminals to give: {error}")
    program = PROGRAM.format(path=[str(Path(__file__).parent)])
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    subprocess.run(
        [sys.executable, "-c", program],
        stdout=theirs,
        stderr=theirs,
        env=environment | {"TERM": "xterm"} | settings,
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 65_536).decode()
    os.close(ours)
    assert "1,234,567" in shown
    assert ("\x1b[1;31m1,234,567" in shown) is coloured
    assert ("\x1b" in shown) is coloured


def test_what_was_not_kept_of_a_log_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """How many bytes a gene said beyond what is kept: behind the text, and in the document."""
    gene = replace(GENE, log="said\n", log_dropped=34_464, stderr="wrong", stderr_dropped=1)
    show_run(Session(json=False), replace(RESULT, genes=(gene,)), Limits())
    shown = capsys.readouterr().out
    assert "\nlog of greet:\n  | said\n  … and 34,464 bytes more, not kept\n" in shown
    assert "\nstandard error of greet:\n  | wrong\n  … and 1 byte more, not kept\n" in shown
    document = gene.to_json()
    assert (document["logDropped"], document["stderrDropped"]) == (34_464, 1)
