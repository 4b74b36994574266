"""An agent in a project, and the command line on it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.torture.hammer import AGENT_NAME
from tests.torture.place import FOR_EVER

from rotifer_host import Agent, DataPolicy, Project

__all__ = ["QUOTA", "command", "make_agent", "started", "whole_command"]

_ROOT: Final = Path(__file__).parents[2]
QUOTA: Final = 24_000
_COMMAND: Final = "from rotifer_host.cli import main; main()"


@contextmanager
def started(module: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a module of this folder with pipes; whatever happens, it is gone afterwards and its pipes are closed."""
    with subprocess.Popen(
        [sys.executable, "-m", f"tests.torture.{module}", *arguments],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def make_agent(folder: Path, policy: DataPolicy = FOR_EVER) -> Agent:
    """Return an agent with the example gene `counter`, and a quota that a few entries fill."""
    project = Project.init(folder)
    shutil.copytree(_ROOT / "guest-examples" / "counter", project.root / "genes" / "counter", dirs_exist_ok=True)
    project.compile("counter")
    return project.create_agent(AGENT_NAME, ["counter"], memory_quota=QUOTA, data_policy=policy)


def whole_command(agent: Agent, *arguments: str) -> list[str]:
    """Return what to start for a command on the agent's project."""
    return [sys.executable, "-c", _COMMAND, "-C", str(agent._project.root), "--json", *arguments]


def command(agent: Agent, *arguments: str) -> Any:
    """Run a command, which must succeed, and return what it prints."""
    done = subprocess.run(whole_command(agent, *arguments), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
