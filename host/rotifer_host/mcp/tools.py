"""What an agent offers: running it, and the memories that it has and is granted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_host.mcp.json_tools import json_tools
from rotifer_host.mcp.markdown_tools import markdown_tools
from rotifer_host.mcp.memory_tools import memory_tools
from rotifer_host.mcp.run_tool import run_tool

if TYPE_CHECKING:
    from rotifer_host.api import Project
    from rotifer_host.limits import Limits
    from rotifer_host.mcp.tool import Tool

__all__ = ["agent_tools"]


def agent_tools(project: Project, name: str, gene: str | None, *, limits: Limits, call_path: str | None) -> list[Tool]:
    """Return the tools of the agent `name` as its record is now, acting as `gene`.

    Without a gene there are none for the agent's own memory, and the audit log names the
    deployer. Raises `AgentError`, `GeneError`.
    """
    agent = project.agent(name)
    tools = [run_tool(project, agent, limits, call_path)]
    if gene is not None:
        tools += memory_tools(lambda: agent.memory(project.gene(gene)), gene)
    caller = None if gene is None else project.gene(gene)
    if "json" in agent.grants:
        tools += json_tools(agent.json_memory(caller))
    if "markdown" in agent.grants:
        tools += markdown_tools(agent.markdown_memory(caller))
    return tools
