"""The memory as one writes it in an afternoon, behind wasmtime-py and Extism alike.

`json` both ways, a msgpack record per entry, an LMDB transaction per call, an audit
line and its `fdatasync` before each commit. It keeps fewer rules than the host does:
requests are hardly validated, nothing is evicted, expires or has a budget.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any, Self

import lmdb
import msgpack

from bench import work

__all__ = ["JsonMemory"]

_USED = b"used"


class JsonMemory:
    """One agent's memory in `folder`, filled on opening."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._env = lmdb.open(os.fspath(folder / "memory"), map_size=256 << 20)
        self._audit = os.open(folder / "audit.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        now = _now()
        with self._env.begin(write=True) as txn:
            for key in work.filled_keys():
                record = {"domain": work.DOMAIN, "entry": work.entry(key, now)}
                txn.put(_identity(key), msgpack.packb(record))
            txn.put(_USED, b"%d" % sum(len(key) + len(work.VALUE) for key in work.filled_keys()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._env.close()
        os.close(self._audit)

    def read(self, request: bytes) -> bytes:
        """Answer a `readMemory` request."""
        wanted = json.loads(request)
        with self._env.begin() as txn:
            stored = txn.get(_identity(wanted["key"]))
        if stored is None:
            return b"null"
        record = msgpack.unpackb(stored)
        entry = record["entry"]
        _check(record, entry["accessPolicy"]["readScope"])
        if wanted.get("category") not in (None, entry["category"]):
            return b"null"
        entry["lastAccessedBy"] = work.GENE_ID
        return _render(entry)

    def write(self, request: bytes) -> bytes:
        """Answer a `writeMemory` request."""
        wanted = json.loads(request)
        key = wanted["key"]
        value = base64.b64decode(wanted["value"], validate=True)
        identity = _identity(key)
        now = _now()
        with self._env.begin(write=True) as txn:
            stored = txn.get(identity)
            if stored is None:
                entry, freed = work.entry(key, now), 0
            else:
                record = msgpack.unpackb(stored)
                entry = record["entry"]
                _check(record, entry["accessPolicy"]["writeScope"])
                freed = len(key.encode()) + len(base64.b64decode(entry["value"]))
            entry |= {
                "category": wanted["category"],
                "value": wanted["value"],
                "lastAccessedBy": work.GENE_ID,
                "updatedAt": now,
            }
            used = int(txn.get(_USED) or 0) + len(key.encode()) + len(value) - freed
            txn.put(_USED, b"%d" % used)
            txn.put(identity, msgpack.packb({"domain": work.DOMAIN, "entry": entry}))
            self._log(stored is None, entry, len(value), now)
        return _render(entry)

    def _log(self, created: bool, entry: dict[str, Any], size: int, now: str) -> None:  # noqa: FBT001
        line = {
            "v": 1,
            "ts": now,
            "agentId": work.AGENT_ID,
            "agent": "bench",
            "actor": "gene",
            "geneId": work.GENE_ID,
            "domain": work.DOMAIN,
            "action": "memory.create" if created else "memory.update",
            "key": entry["key"],
            "entryId": entry["entryId"],
            "category": entry["category"],
            "bytes": size,
        }
        os.write(self._audit, json.dumps(line).encode() + b"\n")
        os.fdatasync(self._audit)


def _identity(key: str) -> bytes:
    return hashlib.sha256(f"{work.AGENT_ID}\0{key}".encode()).digest()


def _check(record: dict[str, Any], scope: str) -> None:
    if scope != "ALL_GENES" and record["domain"] != work.DOMAIN:
        raise PermissionError(scope)


def _render(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()


def _now() -> str:
    ms = time.time_ns() // 1_000_000
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ms // 1000))}.{ms % 1000:03d}Z"
