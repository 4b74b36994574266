"""The sandboxes of this process, and the one a run gets."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.errors import UsageError
from rotifer_host.limits import Limits
from rotifer_host.project import module_cache_dir
from rotifer_host.sandbox import HostFunctions, Sandbox, available_call_paths, core_functions, wasi_functions

if TYPE_CHECKING:
    from rotifer_host.api.agent import Agent
    from rotifer_host.modules import HostModule
    from rotifer_host.record import Recorder
    from rotifer_host.sandbox import ExchangeFunction

__all__ = ["CALL_PATH_VARIABLE", "host_functions", "sandbox_for", "sandbox_of_run", "wanted_path"]

CALL_PATH_VARIABLE: Final = "ROTIFER_CALL_PATH"
"""Names the call path of every run that is given none; `auto`, as without it, is the fastest that works here."""

_sandboxes: dict[tuple[str, tuple[HostModule, ...]], Sandbox] = {}
_sandboxes_lock = threading.Lock()


def _after_fork() -> None:
    global _sandboxes_lock  # noqa: PLW0603 - the thread that held it does not exist here
    _sandboxes_lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def host_functions(modules: tuple[HostModule, ...]) -> HostFunctions:
    """Return what genes may import where these host modules are granted."""
    extra: tuple[ExchangeFunction, ...] = ()
    if modules:
        from rotifer_host.modules.functions import module_functions  # noqa: PLC0415 - few agents are granted any

        extra = module_functions(modules)
    return HostFunctions(core_functions(), wasi_functions(), memory_functions(), extra)


def wanted_path(call_path: str | None) -> str:
    """Return the call path to take when a run is given `call_path`.

    Raises `UsageError` for one of the environment that is not there.
    """
    said = os.environ.get(CALL_PATH_VARIABLE)
    if call_path or not said:
        return call_path or "auto"
    allowed = ("auto", *available_call_paths())
    if said not in allowed:
        raise UsageError(f"{CALL_PATH_VARIABLE} must be one of {', '.join(allowed)}, not {said!r}")
    return said


def sandbox_for(call_path: str | None, modules: tuple[HostModule, ...] = ()) -> Sandbox:
    """One sandbox for each call path and set of host modules in a process: functions are registered once."""
    wanted = (wanted_path(call_path), modules)
    with _sandboxes_lock:
        if wanted not in _sandboxes:
            _sandboxes[wanted] = Sandbox(host_functions(modules), call_path=wanted[0], cache_dir=module_cache_dir())
        return _sandboxes[wanted]


@contextmanager
def sandbox_of_run(
    call_path: str | None, record: Recorder | None, limits: Limits, agent: Agent | None = None
) -> Iterator[Sandbox]:
    """Give the sandbox for one run; a recorded one has its own, and its recording is written afterwards."""
    modules = () if agent is None else agent._modules()
    if record is None:
        yield sandbox_for(call_path, modules)
        return
    try:
        yield record.sandbox(host_functions(modules), call_path=wanted_path(call_path), cache_dir=module_cache_dir())
    finally:
        record.save(
            agent=None if agent is None else agent.name,
            agent_id=None if agent is None else agent.id,
            composition=None if agent is None else agent.composition,
            limits=limits,
        )
