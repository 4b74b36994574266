"""`python -m bench`, the comparison with others: what it writes where, and what it refuses before it measures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "RESULTS.md"
QUICK = ("--case", "noop", "--rounds", "3", "--sample-ms", "1")


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python where the comparison lies."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_quick_look_is_only_shown(tmp_path: Path) -> None:
    """What is no whole run leaves the results that are kept alone, and is written only where it is told to."""
    before = RESULTS.read_bytes()
    done = run("-m", "bench", *QUICK, "--disk", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "times as fast as" in done.stdout
    assert "not written anywhere" in done.stdout
    assert RESULTS.read_bytes() == before
    done = run("-m", "bench", *QUICK, "--disk", str(tmp_path), "--output", str(tmp_path / "out.md"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.md").read_text(encoding="utf-8").startswith("# Results")
    assert RESULTS.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sample-ms", "-5"), "from 1 to 60,000 ms, not '-5'"),
        (("--sample-ms", "0"), "from 1 to 60,000 ms, not '0'"),
        (("--sample-ms", "nan"), "from 1 to 60,000 ms, not 'nan'"),
        (("--sample-ms", "long"), "from 1 to 60,000 ms, not 'long'"),
        (("--rounds", "2"), "2"),
        (("--output", "none/out.md"), "there is no folder"),
        (("--output", "bench"), "'--output'"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_timed(arguments: tuple[str, ...], message: str) -> None:
    """The error says what is allowed, and nothing was measured."""
    done = run("-m", "bench", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("sizes", ["abc", "", "10,", "0", "-1", "1e3"])
def test_sizes_that_are_none_are_refused(sizes: str) -> None:
    """The error names the variable and what it may be."""
    done = run("-m", "pytest", "bench/test_scale.py", "--collect-only", "-q", ROTIFER_BENCH_ENTRIES=sizes)
    assert done.returncode != 0
    assert "ROTIFER_BENCH_ENTRIES must be whole numbers from 1 to 1,000,000 with commas between them" in done.stdout
