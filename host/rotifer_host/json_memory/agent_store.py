"""The JSON memory of an agent, outside a run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, cast

from rotifer_host.json_memory import rules
from rotifer_host.json_memory.store import Commit, Signal, Stored
from rotifer_host.sandbox.documents import decode_document
from rotifer_host.store.protocol import DocumentName

if TYPE_CHECKING:
    from rotifer_host.memory import AgentMemory, Caller

__all__ = ["AgentJsonStore"]

_NAME = DocumentName("json", rules.DOCUMENT)


class AgentJsonStore:
    """The same memory that the agent's genes see as `rotifer.ext.json`, with the same rules.

    Each call stands on its own and is on disk when it returns. Raises `InvalidInputError`,
    `MemoryConflictError`, `StorageError`, and `LockTimeoutError` when another process
    holds the memory for more than 10 s.
    """

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[AgentMemory]],
        caller: Caller | None,
        schema: Any,  # noqa: ANN401 - a JSON Schema, None for none
    ) -> None:
        self._opened = opened
        self._caller = caller
        self._schema = schema

    def get(self, signal: Signal | None = None) -> Stored:  # noqa: ARG002 - it waits for nobody
        """Return the memory with its revision."""
        with self._opened() as memory:
            return cast("Stored", decode_document(rules.response(memory.documents.read(self._caller, _NAME))))

    def compare_and_set(self, commit: Commit, signal: Signal | None = None) -> int:  # noqa: ARG002 - for ten seconds at most
        """Replace the memory and return its new revision."""
        expected = rules.checked_revision(commit["expectedRevision"])
        encoded = rules.checked_memory(commit["memory"])
        if self._schema is not None:
            rules.check_schema(self._schema, encoded)
        with self._opened() as memory:
            memory.documents.change(
                self._caller, "json.update", _NAME, lambda old: rules.replaced(old, expected, encoded)
            )
        return expected + 1
