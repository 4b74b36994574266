"""JSON memory: one JSON object with a revision, replaced as a whole by who knows the present revision.

json-and-turn-memory.zh.md, the section on JSON memory. Genes use it as the host module
`rotifer.ext.json`, programs and language models through `create_memory_tools`.
"""

from __future__ import annotations

from rotifer_host.json_memory.agent_store import AgentJsonStore
from rotifer_host.json_memory.store import InMemoryStore, JsonMemoryStore
from rotifer_host.json_memory.tools import MemoryTool, ToolResult, create_memory_tools

__all__ = ["AgentJsonStore", "InMemoryStore", "JsonMemoryStore", "MemoryTool", "ToolResult", "create_memory_tools"]
