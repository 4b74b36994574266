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

# Results of a host call (memory-api.en.md, "From a WASM module").
BUFFER_TOO_SMALL: Final = -1
ACCESS_DENIED: Final = -2
BUDGET_EXHAUSTED: Final = -4
QUOTA_EXCEEDED: Final = -8
INVALID_INPUT: Final = -10
NOT_FOUND: Final = -12
STORAGE_ERROR: Final = -13

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

# Compositions this host runs.
COMPOSITIONS: Final = ("Single", "Seq")

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
