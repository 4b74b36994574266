"""`get_memory` and `update_memory` of the JSON memory that an agent's genes see as `rotifer.ext.json`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rotifer_host import contract
from rotifer_host.json_memory import create_memory_tools
from rotifer_host.mcp.tool import Answer, Effect, Tool, object_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rotifer_host.json_memory import JsonMemoryStore, MemoryTool
    from rotifer_host.sandbox import Deadline

__all__ = ["json_tools"]

_REVISION: Final = {"type": "integer", "minimum": 0, "maximum": contract.MAX_JSON_REVISION}


def json_tools(store: JsonMemoryStore) -> list[Tool]:
    """Return the two tools of one store."""
    get, update = create_memory_tools(store)
    return [
        _tool(get, "Read the JSON memory", "reads", {"revision": _REVISION, "memory": {"type": ["object", "null"]}}),
        _tool(update, "Replace the JSON memory", "changes", {"revision": _REVISION}),
    ]


def _tool(tool: MemoryTool, title: str, effect: Effect, returns: dict[str, dict[str, Any]]) -> Tool:
    return Tool(
        tool.name,
        title,
        tool.description,
        {"required": [], **tool.parameters},
        object_of(returns),
        effect,
        partial(_run, tool),
    )


def _run(tool: MemoryTool, arguments: Mapping[str, Any], _deadline: Deadline) -> Answer:
    return Answer(tool.execute(None, arguments).details)
