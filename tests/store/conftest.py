"""Stores to test, and records to put into them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.memory.entry import AccessPolicy, Record, entry_id, make_record
from rotifer_host.store import ModelStore, Store, open_store

AGENT = "agent-1"
QUOTA = 1 << 20


def _record(
    sequence: int, key: str, category: Any = "CACHE", value: bytes = b"x", **changed: Any
) -> tuple[bytes, Record]:
    identity = entry_id(AGENT, key)
    fields: dict[str, Any] = {
        "created_by": f"v2:{'a' * 64}",
        "domain": "format",
        "reader": f"v2:{'a' * 64}",
        "created_ms": 1000,
        "updated_ms": sequence * 1000,
        "access": AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE"),
        "retention": None,
    }
    return identity, make_record(
        identity=identity, sequence=sequence, key=key, category=category, value=value, **(fields | changed)
    )


@pytest.fixture
def record() -> Callable[..., tuple[bytes, Record]]:
    """Give a way to make an entry id and its record from a sequence number and a key."""
    return _record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the place of a memory file that does not exist yet."""
    return tmp_path / "memory" / "agent-1.mdb"


@pytest.fixture(params=["model", "lmdb"])
def store(request: pytest.FixtureRequest, path: Path) -> Iterator[Store]:
    """Run a test over each store there is."""
    opened: Store = ModelStore() if request.param == "model" else open_store(path, agent_id=AGENT, quota=QUOTA)
    with opened:
        yield opened
