"""Imports that are killed at their first, second, … touch of a file, each in a fresh copy of a project.

A program of its own, so that it may fork: nothing here has opened a memory. For every
import it prints what was there afterwards, as a JSON line; the last one was not killed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from rotifer_host import Project
from rotifer_host.testing import ManualClock

_CLOCK = ManualClock("2026-01-02T00:00:00Z")
_TOUCHES = ("open", "os.rename", "os.remove")


def import_until(project: Path, file: Path, touch: int) -> int:
    """Import in a child that dies at the given touch; return how it ended."""
    seen = count(1)

    def die_in_time(event: str, _: object) -> None:
        if event in _TOUCHES and next(seen) == touch:
            os.kill(os.getpid(), signal.SIGKILL)

    def child() -> None:
        opened = Project.open(project, clock=_CLOCK)
        sys.addaudithook(die_in_time)
        opened.import_agent(file)

    return forked(child)


def look(project: Path, file: Path) -> None:
    """Print whether the agent is there; if not, import it; then check it."""
    opened = Project.open(project, clock=_CLOCK)
    names = [agent.name for agent in opened.agents()]
    if not names:
        opened.import_agent(file)
    (agent,) = opened.agents()
    log, proofs = opened.verify_audit()
    left = [path.name for path in (project / ".rotifer" / "memory").iterdir() if ".import" in path.name]
    found = {
        "there": names,
        "keys": [entry.key for entry in agent.memory().list().entries],
        "problems": agent.memory().check().problems + proofs[agent.name].problems(log.name) + log.problems(),
        "left": left if not names else [],
    }
    tell(found)


def tell(found: object) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def forked(work: Callable[[], None]) -> int:
    """Do work in a child and return its wait status."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the parent must hear of it
            tell({"error": repr(error)})
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def main() -> None:
    """Kill, look, and go on until an import ends by itself."""
    pristine, file = Path(sys.argv[1]), Path(sys.argv[2])
    for touch in count(1):
        project = pristine.with_name(f"killed-{touch}")
        shutil.copytree(pristine, project)
        status = import_until(project, file, touch)
        forked(lambda project=project: look(project, file))  # type: ignore[misc]
        if status == 0:
            return


if __name__ == "__main__":
    main()
