"""The library: projects, their genes and agents, runs and memory.

Everything the command line does, it does through these classes.
"""

from __future__ import annotations

from rotifer_host.api.agent import Agent
from rotifer_host.api.memory import DeployerMemory, GeneMemory
from rotifer_host.api.project import Project
from rotifer_host.api.replaying import replay

__all__ = ["Agent", "DeployerMemory", "GeneMemory", "Project", "replay"]
