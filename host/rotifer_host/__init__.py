"""The WASM host for the Rotifer Memory API.

    from rotifer_host import Project, Limits

    project = Project.open(".")
    agent = project.agent("formatter")
    result = agent.run({"code": "…"}, limits=Limits(deadline_ms=5_000))

Everything public is here; every other module is a room behind this door. Errors are
in `rotifer_host.errors`, help for tests in `rotifer_host.testing`, what host modules are
made of in `rotifer_host.modules`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msgspec import UNSET

    from rotifer_host.agent.explain import Explanation, Verdict
    from rotifer_host.agent.report import CallReport, GeneReport, RunError, RunResult
    from rotifer_host.agent.stats import MemoryStats
    from rotifer_host.api import Agent, DeployerMemory, GeneMemory, Project, replay
    from rotifer_host.errors import RotiferError
    from rotifer_host.gene import Gene
    from rotifer_host.gene.compile import CompileResult
    from rotifer_host.gene.wrap import WrapResult
    from rotifer_host.json_memory import create_memory_tools
    from rotifer_host.limits import Limits
    from rotifer_host.memory import AccessPolicy, DataPolicy, ListedEntry, Listing, MemoryEntry, RetentionPolicy
    from rotifer_host.record import Recorder, Replay
    from rotifer_host.report import Report
    from rotifer_host.sandbox import Deadline
    from rotifer_host.suite import GeneTest
    from rotifer_host.transfer import Exported, Imported
    from rotifer_host.turn_memory.report import TurnEvent, TurnReport
    from rotifer_host.verify import AgentCheck, Proof

__all__ = [
    "UNSET",
    "AccessPolicy",
    "Agent",
    "AgentCheck",
    "CallReport",
    "CompileResult",
    "DataPolicy",
    "Deadline",
    "DeployerMemory",
    "Explanation",
    "Exported",
    "Gene",
    "GeneMemory",
    "GeneReport",
    "GeneTest",
    "Imported",
    "Limits",
    "ListedEntry",
    "Listing",
    "MemoryEntry",
    "MemoryStats",
    "Project",
    "Proof",
    "Recorder",
    "Replay",
    "Report",
    "RetentionPolicy",
    "RotiferError",
    "RunError",
    "RunResult",
    "TurnEvent",
    "TurnReport",
    "Verdict",
    "WrapResult",
    "__version__",
    "create_memory_tools",
    "replay",
]

__version__ = "0.1.0"

_HOMES = {
    "UNSET": "msgspec",
    "AccessPolicy": "rotifer_host.memory",
    "Agent": "rotifer_host.api",
    "AgentCheck": "rotifer_host.verify",
    "CallReport": "rotifer_host.agent.report",
    "CompileResult": "rotifer_host.gene.compile",
    "DataPolicy": "rotifer_host.memory",
    "Deadline": "rotifer_host.sandbox",
    "DeployerMemory": "rotifer_host.api",
    "Explanation": "rotifer_host.agent.explain",
    "Exported": "rotifer_host.transfer",
    "Gene": "rotifer_host.gene",
    "GeneMemory": "rotifer_host.api",
    "GeneReport": "rotifer_host.agent.report",
    "GeneTest": "rotifer_host.suite",
    "Imported": "rotifer_host.transfer",
    "Limits": "rotifer_host.limits",
    "MemoryEntry": "rotifer_host.memory",
    "ListedEntry": "rotifer_host.memory",
    "Listing": "rotifer_host.memory",
    "MemoryStats": "rotifer_host.agent.stats",
    "Project": "rotifer_host.api",
    "Proof": "rotifer_host.verify",
    "Recorder": "rotifer_host.record",
    "Replay": "rotifer_host.record",
    "Report": "rotifer_host.report",
    "RetentionPolicy": "rotifer_host.memory",
    "RotiferError": "rotifer_host.errors",
    "RunError": "rotifer_host.agent.report",
    "RunResult": "rotifer_host.agent.report",
    "TurnEvent": "rotifer_host.turn_memory.report",
    "TurnReport": "rotifer_host.turn_memory.report",
    "Verdict": "rotifer_host.agent.explain",
    "WrapResult": "rotifer_host.gene.wrap",
    "create_memory_tools": "rotifer_host.json_memory",
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
