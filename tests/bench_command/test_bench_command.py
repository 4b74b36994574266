"""The command: what it prints where, its exit status, its progress, and how it ends when it is stopped."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from tests.terminal import shown_on

from rotifer_host import Project
from rotifer_host.bench import STAGES, Report
from rotifer_host.cli import main
from rotifer_host.memory.ordinary import READ
from rotifer_host.sandbox import available_call_paths

COMMAND = (sys.executable, "-m", "rotifer_host", "bench")
Run = Callable[..., tuple[int, str, str]]
QUICK = ("--runs", "5", "--warmup", "0")


@pytest.fixture
def run(project: Project, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process; gives status, standard output and standard error."""

    def bench(*arguments: str) -> tuple[int, str, str]:
        status = main(["-C", str(project.root), "bench", *arguments])
        out, err = capfd.readouterr()
        return status, out, err

    return bench


def test_the_table_shows_every_figure(run: Run) -> None:
    """Machine, versions, runs, each call on each path, its stages, and the paths side by side."""
    status, out, err = run("every", *QUICK, "--call-path", "raw", "--call-path", "plain")
    assert (status, err) == (0, "")
    assert "5 timed runs on each call path after 0 of warm-up, durability call" in out
    assert "wasmtime 50" in out
    for label in ("readMemory", "writeMemory", "queryMemory", "deleteMemory"):
        assert sum(line.startswith(label) for line in out.splitlines()) == 2 + 2 + 2 + 1
    assert set(STAGES) - {"again", "copy", "shortcut"} <= set(out.split())
    assert "a shortcut answers in C" not in out
    assert "beside raw" in out


@pytest.mark.skipif("native" not in available_call_paths() or READ is None, reason="there is no C compiler")
def test_the_table_says_what_a_shortcut_is(run: Run) -> None:
    """Where calls were answered by shortcuts they are counted, have a part of their own, and a line says why."""
    status, out, _ = run("every", *QUICK, "--call-path", "native")
    assert status == 0
    calls, says, parts = out.partition("a shortcut answers in C: one part, where a handler decodes")
    assert says
    assert "shortcut" in calls.split()
    assert "shortcut" in parts.split()


def test_the_document_is_the_report(run: Run) -> None:
    """With --json standard output is the one document, which reads back as a report."""
    status, out, err = run("every", *QUICK, "--json", "--durability", "run", "--call-path", "plain")
    assert (status, err) == (0, "")
    report = msgspec.json.decode(out, type=Report)
    assert (report.v, report.target, report.kind, report.durability) == (1, "every", "gene", "run")
    assert json.loads(out) == report.to_json()
    assert next(iter(json.loads(out))) == "v"


def test_a_comparison_follows_the_table(run: Run, project: Project) -> None:
    """--compare reads an earlier document, pairs its figures, and says what else was not the same."""
    document = run("every", *QUICK, "--json", "--call-path", "plain")[1]
    (project.root / "before.json").write_text(document, encoding="utf-8")
    status, out, _ = run("every", *QUICK, "--call-path", "plain", "--durability", "run", "--compare", "before.json")
    assert status == 0
    assert "not the same: durability: call then, run now" in out
    assert "\n  run on plain: " in out
    status, out, err = run("every", *QUICK, "--call-path", "raw", "--compare", "before.json", "--json")
    assert status == 0
    assert json.loads(out)["paths"][0]["callPath"] == "raw"
    assert "no call path was measured both times" in err


def test_files_are_written_beside_the_table(run: Run, project: Project) -> None:
    """--plot and --pytest-benchmark write where they say, and say so."""
    status, out, err = run(
        "echo", *QUICK, "--call-path", "plain", "--plot", "out.svg", "--pytest-benchmark", "out.json"
    )
    assert status == 0
    assert "no host calls" in out
    assert {"wrote out.svg", "wrote out.json"} <= set(err.splitlines())
    assert b"<svg" in (project.root / "out.svg").read_bytes()
    assert json.loads((project.root / "out.json").read_bytes())["benchmarks"][0]["name"] == "run[plain]"


@pytest.mark.parametrize(
    ("arguments", "status", "code", "message"),
    [
        (("nobody",), 1, "NOT_FOUND", "neither an agent nor a gene"),
        (("traps",), 1, "BENCH_RUN", "ended failed [TRAP]"),
        (("endless", "--fuel", "1000"), 3, "BENCH_RUN", "FUEL_EXHAUSTED"),
        (("counter", "--call-path", "plain"), 1, "BENCH_VARIES", "--allow-varying"),
        (("every", "--runs", "4"), 2, "USAGE", "4"),
        (("every", "--runs", "many"), 2, "USAGE", "many"),
        (("every", "--call-path", "fast"), 2, "USAGE", "plain"),
        (("every", "--compare", "none.json"), 2, "USAGE", "none.json"),
        (("every", "--plot", "out.pdf"), 2, "USAGE", ".svg or .png"),
        (("every", "--plot", "none/out.svg"), 2, "USAGE", "there is no folder"),
        (("every", "--pytest-benchmark", "none/out.json"), 2, "USAGE", "there is no folder"),
        (("every", "--pytest-benchmark", "rotifer.json/out.json"), 2, "USAGE", "there is no folder"),
        (("every", "--in-place"), 2, "USAGE", "--in-place is for an agent, and every is a gene"),
        (("every", "--input", "{"), 2, "USAGE", "not JSON"),
    ],
)
def test_errors_say_what_is_wrong(run: Run, arguments: tuple[str, ...], status: int, code: str, message: str) -> None:
    """Each has its code and exit status; with --json the document holds it too."""
    found, out, err = run(*arguments)
    assert (found, out) == (status, "")
    assert err.startswith(f"error[{code}]: ")
    assert message in err
    found, out, _ = run(*arguments, "--json")
    assert found == status
    assert json.loads(out)["error"]["code"] == code


@pytest.mark.parametrize(
    "arguments",
    [
        ("--plot", "none/out.svg"),
        ("--pytest-benchmark", "none/out.json"),
        ("--in-place",),
        ("--compare", "rotifer.json"),
    ],
)
def test_what_is_refused_is_refused_first(
    run: Run, project: Project, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Nothing has run by then, and nothing is kept: no memory, no audit line."""
    monkeypatch.setattr("rotifer_host.bench.measurement._rounds", lambda *_: pytest.fail("it was measured"))
    before = sorted(project.root.rglob("*"))
    assert run("every", *arguments)[0] == 2
    assert sorted(project.root.rglob("*")) == before


def test_percentiles_stand_with_the_runs_they_are_of(run: Run) -> None:
    """They are in a table with the sum of the parts, with which they can be compared, and not beside the time."""
    out = run("every", *QUICK, "--call-path", "plain")[1]
    table = next(part for part in out.split("\n\n") if "p50" in part)
    heads, *rows = [re.split(r" {2,}", line) for line in table.splitlines()]
    assert heads == ["host call", "path", "sum", "p50", "p90", "p99"]
    assert len(rows) == 4
    parts = next(part for part in out.split("\n\n") if "boundary" in part)
    sums = {line.split()[0]: line.split()[-3] for line in parts.splitlines()[1:]}
    assert {row[0]: row[2] for row in rows} == sums
    assert "compare them with the sum, not with the time" in out


def test_genes_of_a_par_are_measured_with_a_warning(run: Run, project: Project) -> None:
    """Durability `run` is `call` for them, and the command says so in the words of a run."""
    project.create_agent("both", ["every", "echo"], composition={"type": "Par", "merge": "concat"})
    warnings = project.agent("both").run(None, durability="run").warnings
    line = ("both", *QUICK, "--call-path", "plain", "--durability", "run")
    status, out, err = run(*line)
    assert (status, err) == (0, f"warning: {warnings[0]}\n")
    assert "durability call" in out
    status, out, err = run(*line, "--json")
    assert (status, err) == (0, f"warning: {warnings[0]}\n")
    assert (json.loads(out)["durability"], json.loads(out)["warnings"]) == ("call", list(warnings))


def test_the_environment_chooses_no_call_path(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """All call paths are measured, as the help says, whatever a run would take."""
    monkeypatch.setenv("ROTIFER_CALL_PATH", "plain")
    out = run("echo", *QUICK, "--json")[1]
    assert [path["callPath"] for path in json.loads(out)["paths"]] == available_call_paths()
    assert "whatever ROTIFER_CALL_PATH says" in " ".join(run("--help")[1].split())


def test_progress_is_shown_on_a_terminal_only(project: Project) -> None:
    """A bar goes to standard error while it is a terminal; standard output holds the document alone."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [*COMMAND, "echo", *QUICK, "--call-path", "plain", "--json"],
        cwd=project.root,
        env=os.environ | {"TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=60,
        check=True,
    )
    os.close(theirs)
    shown = shown_on(ours)
    os.close(ours)
    assert b"measuring echo" in shown
    assert b"100%" in shown
    assert json.loads(done.stdout)["target"] == "echo"


@contextmanager
def _measuring(project: Project, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Give a process in the middle of a long measurement."""
    with subprocess.Popen(
        [*COMMAND, name, "--runs", "100000"],
        cwd=project.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while not _changed(project.root) and process.poll() is None:
            time.sleep(0.02)
        yield process


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_measurement_that_is_stopped_cleans_up(project: Project, number: signal.Signals, status: int) -> None:
    """Ctrl-C and SIGTERM end it in the middle, and its copies of the memory are gone."""
    project.create_agent("own", ["every"])
    with _measuring(project, "own") as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (status, b"")
    assert b"error[INTERRUPTED]" in err
    assert list((project.root / ".rotifer").glob("bench-*")) == []


def test_the_next_measurement_removes_what_a_killed_one_left(run: Run, project: Project) -> None:
    """SIGKILL leaves the copies behind, which nobody holds any more."""
    with _measuring(project, "every") as process:
        assert run("echo", *QUICK, "--call-path", "plain")[0] == 0
        assert len(list((project.root / ".rotifer").glob("bench-*"))) == 1  # its own, while it runs
        process.kill()
    assert len(list((project.root / ".rotifer").glob("bench-*"))) == 1
    assert run("echo", *QUICK, "--call-path", "plain")[0] == 0
    assert list((project.root / ".rotifer").glob("bench-*")) == []


def _changed(root: Path) -> bool:
    """Tell whether runs have begun: an audit log of a copy has lines."""
    return any(path.stat().st_size for path in (root / ".rotifer").glob("bench-*/*/audit.jsonl"))
