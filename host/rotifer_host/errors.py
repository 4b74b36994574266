"""Every error of this package.

    RotiferError
    ├── UsageError              wrong arguments; the command line exits 2
    ├── ProjectError            no project, unreadable project file, locked project
    ├── GeneError               unknown gene, bad phenotype, not compiled, stale
    ├── AgentError              unknown agent, name taken, bad record
    ├── DocumentError           not one JSON document, or not a JSON value
    ├── RecordingError          a recorded run that cannot be written, read or replayed
    ├── MarkdownError           a memory in Markdown files; the code is one of markdown-memory.zh.md
    ├── TransferError           the file of a moved agent that cannot be written or taken in
    ├── TurnMemoryError         an external memory service that did not do what it was asked
    ├── ModuleError             a module that cannot run here
    │   ├── BadModuleError      not valid WebAssembly, or not a gene
    │   ├── UnknownImportError  imports something the host does not offer
    │   └── NotGrantedError     imports a host module that its agent is not granted
    ├── HostModuleError         a host module that is not there, or cannot be used
    ├── StoreError              the memory store failed
    ├── AuditError              an audit line could not be written
    ├── LockTimeoutError        another process held a lock for too long
    └── HostCallError           what a host call answers instead of a response
        ├── BufferTooSmallError      -1   MEMORY_BUFFER_TOO_SMALL
        ├── AccessDeniedError        -2   MEMORY_ACCESS_DENIED
        ├── BudgetExhaustedError     -4   (no payload)
        ├── QuotaExceededError       -8   MEMORY_QUOTA_EXCEEDED
        ├── InvalidInputError        -10  MEMORY_INVALID_INPUT
        ├── NotFoundError            -12  MEMORY_NOT_FOUND
        ├── StorageError             -13  MEMORY_STORAGE_ERROR
        └── MemoryConflictError      -14  MEMORY_CONFLICT, only of host modules json and markdown

No exception of LMDB, the WASM engine or the JSON libraries leaves the package
unmapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rotifer_host import contract

__all__ = [
    "AccessDeniedError",
    "AgentError",
    "AuditError",
    "BadModuleError",
    "BudgetExhaustedError",
    "BufferTooSmallError",
    "DocumentError",
    "GeneError",
    "HostCallError",
    "HostModuleError",
    "InvalidInputError",
    "LockTimeoutError",
    "MarkdownError",
    "MemoryConflictError",
    "ModuleError",
    "NotFoundError",
    "NotGrantedError",
    "ProjectError",
    "QuotaExceededError",
    "RecordingError",
    "RotiferError",
    "StorageError",
    "StoreError",
    "TransferError",
    "TurnMemoryError",
    "UnknownImportError",
    "UsageError",
]


class RotiferError(Exception):
    """Base of all errors: a `code`, a message, and where there is one a `help`."""

    code: str = "ERROR"

    def __init__(self, message: str, *, code: str | None = None, help: str | None = None) -> None:  # noqa: A002 - the word users read
        super().__init__(message)
        self.message = message
        self.help = help
        if code is not None:
            self.code = code


class UsageError(RotiferError):
    """Arguments that do not fit the command or the call."""

    code = "USAGE"


class ProjectError(RotiferError):
    """The project folder cannot be used."""

    code = "PROJECT"


class GeneError(RotiferError):
    """A gene cannot be used as it lies on disk."""

    code = "GENE"


class AgentError(RotiferError):
    """An agent cannot be made or used."""

    code = "AGENT"


class DocumentError(RotiferError):
    """Bytes that are not one JSON document, or a value that is none."""

    code = "BAD_JSON"


class RecordingError(RotiferError):
    """A recorded run cannot be written, read or run again."""

    code = "RECORDING"


class MarkdownError(RotiferError):
    """A memory in Markdown files cannot be written, changed, read or found."""

    code = "MEMORY_STORAGE_ERROR"


class TransferError(RotiferError):
    """The file of a moved agent cannot be written, read or taken in."""

    code = "AGENT_FILE"


class TurnMemoryError(RotiferError):
    """A service of turn memory did not answer, or not as it must.

    `certain` says that it has kept nothing of what it was sent; otherwise nobody knows.
    """

    code = "TURN_MEMORY"

    def __init__(self, message: str, *, certain: bool = False) -> None:
        super().__init__(message)
        self.certain = certain


class ModuleError(RotiferError):
    """A WebAssembly module that cannot run here."""

    code = "BAD_MODULE"


class BadModuleError(ModuleError):
    """Not valid WebAssembly, or without the exports of a gene."""


class UnknownImportError(ModuleError):
    """An import the host does not offer."""

    code = "UNKNOWN_IMPORT"
    modules: Sequence[str] = ()
    """What the imports that are not offered name as their modules."""


class NotGrantedError(ModuleError):
    """An import from a host module that there is, and that is not granted to who runs the gene."""

    code = "NOT_GRANTED"


class HostModuleError(RotiferError):
    """A host module is not there, or what a distribution registered as one is none."""

    code = "HOST_MODULE"


class StoreError(RotiferError):
    """The memory store could not be opened, read or changed."""

    code = "MEMORY_STORAGE_ERROR"


class AuditError(RotiferError):
    """An audit line could not be written."""

    code = "MEMORY_STORAGE_ERROR"
    written: Sequence[bytes] = ()
    """Lines that stand in the file all the same: only bringing them to the disk failed."""


class LockTimeoutError(RotiferError):
    """Another process or thread held a lock longer than the caller may wait."""

    code = "LOCK_TIMEOUT"


class HostCallError(RotiferError):
    """What a host call answers instead of a response: `result` < 0 and a `code`."""

    result: ClassVar[int]


class BufferTooSmallError(HostCallError):
    """The response does not fit `out`; nothing has changed."""

    result = contract.BUFFER_TOO_SMALL
    code = "MEMORY_BUFFER_TOO_SMALL"


class AccessDeniedError(HostCallError):
    """A policy of the entry or the agent forbids the call."""

    result = contract.ACCESS_DENIED
    code = "MEMORY_ACCESS_DENIED"


class BudgetExhaustedError(HostCallError):
    """The run's deadline, host time or fuel is used up; nothing has changed."""

    result = contract.BUDGET_EXHAUSTED
    code = "BUDGET_EXHAUSTED"


class QuotaExceededError(HostCallError):
    """The write does not fit even after cleanup; nothing was written."""

    result = contract.QUOTA_EXCEEDED
    code = "MEMORY_QUOTA_EXCEEDED"


class InvalidInputError(HostCallError):
    """The request breaks a rule; the message names the field and the rule."""

    result = contract.INVALID_INPUT
    code = "MEMORY_INVALID_INPUT"


class NotFoundError(HostCallError):
    """The entry to delete does not exist."""

    result = contract.NOT_FOUND
    code = "MEMORY_NOT_FOUND"


class StorageError(HostCallError):
    """The store or the audit log failed; the change was not made."""

    result = contract.STORAGE_ERROR
    code = "MEMORY_STORAGE_ERROR"


class MemoryConflictError(HostCallError):
    """The memory is not what the change was made for: another revision, a key that is taken; nothing was written."""

    result = contract.MEMORY_CONFLICT
    code = "MEMORY_CONFLICT"
