"""System calls that really fail: strace makes the N-th one of a story return an error."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from tests.torture.guest import Guest
from tests.torture.place import Place
from tests.torture.players import decode
from tests.torture.scenario import STORIES, Played, answered, recovered, verdict

from rotifer_host.contract import STORAGE_ERROR
from rotifer_host.memory import Durability

_ROOT: Final = Path(__file__).parents[2]
_LAST: Final = 120
"""More calls than a story makes of any kind."""
_STRIDE: Final = {"thirty days": 1, "for ever": 7, "ordinary": 1}
"""Which faults of a story are tried, but with `--torture-all`."""


def _cannot_trace() -> str | None:
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return None if done.returncode == 0 else "strace may not trace here"


_REASON: Final = _cannot_trace()
pytestmark = pytest.mark.skipif(_REASON is not None, reason=str(_REASON))


class Players:
    """The traced process that forks players."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def play(self, place: Place, name: str, durability: Durability, number: int) -> tuple[Played, bool]:
        """Play a story with the `number`-th call failing; return how it went, and whether a call failed at all."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        seen = self._log.stat().st_size if self._log.exists() else 0
        self._process.stdin.write(f"{place.folder}\t{name}\t{durability}\t{_LAST - number}\n")
        self._process.stdin.flush()
        played = decode(self._process.stdout.readline())
        with self._log.open() as log:
            log.seek(seen)
            return played, "INJECTED" in log.read()


@contextmanager
def players(path: Path, syscall: str, error: str, times: str, log: Path) -> Iterator[Players]:
    """Start a traced process in which a system call on a file fails when it is made for the `_LAST`-th time."""
    inject = f"inject={syscall}:error={error}:when={_LAST}{times}"
    strace = ["strace", "-f", "-qq", "-o", str(log), "-P", str(path), "-e", f"trace={syscall}", "-e", inject]
    command = [*strace, sys.executable, "-m", "tests.torture.players", str(path), syscall]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Players(process, log)
        process.communicate()
        assert process.returncode == 0


@pytest.mark.parametrize("durability", ["call", "run"])
@pytest.mark.parametrize("times", ["", "+"], ids=["once", "from then on"])
@pytest.mark.parametrize(
    ("file", "syscall", "error"),
    [
        ("audit", "write", "ENOSPC"),
        ("audit", "fdatasync", "EIO"),
        ("memory", "pwrite64", "ENOSPC"),
        ("memory", "writev", "ENOSPC"),
        ("memory", "fdatasync", "EIO"),
    ],
)
def test_a_system_call_that_fails_costs_its_own_call_at_most(  # noqa: PLR0913, PLR0917 - the table, and the options
    tmp_path: Path,
    file: str,
    syscall: str,
    error: str,
    times: str,
    durability: Durability,
    tell: Callable[[str], None],
    *,
    torture_all: bool,
) -> None:
    """Documented answers, nothing lost, nothing half done, and all works again; also where C made the call."""
    place = Place(tmp_path / "place")
    guest = Guest()
    path = place.audit_path if file == "audit" else place.memory_path
    log_works = not (file == "audit" and times)
    problems: list[str] = []
    faults: Counter[str] = Counter()
    met: Counter[str] = Counter()
    with players(path, syscall, error, times, tmp_path / "strace.log") as traced:
        for name, story in STORIES.items():
            for number in range(1, _LAST, 1 if torture_all else _STRIDE[name]):
                place = Place(tmp_path / "place", policy=story.policy)
                place.folder.mkdir()
                played, failed = traced.play(place, name, durability, number)
                found = verdict(place, story, played, durability, log_works=log_works) + recovered(place, guest)
                if not times and durability == "call" and answered(played, STORAGE_ERROR) > 1:
                    found.append("one fault failed several calls")
                problems += [f"{name}, {syscall} {number}: {problem}" for problem in found]
                shutil.rmtree(place.folder)
                if not failed:
                    break
                faults[name] += 1
                met[name] += played.failed_shortcuts
    tell(f"{dict(faults)} faults, {dict(met)} calls of C that failed")
    assert problems == []
    assert all(faults[name] > 0 for name in STORIES)
    assert met["thirty days"] == 0
    fails_in_call = durability == "call"  # else it is the run's end that does
    assert (met["ordinary"] > 0) == (guest.takes_shortcuts and fails_in_call)
