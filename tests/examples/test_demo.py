"""`make demo` shows what it says, and fails when it is not so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def demo(guests: Path, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the demo of these examples, with its temporary folder in `tmp_path`."""
    (tmp_path / "tmp").mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["/bin/sh", str(guests / "demo.sh")],
        env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path / "tmp"), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def changed(guests: Path, tmp_path: Path, old: str, new: str) -> Path:
    """Copy the examples with one text of the formatter's source replaced."""
    copy = shutil.copytree(guests, tmp_path / "guests")
    source = copy / "formatter" / "gene.wat"
    text = source.read_text(encoding="utf-8")
    assert text.count(old) == 1
    source.write_text(text.replace(old, new), encoding="utf-8")
    return copy


def test_demo_remembers_and_cleans_up(guests: Path, tmp_path: Path) -> None:
    """The second run uses the preference, each command is shown, and nothing is left behind."""
    done = demo(guests, tmp_path)
    assert (done.returncode, done.stderr if done.returncode else "") == (0, "")
    assert "The second run used the 4 it was not told." in done.stdout
    assert "$ rotifer agent create tidy --genes formatter\n" in done.stdout
    assert '"action":"memory.create"' in done.stdout
    assert list((tmp_path / "tmp").iterdir()) == []


def test_demo_keeps_its_project_when_asked(guests: Path, tmp_path: Path) -> None:
    """With KEEP=1 the project stays, and its place is named."""
    done = demo(guests, tmp_path, KEEP="1")
    kept = Path(done.stdout.rpartition("kept: ")[2].strip())
    assert (kept / "rotifer.json").is_file()
    assert kept.is_relative_to(tmp_path)


def test_demo_fails_when_a_run_fails(guests: Path, tmp_path: Path) -> None:
    """A formatter whose write is refused ends the demo at that run."""
    done = demo(changed(guests, tmp_path, "(i32.const 65)", "(i32.const 64)"), tmp_path)
    assert done.returncode == 1
    assert "INVALID_INPUT" in done.stderr


def test_demo_fails_when_the_second_run_uses_another_width(guests: Path, tmp_path: Path) -> None:
    """A formatter that asks for another key than it wrote is found out by the demo's last line."""
    read = 'formatter/{}\\",\\"category\\":\\"PREFERENCE\\"}}'
    done = demo(changed(guests, tmp_path, read.format("indent"), read.format("INDENT")), tmp_path)
    assert done.returncode == 1
    assert "did not use the remembered indent" in done.stderr
