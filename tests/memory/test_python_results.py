"""Entries as Python callers get them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rotifer_host.errors import StorageError
from rotifer_host.memory import AccessPolicy, MemoryEntry, parse_entries, parse_entry, query_request, read_request
from rotifer_host.memory.result import stored_entry


def test_a_response_becomes_a_typed_entry(world: Any) -> None:
    """Values come as raw bytes, a missing entry as None."""
    world.write(world.gene("a"), "clé", b"\0\xff", "PATTERN")
    entry = parse_entry(world.memory.read(world.gene("b"), read_request("clé")))
    assert isinstance(entry, MemoryEntry)
    assert (entry.key, entry.value, entry.category) == ("clé", b"\0\xff", "PATTERN")
    assert (entry.created_by, entry.last_accessed_by) == (world.gene("a").gene_id, world.gene("b").gene_id)
    assert (entry.created_at, entry.updated_at) == ("2026-01-01T00:00:00.000Z",) * 2
    assert entry.access_policy == AccessPolicy("SAME_DOMAIN", "SAME_DOMAIN", "PRIVATE")
    assert entry.retention_policy is None
    assert parse_entry(world.memory.read(world.gene("b"), read_request("other"))) is None
    assert parse_entries(world.memory.query(world.gene("b"), query_request())) == [entry]


@pytest.mark.parametrize("parse", [parse_entry, stored_entry, parse_entries])
@pytest.mark.parametrize("response", [b"", b"{", b"7", b'{"key":"k"}', b'[{"key":"k"}]', b'"\xff"'])
def test_what_is_no_entry_is_a_storage_error(parse: Callable[[bytes], object], response: bytes) -> None:
    """The JSON of a damaged entry raises nothing of a decoder's."""
    with pytest.raises(StorageError, match="is damaged: it holds no entry's JSON"):
        parse(response)
