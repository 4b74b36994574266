"""What `rotifer doctor` looks at in a project, beside its files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rotifer_host.agent.grants import granted_modules
from rotifer_host.errors import LockTimeoutError, ProjectError, RotiferError
from rotifer_host.lock import FileLock, Wait
from rotifer_host.project import ProjectFolder
from rotifer_host.scratch import left_over
from rotifer_host.store.seal import was_sealed
from rotifer_host.telemetry import is_enabled, is_switch
from rotifer_host.text import counted, quoted

if TYPE_CHECKING:
    from rotifer_host import Project
    from rotifer_host.agent.record import AgentRecord

__all__ = ["grants", "leftovers", "memories", "telemetry"]

_BESIDE: Final = (".lock", "-lock", ".importing", ".import.lock", ".import-lock", ".import")
"""What lies beside a memory file, by the end of its name."""


def telemetry() -> str:
    """Say whether events are kept. Raises `ProjectError` for a switch that is set to neither on nor off."""
    switch = os.environ.get("ROTIFER_TELEMETRY", "")
    if is_enabled(os.environ) and not is_switch(switch):
        raise ProjectError(f"on, since ROTIFER_TELEMETRY is {quoted(switch)}: 0, false and off turn it off")
    return "on, local files only" if is_enabled(os.environ) else "off"


def memories(project: Project) -> str:
    """Open every memory there is, as a run does. Raises `ProjectError` naming all that cannot be opened."""
    folder = ProjectFolder(project.root)
    agents = _agents(folder)
    there = [agent for agent in agents if _has_memory(folder, agent)]
    _each(there, lambda agent: folder.open_memory(agent).close())
    return f"{len(there)} of {counted(len(agents), 'agent')}, which can be opened" if there else "none yet"


def grants(project: Project) -> str:
    """Look for every host module that an agent is granted. Raises `ProjectError` naming all that cannot be used."""
    granted = [agent for agent in _agents(ProjectFolder(project.root)) if agent.grants]
    _each(granted, granted_modules)
    return ", ".join(sorted({name for agent in granted for name in agent.grants})) or "none"


def leftovers(project: Project) -> str:
    """Look for memories of no agent, and for folders of processes that were killed; raises `ProjectError` for these."""
    state = ProjectFolder(project.root).state_dir
    found = [
        f".rotifer/memory/{name}* is the memory of no agent: look whose it was, and move it away"
        for name in _without_agent(state)
    ]
    found += [
        f".rotifer/{folder.name} is left of a measurement that was killed: remove it"
        for folder in left_over(state, "bench-")
    ]
    if found:
        raise ProjectError("; ".join(found))
    count = len(left_over(Path(tempfile.gettempdir()), "rotifer-"))
    return f"{counted(count, 'temporary folder')}, gone with the next run of their kind" if count else "nothing"


def _agents(folder: ProjectFolder) -> list[AgentRecord]:
    return folder.agents(lambda _unreadable: None)  # which "agents" tells of


def _has_memory(folder: ProjectFolder, agent: AgentRecord) -> bool:
    """Tell whether there is a file that was a memory: opening any other one would make it one."""
    path = folder.state_dir / "memory" / agent.id
    return path.exists() and (path.stat().st_size > 0 or was_sealed(path, path.with_name(f"{path.name}.lock")))


def _each(agents: Iterable[AgentRecord], look: Callable[[AgentRecord], object]) -> None:
    found = []
    for agent in agents:
        try:
            look(agent)
        except RotiferError as error:
            found.append("; ".join(filter(None, (error.message, error.help))))
    if found:
        raise ProjectError("; ".join(found))


def _without_agent(state: Path) -> list[str]:
    """Return the names of memories of no agent; an import that is going on has one."""
    imports = state / "import.lock"
    try:
        with FileLock(imports).held(Wait(0)) if imports.exists() else nullcontext():
            names = {_memory_of(path.name) for path in (state / "memory").glob("*")}
            return sorted(names.difference(path.stem for path in (state / "agents").glob("*.json")))
    except LockTimeoutError:
        return []


def _memory_of(name: str) -> str:
    for ending in _BESIDE:
        name = name.removesuffix(ending)
    return name
