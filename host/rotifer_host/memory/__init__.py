"""The rules of an agent's memory: free of WebAssembly, and of where entries lie."""

from __future__ import annotations

from rotifer_host.memory.agent_memory import AgentMemory, ListedEntry, Listing
from rotifer_host.memory.changes import Durability
from rotifer_host.memory.entry import AccessPolicy, Caller, Category, DataPolicy, RetentionPolicy
from rotifer_host.memory.events import Events
from rotifer_host.memory.request import (
    DeleteRequest,
    QueryRequest,
    ReadRequest,
    WriteRequest,
    decode_delete,
    decode_query,
    decode_read,
    decode_write,
    delete_request,
    query_request,
    read_request,
    write_request,
)
from rotifer_host.memory.result import MemoryEntry, parse_entries, parse_entry, stored_entry
from rotifer_host.memory.trail import refused_outside_agent

__all__ = [
    "AccessPolicy",
    "AgentMemory",
    "Caller",
    "Category",
    "DataPolicy",
    "DeleteRequest",
    "Durability",
    "Events",
    "ListedEntry",
    "Listing",
    "MemoryEntry",
    "QueryRequest",
    "ReadRequest",
    "RetentionPolicy",
    "WriteRequest",
    "decode_delete",
    "decode_query",
    "decode_read",
    "decode_write",
    "delete_request",
    "parse_entries",
    "parse_entry",
    "query_request",
    "read_request",
    "refused_outside_agent",
    "stored_entry",
    "write_request",
]
