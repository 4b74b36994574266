"""Names, codes, limits and defaults of the host, written once.

Everything here is part of the contract with guests, deployers or other hosts:
`abi/README.md`, the command line and the tests are checked against it.
Sizes are bytes, times milliseconds unless a name says otherwise.
"""

from __future__ import annotations

from typing import Final

ABI_VERSION: Final = 1
FORMAT_VERSION: Final = 1
"""Version of every file, record and JSON document the host writes."""

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

# Memory entries (memory-api.en.md, "Memory categories" to "Access scopes").
CATEGORIES: Final = ("PREFERENCE", "PATTERN", "CONTEXT", "CACHE")
EVICTION_ORDER: Final = ("CACHE", "PATTERN", "CONTEXT")
SCOPES: Final = ("CREATOR_GENE_ONLY", "SAME_DOMAIN", "ALL_GENES", "DEPLOYER_CONFIGURED")
SHARE_POLICIES: Final = ("PRIVATE", "ANONYMIZED_SHARE", "KNOWLEDGE_GENE")

# Sizes (memory-api.en.md, "Size limits", "Quota and cleanup", "The four calls").
MAX_KEY_BYTES: Final = 1024
MAX_VALUE_BYTES: Final = MIB
MAX_REQUEST_BYTES: Final = 2 * MIB
MAX_QUERY_BYTES: Final = 4 * MIB
DEFAULT_QUERY_LIMIT: Final = 100
MAX_QUERY_LIMIT: Final = 1000
MAX_RETENTION_DAYS: Final = 2_147_483_647
SECONDS_PER_DAY: Final = 86_400
DEFAULT_QUOTA_BYTES: Final = 10 * MIB
MAX_QUOTA_BYTES: Final = 1024 * GIB
MIN_ENTRY_LIMIT: Final = 1024
BYTES_PER_ENTRY_OF_QUOTA: Final = 16
"""An agent holds at most max(MIN_ENTRY_LIMIT, quota // this) entries."""

MEMORY_CALLS: Final = ("readMemory", "writeMemory", "queryMemory", "deleteMemory")
"""The four calls: functions of module `rotifer` for a guest, of `ctx.memory` on Node.js."""

# Results of a host call (memory-api.en.md, "From a WASM module").
BUFFER_TOO_SMALL: Final = -1
ACCESS_DENIED: Final = -2
BUDGET_EXHAUSTED: Final = -4
QUOTA_EXCEEDED: Final = -8
INVALID_INPUT: Final = -10
NOT_FOUND: Final = -12
STORAGE_ERROR: Final = -13
MEMORY_CONFLICT: Final = -14
FIRST_OWN_RESULT: Final = -100
"""Host modules of others answer this, or less, for errors of their own."""
LEAST_RESULT: Final = -(2**31)
MAX_OWN_ERRORS: Final = 16
"""Of one host module."""

# What host modules keep for an agent, besides its entries.
MAX_DOCUMENT_BYTES: Final = MIB
MAX_DOCUMENTS_BYTES: Final = 16 * MIB
MAX_DOCUMENTS: Final = 1024
MAX_DOCUMENT_NAME_BYTES: Final = 256
EXTENSION_PREFIX: Final = "rotifer.ext."
"""What a guest imports the functions of a host module from, before the module's name."""
MODULE_NAME_PATTERN: Final = r"^[a-z][a-z0-9-]{0,39}$"

# Markdown memory (markdown-memory.zh.md).
MAX_MARKDOWN_FILE_BYTES: Final = 4 * MIB
MAX_MARKDOWN_BYTES: Final = 16 * MIB
"""All files together; every operation reads them all."""
DEFAULT_MARKDOWN_RESULTS: Final = 10
MAX_MARKDOWN_RESULTS: Final = 100

# JSON memory (json-and-turn-memory.zh.md).
MAX_JSON_MEMORY_BYTES: Final = 64 * KIB
MAX_JSON_MEMORY_DEPTH: Final = 32
MAX_JSON_REVISION: Final = 2**53 - 1
"""An update is made for a smaller one: JavaScript counts up to here exactly."""

# Turn memory (json-and-turn-memory.zh.md).
HINOS_VARIABLE: Final = "hinosMemory"
DIARY_VARIABLE: Final = "compassMemory"
TABLE_VARIABLE: Final = "memoryTable"
TURN_DOCUMENTS: Final = "turn"
"""What local turn memory keeps its documents under; no host module has the name."""
TURN_ACTIONS: Final = ("turn.round", "turn.diary", "turn.table")
"""What the audit log says of them; the host's own doing."""
TABLE_EDITS: Final = "tableEdits"
"""The member of an output that holds the edits of the memory table."""
DEFAULT_HINOS_TIMEOUT_MS: Final = 10_000
MAX_TURN_RESPONSE_BYTES: Final = MIB
DIARY_MIN_ROUNDS: Final = 20
DIARY_ROUNDS: Final = 10
DIARY_MOST_ROUNDS: Final = 1000
DIARY_MOST_RECALLED: Final = 5
MAX_TABLE_BYTES: Final = 64 * KIB

# What a host call costs.
CALL_BASE_FUEL: Final = 20_000
CALL_FUEL_PER_BYTE: Final = 10

# Limits of a run.
DEFAULT_FUEL: Final = 500_000_000
DEFAULT_DEADLINE_MS: Final = 60_000
DEFAULT_GUEST_MEMORY_BYTES: Final = 256 * MIB
MAX_TABLE_ELEMENTS: Final = 10_000
DEFAULT_HOST_TIME_MS: Final = 30_000
MAX_MODULE_BYTES: Final = 64 * MIB
MAX_INPUT_BYTES: Final = 16 * MIB
MAX_OUTPUT_BYTES: Final = 16 * MIB
MAX_LOG_BYTES: Final = 64 * KIB
LOCK_WAIT_OUTSIDE_RUN_MS: Final = 10_000
DURABILITIES: Final = ("call", "run")

# How an agent's genes are composed.
COMPOSITIONS: Final = ("Single", "Seq", "Par", "Cond", "Try")
MERGES: Final = ("first", "concat", "merge")
"""What a `Par` makes of the outputs of its branches."""
CONDITION_OPS: Final = ("Eq", "Neq", "Gt", "Lt", "Gte", "Lte", "Contains")
MAX_COMPOSITION_DEPTH: Final = 16
MAX_COMPOSED_GENES: Final = 256
"""Places for genes in one composition that names them; as many threads, at most."""

# Exit status of the command line.
EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_LIMIT: Final = 3

ERROR_KEY: Final = "__rotifer_error"
"""The one member of an error payload, and of an output that rejects its input."""

NAME_PATTERN: Final = r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$"
MAX_NAME_LENGTH: Final = 100
DOMAIN_PATTERN: Final = r"^[a-z0-9]+(\.[a-z0-9]+)*$"
VERSION_PATTERN: Final = r"^\d+\.\d+\.\d+(-[a-zA-Z0-9.]+)?$"
TEMPLATES: Final = ("rust", "assemblyscript", "wat", "c", "typescript")
"""Genes to start from, `rotifer init --template`."""
FIDELITIES: Final = ("Wrapped", "Hybrid", "Native", "Unknown")
GENE_ID_PATTERN: Final = r"^v2:[0-9a-f]{64}$"

AUDIT_ACTIONS: Final = (
    "memory.create",
    "memory.update",
    "memory.delete",
    "memory.evict",
    "memory.expire",
    "memory.reject",
    "memory.deny",
    "memory.abort",
)
