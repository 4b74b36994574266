"""Where the entries of an agent lie: the protocol, the plain-Python model, and LMDB."""

from __future__ import annotations

from rotifer_host.store.lmdb_store import LmdbStore, open_store
from rotifer_host.store.model import ModelStore
from rotifer_host.store.protocol import Store

__all__ = ["LmdbStore", "ModelStore", "Store", "open_store"]
