"""The process of a script: it ends with its run, with the host, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rotifer_host import Project
from rotifer_host.node.runner import NodeRunner
from rotifer_host.sandbox import GuestResult

MakeRunner = Callable[..., NodeRunner]
RunOnce = Callable[..., GuestResult]
AddGene = Callable[..., None]

SPIN = 'export function express(input, { memory }) { try { memory.readMemory("k") } catch {} for (;;); }'
IDLE = 'export const express = () => { console.log("on"); return new Promise(() => setInterval(() => {}, 1000)) }'
RUN = """
import sys
from rotifer_host import Project
print("ready", flush=True)
result = Project.open(sys.argv[1]).run_gene("endless", None)
print(result.error.code, flush=True)
"""


def _children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split() if folder.name.isdigit() else []
        except OSError:
            continue
        if fields and int(fields[1]) == parent:
            found.append(int(folder.name))
    return found


def _until(condition: Callable[[], object]) -> None:
    """Wait until something holds; the test's own time limit is the end of patience."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.01)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    "source", ["export const express = () => 1", "process.exit(1)", "throw 1", "export const express = () => {"]
)
def test_many_runs_leave_nothing(
    make_runner: MakeRunner, run_once: RunOnce, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After any number of runs there is no process, no open file and no folder more than before."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = (_children(os.getpid()), len(list(Path("/proc/self/fd").iterdir())))

    for _ in range(4):
        runner = make_runner(source)
        run_once(runner)
        run_once(runner)
        assert [path.name[:13] for path in tmp_path.iterdir()] == ["rotifer-node-"]
        runner.close()

    assert (_children(os.getpid()), len(list(Path("/proc/self/fd").iterdir()))) == before
    assert list(tmp_path.iterdir()) == []


def _is_node(child: int) -> bool:
    """Tell whether a process is Node.js with the runtime by now, and not what starts it."""
    try:
        runs = b"main.mjs" in Path(f"/proc/{child}/cmdline").read_bytes()
        return runs and Path(f"/proc/{child}/exe").readlink().name == "node"
    except OSError:
        return False


@pytest.fixture
def host(project: Project, add_gene: AddGene) -> Callable[[str], tuple[subprocess.Popen[str], int]]:
    """Return a function that starts a host on an endless gene; it returns the host and its child's process."""

    def start(source: str) -> tuple[subprocess.Popen[str], int]:
        add_gene(project, "endless", source)
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, project.root],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(project.root)},  # what a killed host leaves goes with the test
        )
        assert process.stdout is not None
        process.stdout.readline()
        _until(lambda: any(_is_node(child) for child in _children(process.pid)))
        return process, next(child for child in _children(process.pid) if _is_node(child))

    return start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(host: Callable[[str], tuple[subprocess.Popen[str], int]], number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM end the run and its process, though the script would go on for ever."""
    process, child = host(SPIN)

    process.send_signal(number)
    process.communicate(timeout=60)

    assert process.returncode != 0
    _until(lambda: not _is_running(child))


@pytest.mark.parametrize("source", [SPIN, IDLE])
def test_a_host_that_is_killed(host: Callable[[str], tuple[subprocess.Popen[str], int]], source: str) -> None:
    """With the host its scripts' processes die, even those that never look at their pipes again."""
    process, child = host(source)

    process.kill()
    process.communicate(timeout=60)

    _until(lambda: not _is_running(child))
