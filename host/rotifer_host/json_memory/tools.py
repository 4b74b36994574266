"""`get_memory` and `update_memory`: a JSON memory as tools for a language model or a program.

json-and-turn-memory.zh.md, "独立 JSON 记忆工具" and "最小宿主接线".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import isawaitable, iscoroutine
from typing import Any, Final, Literal, NamedTuple

from rotifer_host import contract
from rotifer_host.errors import HostCallError, InvalidInputError, RotiferError, StorageError
from rotifer_host.json_memory.rules import checked_memory, checked_revision
from rotifer_host.json_memory.store import Commit, JsonMemoryStore, Signal
from rotifer_host.memory.fields import kind_of, refuse, shown
from rotifer_host.sandbox.documents import decode_document

__all__ = ["BeforeUpdate", "MemoryTool", "ToolResult", "create_memory_tools"]

BeforeUpdate = Callable[[dict[str, Any]], object]
"""Gets the new memory, and refuses it by raising, at once: what it would have to be awaited for is refused."""

_READ_BACK: Final = "it may have been written all the same: read it back with get_memory, do not retry"


class ToolResult(NamedTuple):
    """What a tool came to."""

    details: dict[str, Any]
    """`{"revision", "memory"}` of `get_memory`, `{"revision"}` of `update_memory`."""


@dataclass(frozen=True, slots=True)
class MemoryTool:
    """A tool, described as language models are told of one."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments: none of them says whose memory it is."""
    run: Callable[[Mapping[str, Any], Signal | None], dict[str, Any]]
    replay: Literal["never"] = "never"
    """For hosts that go on where they broke off: a call whose outcome is not known is not made again by itself."""

    def execute(
        self, call_id: str | None = None, arguments: Mapping[str, Any] | None = None, signal: Signal | None = None
    ) -> ToolResult:
        """Do it. `call_id` is the caller's own name for the call; a `signal` that is set stops it before it begins.

        Raises `InvalidInputError` for arguments that are not allowed, `MemoryConflictError`
        for a revision that is not the present one, `StorageError` when the store failed.
        """
        del call_id
        if signal is not None and signal.is_set():
            raise InvalidInputError(f"{self.name} was cancelled before it began")
        given = {} if arguments is None else arguments
        allowed = self.parameters["properties"]
        if not isinstance(given, Mapping):
            refuse(f"the arguments of {self.name} must be an object, not {kind_of(given)}")
        for name in given:
            if name not in allowed:
                refuse(f"undefined field {shown(name)}: {self.name} takes {', '.join(allowed) or 'none'}")
        for name in allowed:
            if name not in given:
                refuse(f"{name} is required: {self.name} takes {', '.join(allowed)}")
        return ToolResult(self.run(given, signal))


def create_memory_tools(
    store: JsonMemoryStore, before_update: BeforeUpdate | None = None
) -> tuple[MemoryTool, MemoryTool]:
    """Return the tools `get_memory` and `update_memory` of the one memory that `store` keeps.

    `before_update` is called with a copy of each new memory, once that is allowed by all
    other rules and before the store is touched.
    """

    def get(_arguments: Mapping[str, Any], signal: Signal | None) -> dict[str, Any]:
        try:
            found = store.get(signal)
        except RotiferError:
            raise
        except Exception as error:
            raise StorageError(f"the memory could not be read: {_said(error)}") from error
        return _checked(found)

    def update(arguments: Mapping[str, Any], signal: Signal | None) -> dict[str, Any]:
        expected, encoded = checked_revision(arguments["expectedRevision"]), checked_memory(arguments["memory"])
        if before_update is not None:
            _ask(before_update, encoded)
        commit: Commit = {"expectedRevision": expected, "memory": _copy(encoded)}
        try:
            answer = store.compare_and_set(commit, signal)
        except RotiferError:
            raise
        except Exception as error:
            raise StorageError(f"the memory could not be saved: {_said(error)}; {_READ_BACK}") from error
        revision = answer.get("revision") if isinstance(answer, Mapping) else answer
        if type(revision) is not int or revision != expected + 1:
            message = f"the store answered revision {shown(revision)} to an update of {expected}, not {expected + 1}"
            raise StorageError(f"{message}; {_READ_BACK}")
        return {"revision": revision}

    return (
        MemoryTool(
            "get_memory",
            "Read the memory and its revision; revision 0 and null when there is none yet.",
            {"type": "object", "properties": {}, "additionalProperties": False},
            get,
        ),
        MemoryTool(
            "update_memory",
            "Replace the whole memory, saved when this returns: what the new object leaves out is gone. After a "
            "conflict read the memory and decide again.",
            {
                "type": "object",
                "properties": {
                    "expectedRevision": {
                        "type": "integer",
                        "minimum": 0,
                        "exclusiveMaximum": contract.MAX_JSON_REVISION,
                        "description": "The revision that get_memory returned with the memory this one is made from.",
                    },
                    "memory": {
                        "type": "object",
                        "description": f"All of the new memory, at most {contract.MAX_JSON_MEMORY_BYTES} bytes as JSON "
                        f"and {contract.MAX_JSON_MEMORY_DEPTH} deep.",
                    },
                },
                "required": ["expectedRevision", "memory"],
                "additionalProperties": False,
            },
            update,
        ),
    )


def _ask(before_update: BeforeUpdate, encoded: bytes) -> None:
    try:
        answer = before_update(_copy(encoded))
    except HostCallError:
        raise
    except Exception as error:
        raise InvalidInputError(f"memory is refused: {_said(error)}") from error
    if isawaitable(answer):  # it has not checked anything yet
        if iscoroutine(answer):
            answer.close()
        raise InvalidInputError("memory is refused: before_update is asynchronous, and must decide before it returns")


def _checked(found: object) -> dict[str, Any]:
    """Return what a store answered to `get` if it can be true; raises `StorageError`."""
    revision, memory = (found.get("revision"), found.get("memory")) if isinstance(found, Mapping) else (None, None)
    if type(revision) is int and 0 <= revision <= contract.MAX_JSON_REVISION:
        if revision == 0 and memory is None:
            return {"revision": 0, "memory": None}
        if revision > 0:
            try:
                return {"revision": revision, "memory": _copy(checked_memory(memory))}
            except InvalidInputError as error:
                raise StorageError(f"the store holds no memory that is allowed: {error.message}") from error
    raise StorageError(f"the store answered revision {shown(revision)} with {kind_of(memory)}: that is no memory")


def _copy(encoded: bytes) -> Any:  # noqa: ANN401 - the object that was encoded
    return decode_document(encoded)


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
