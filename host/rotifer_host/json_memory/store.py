"""Where a JSON memory is kept: what a store must do, and one that lasts as long as its program."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol, TypedDict

from rotifer_host.json_memory.rules import checked_memory, checked_revision, conflict
from rotifer_host.sandbox.documents import decode_document

__all__ = ["Commit", "InMemoryStore", "JsonMemoryStore", "Signal", "Stored"]


class Signal(Protocol):
    """Says that nobody waits for an answer any more; a `threading.Event` is one."""

    def is_set(self) -> bool:
        """Tell whether it was given."""
        ...


class Stored(TypedDict):
    """A memory with its revision: 0 and None where there is none yet, else at least 1 and an object."""

    revision: int
    memory: dict[str, Any] | None


class Commit(TypedDict):
    """A memory, to take the place of the whole of another."""

    expectedRevision: int
    memory: dict[str, Any]


class JsonMemoryStore(Protocol):
    """One memory, of one user's one session: whoever makes a store has chosen whose."""

    def get(self, signal: Signal | None) -> Stored | Mapping[str, Any]:
        """Return the memory with its revision."""
        ...

    def compare_and_set(self, commit: Commit, signal: Signal | None) -> int | Mapping[str, Any]:
        """Replace the memory if it has the revision `expectedRevision`, in one atomic step.

        Returns the new revision, which is the old one + 1, as a number or as
        `{"revision": …}`. Raises `MemoryConflictError` for another revision, nothing written.
        """
        ...


class InMemoryStore:
    """A store in this process that no disk outlives; any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._revision = 0
        self._memory: bytes | None = None

    def get(self, signal: Signal | None = None) -> Stored:  # noqa: ARG002 - nothing here takes time
        """Return the memory with its revision."""
        with self._lock:
            revision, memory = self._revision, self._memory
        found: Any = None if memory is None else decode_document(memory)
        return {"revision": revision, "memory": found}

    def compare_and_set(self, commit: Commit, signal: Signal | None = None) -> int:  # noqa: ARG002 - the same
        """Replace the memory; raises `MemoryConflictError`, `InvalidInputError`."""
        expected, memory = checked_revision(commit["expectedRevision"]), checked_memory(commit["memory"])
        with self._lock:
            if expected != self._revision:
                raise conflict(expected, self._revision)
            self._revision, self._memory = expected + 1, memory
            return self._revision
