"""The four operations of the Markdown memory that an agent's genes see as `rotifer.ext.markdown`.

markdown-memory.zh.md, whose names, parameters and codes they have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from rotifer_host.markdown_memory import DEFAULT_LIMIT, MAX_LIMIT
from rotifer_host.mcp.tool import Answer, Effect, Schema, Tool, object_of

if TYPE_CHECKING:
    from rotifer_host.markdown_memory import MarkdownMemory
    from rotifer_host.sandbox import Deadline

__all__ = ["markdown_tools"]

_INVALID: Final = "INVALID_PATH"
_KEY: Final = {"type": "string", "minLength": 1, "description": "One line: the heading of the memory's block."}
_CONTENT: Final = {"type": "string"}
_TAGS: Final = {
    "type": "array",
    "items": {"type": "string", "minLength": 1},
    "description": "Printable texts without | and --.",
}
_TARGETS: Final = ["daily", "summary"]
_KIND: Final = {"type": "string", "enum": _TARGETS}
_NULLABLE: Final = {"type": ["string", "null"]}
_FOUND: Final = object_of(
    {
        "key": {"type": "string"},
        "content": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "file": {"type": "string"},
        "kind": _KIND,
        "created_at": _NULLABLE,
        "updated_at": _NULLABLE,
    }
)


def markdown_tools(memory: MarkdownMemory) -> list[Tool]:
    """Return the four tools of one folder."""
    return [
        _tool(
            "memory_write",
            "Write a new memory in Markdown",
            "Make a new memory in the project's Markdown files, which people read and edit, too. No file may have this "
            "key yet.",
            {
                "key": _KEY,
                "content": _CONTENT,
                "target": {
                    **_KIND,
                    "default": "daily",
                    "description": "daily: the file of today (UTC). summary: MEMORY.md.",
                },
                "tags": _TAGS,
            },
            ("target", "tags"),
            object_of({"key": {"type": "string"}, "target": _KIND, "path": {"type": "string"}}),
            "adds",
            lambda members: memory.write(**members)._asdict(),
        ),
        _tool(
            "memory_update",
            "Replace a memory in Markdown",
            "Replace the memory in the project's Markdown files that memory_read shows for this key.",
            {
                "key": _KEY,
                "content": _CONTENT,
                "tags": {**_TAGS, "description": "In place of the ones it has; left out, it keeps those."},
            },
            ("tags",),
            object_of({"key": {"type": "string"}, "path": {"type": "string"}, "kind": _KIND}),
            "changes",
            lambda members: memory.update(**members)._asdict(),
        ),
        _tool(
            "memory_read",
            "Read a memory in Markdown",
            "Return the newest memory of this key in MEMORY.md, else the newest in all other Markdown files.",
            {"key": _KEY},
            (),
            _FOUND,
            "reads",
            lambda members: memory.read(**members).to_json(),
        ),
        _tool(
            "memory_search",
            "Search the memories in Markdown",
            "Return the memories with a text in key or content, whatever the case, and with all tags given: those of "
            "MEMORY.md first, the newest first.",
            {
                "query": {"type": "string", "description": "The text; an empty one matches all."},
                "tags": _TAGS,
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
            },
            ("tags", "limit"),
            object_of({"results": {"type": "array", "items": _FOUND}}),
            "reads",
            lambda members: {"results": [found.to_json() for found in memory.search(**members)]},
        ),
    ]


def _tool(  # noqa: PLR0913, PLR0917 - what a tool is made of
    name: str,
    title: str,
    description: str,
    parameters: Mapping[str, Schema],
    optional: tuple[str, ...],
    returns: Schema,
    effect: Effect,
    operation: Callable[[dict[str, Any]], dict[str, Any]],
) -> Tool:
    def run(arguments: Mapping[str, Any], _deadline: Deadline) -> Answer:
        members = {key: value for key, value in arguments.items() if value is not None or key not in optional}
        return Answer(operation(members))

    schema = object_of(parameters, optional=optional)
    return Tool(name, title, description, schema, returns, effect, run, invalid=_INVALID)
