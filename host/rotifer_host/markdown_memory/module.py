"""The Markdown memory of a project as the host module `rotifer.ext.markdown`.

Requests and responses have the parameters of markdown-memory.zh.md, refusals its codes;
a request that cannot be read, or has an undefined field, is `MEMORY_INVALID_INPUT`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from rotifer_host.errors import (
    HostCallError,
    InvalidInputError,
    MarkdownError,
    MemoryConflictError,
    NotFoundError,
    StorageError,
)
from rotifer_host.markdown_memory.memory import MarkdownMemory, Updated, Written
from rotifer_host.memory.request import members_of
from rotifer_host.modules.module import HostModule

if TYPE_CHECKING:
    from rotifer_host.modules import Handler, ModuleCall

__all__ = ["MODULE"]

_REFUSALS: Final[dict[str, type[HostCallError]]] = {
    "MEMORY_KEY_EXISTS": MemoryConflictError,
    "MEMORY_KEY_NOT_FOUND": NotFoundError,
    "MEMORY_STORAGE_ERROR": StorageError,
}
"""All other codes are `InvalidInputError`."""


def _write(memory: MarkdownMemory, call: ModuleCall, members: dict[str, Any]) -> bytes:
    return _encode(memory.write(**members, admit=lambda written: call.admit(len(_encode(written)))))


def _update(memory: MarkdownMemory, call: ModuleCall, members: dict[str, Any]) -> bytes:
    return _encode(memory.update(**members, admit=lambda updated: call.admit(len(_encode(updated)))))


def _read(memory: MarkdownMemory, _call: ModuleCall, members: dict[str, Any]) -> bytes:
    return msgspec.json.encode(memory.read(**members).to_json())


def _search(memory: MarkdownMemory, _call: ModuleCall, members: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"results": [found.to_json() for found in memory.search(**members)]})


def _encode(done: Written | Updated) -> bytes:
    return msgspec.json.encode(done._asdict())


def _handler(
    name: str,
    operation: Callable[[MarkdownMemory, ModuleCall, dict[str, Any]], bytes],
    required: tuple[str, ...],
    optional: tuple[str, ...] = (),
) -> Handler:
    fields = (*required, *optional)

    def handle(call: ModuleCall, request: bytes) -> bytes:
        given = members_of(request, name, fields)
        members = {field: value for field, value in given.items() if value is not None}
        for field in required:
            if field not in members:
                raise InvalidInputError(f"{field} is required: {name} takes {', '.join(fields)}", code="INVALID_PATH")
        granted = call.granted
        if granted.project is None:
            raise StorageError("there is no project folder here, and so no Markdown files")
        memory = MarkdownMemory(
            granted.project,
            clock=granted.clock,
            patience=granted.patience,
            announce=lambda change: call.noted(change.action, change.key, change.bytes),
        )
        try:
            return operation(memory, call, members)
        except MarkdownError as error:
            raise _REFUSALS.get(error.code, InvalidInputError)(error.message, code=error.code) from error

    return handle


MODULE: Final = HostModule(
    "markdown",
    {
        "memory_write": _handler("memory_write", _write, ("key", "content"), ("target", "tags")),
        "memory_update": _handler("memory_update", _update, ("key", "content"), ("tags",)),
        "memory_read": _handler("memory_read", _read, ("key",)),
        "memory_search": _handler("memory_search", _search, ("query",), ("tags", "limit")),
    },
)
