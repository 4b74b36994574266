"""Entries as Python callers get them.

memory-api.en.md, "Entries".
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from rotifer_host.errors import StorageError
from rotifer_host.memory.entry import AccessPolicy, Category, RetentionPolicy

__all__ = ["MemoryEntry", "parse_entries", "parse_entry", "stored_entry"]


class MemoryEntry(msgspec.Struct, frozen=True, rename="camel"):
    """One entry; `value` is raw bytes, times are RFC 3339 texts in UTC."""

    entry_id: str
    category: Category
    key: str
    value: bytes
    created_by: str
    """v2 id of the gene that created the entry."""
    last_accessed_by: str
    created_at: str
    updated_at: str
    access_policy: AccessPolicy
    retention_policy: RetentionPolicy | None


_STORED: Final = msgspec.json.Decoder(MemoryEntry)
_ENTRY: Final = msgspec.json.Decoder(MemoryEntry | None)
_ENTRIES: Final = msgspec.json.Decoder(list[MemoryEntry])
_T = TypeVar("_T")


def parse_entry(response: bytes) -> MemoryEntry | None:
    """Turn the response of a read into an entry; None when it found none. Raises `StorageError` for a damaged one."""
    return _decoded(_ENTRY, response)


def stored_entry(response: bytes) -> MemoryEntry:
    """Turn the response of a write into the entry it stored."""
    return _decoded(_STORED, response)


def parse_entries(response: bytes) -> list[MemoryEntry]:
    """Turn the response of a query into entries. Raises `StorageError` when one of them is damaged."""
    return _decoded(_ENTRIES, response)


def _decoded(decoder: msgspec.json.Decoder[_T], response: bytes) -> _T:
    try:
        return decoder.decode(response)
    except msgspec.DecodeError as error:
        message = f"an entry of the memory file is damaged: it holds no entry's JSON: {error}"
        raise StorageError(message) from error
