"""The WASM host for the Rotifer Memory API.

    from rotifer_host import Project, Limits

    project = Project.open(".")
    agent = project.agent("formatter")
    result = agent.run({"code": "…"}, limits=Limits(deadline_ms=5_000))

Everything public is here; every other module is a room behind this door. Errors are
in `rotifer_host.errors`, help for tests in `rotifer_host.testing`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msgspec import UNSET

    from rotifer_host.agent.report import CallReport, GeneReport, RunError, RunResult
    from rotifer_host.api import Agent, DeployerMemory, GeneMemory, Project, replay
    from rotifer_host.errors import RotiferError
    from rotifer_host.gene import CompileResult, Gene
    from rotifer_host.limits import Limits
    from rotifer_host.memory import AccessPolicy, DataPolicy, ListedEntry, Listing, MemoryEntry, RetentionPolicy
    from rotifer_host.record import Recorder, Replay
    from rotifer_host.verify import AgentCheck, Proof

__all__ = [
    "UNSET",
    "AccessPolicy",
    "Agent",
    "AgentCheck",
    "CallReport",
    "CompileResult",
    "DataPolicy",
    "DeployerMemory",
    "Gene",
    "GeneMemory",
    "GeneReport",
    "Limits",
    "ListedEntry",
    "Listing",
    "MemoryEntry",
    "Project",
    "Proof",
    "Recorder",
    "Replay",
    "RetentionPolicy",
    "RotiferError",
    "RunError",
    "RunResult",
    "__version__",
    "replay",
]

__version__ = "0.1.0"

_HOMES = {
    "UNSET": "msgspec",
    "AccessPolicy": "rotifer_host.memory",
    "Agent": "rotifer_host.api",
    "AgentCheck": "rotifer_host.verify",
    "CallReport": "rotifer_host.agent.report",
    "CompileResult": "rotifer_host.gene",
    "DataPolicy": "rotifer_host.memory",
    "DeployerMemory": "rotifer_host.api",
    "Gene": "rotifer_host.gene",
    "GeneMemory": "rotifer_host.api",
    "GeneReport": "rotifer_host.agent.report",
    "Limits": "rotifer_host.limits",
    "MemoryEntry": "rotifer_host.memory",
    "ListedEntry": "rotifer_host.memory",
    "Listing": "rotifer_host.memory",
    "Project": "rotifer_host.api",
    "Proof": "rotifer_host.verify",
    "Recorder": "rotifer_host.record",
    "Replay": "rotifer_host.record",
    "RetentionPolicy": "rotifer_host.memory",
    "RotiferError": "rotifer_host.errors",
    "RunError": "rotifer_host.agent.report",
    "RunResult": "rotifer_host.agent.report",
    "replay": "rotifer_host.api",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    """Import a public name when it is first used: `rotifer --help` must not wait for the engine."""
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
