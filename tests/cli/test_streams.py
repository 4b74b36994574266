"""Streams, signals and exit statuses of the real program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from rotifer_host.cli import main
from rotifer_host.cli.app import rotifer as command

COMMAND = (sys.executable, "-m", "rotifer_host")
FOREVER = """(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32)
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (loop $again (br $again)) (unreachable)))"""


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """When the reader of standard output goes away, the status is that of SIGPIPE and nobody complains."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, "--help"], stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_output_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """A full disk under standard output fails the command in one line."""
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run([*COMMAND, "--help"], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr == b"error[OUTPUT]: cannot write to standard output: No space left on device\n"


def test_closed_streams_are_survived(tmp_path: Path) -> None:
    """Without standard output the command fails in one line; without standard error the status still speaks."""
    line = f'"{sys.executable}" -m rotifer_host'
    done = subprocess.run(["sh", "-c", f"{line} --help >&-"], capture_output=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert done.stderr.startswith(b"error[OUTPUT]: ")
    done = subprocess.run(["sh", "-c", f"{line} nonsense 2>&-"], capture_output=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_narrow_encoding_changes_no_document(project: Path) -> None:
    """Output that the terminal's encoding cannot write is escaped and stays the same JSON."""
    done = subprocess.run(
        [*COMMAND, "run", "hello", "--input", '"Zoë"', "--json"],
        cwd=project,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert json.loads(done.stdout.decode("ascii"))["status"] == "rejected"
    done.stderr.decode("ascii")


def test_a_bug_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An exception nobody foresaw is an error with a way to its traceback, and the traceback only when asked for."""

    def fail(_ctx: object) -> None:
        raise RuntimeError("wires\x1b crossed")

    doctor = command.get_command(click.Context(command), "doctor")
    monkeypatch.setattr(doctor, "invoke", fail)
    assert main(["doctor"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == "error[INTERNAL]: RuntimeError: wires\\u001b crossed"
    assert "ROTIFER_DEBUG=1" in err.splitlines()[1]
    assert "Traceback" not in err
    monkeypatch.setenv("ROTIFER_DEBUG", "1")
    assert main(["doctor"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "status", "line"),
    [
        (signal.SIGINT, 130, "error[INTERRUPTED]: stopped by Ctrl-C\n"),
        (signal.SIGTERM, 143, "error[INTERRUPTED]: stopped by SIGTERM\n"),
    ],
)
def test_a_signal_ends_a_run_at_once(
    add_gene: Callable[[str, str], Path], project: Path, number: int, status: int, line: str
) -> None:
    """Ctrl-C and SIGTERM end a guest that loops for ever, with one line, one document and the shell's status."""
    add_gene("forever", FOREVER)
    audit = project / ".rotifer" / "audit.jsonl"
    process = subprocess.Popen(
        [*COMMAND, "run", "forever", "--json", "--fuel", str(2**63 - 1)],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (audit.exists() and audit.stat().st_size) and process.poll() is None:  # its refused call is recorded
            time.sleep(0.01)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, err) == (status, line)
    assert json.loads(out)["error"]["code"] == "INTERRUPTED"


def test_handlers_are_put_back(capsys: pytest.CaptureFixture[str]) -> None:
    """Calling main() from a program leaves that program's SIGTERM handler as it was."""
    before = signal.getsignal(signal.SIGTERM)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("rotifer ")
    assert signal.getsignal(signal.SIGTERM) is before
