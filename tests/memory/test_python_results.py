"""Entries as Python callers get them."""

from __future__ import annotations

from typing import Any

from rotifer_host.memory import AccessPolicy, MemoryEntry, parse_entries, parse_entry, query_request, read_request


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
