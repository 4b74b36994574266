"""The least a kept and recorded write takes: a put and an audit line, many in one transaction, no guest at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import lmdb

from bench import work
from bench.peers import Missing, Runner
from bench.peers.floor import AUDIT_LINE
from bench.work import Case

__all__ = ["Bare"]


class Bare:
    """py-lmdb and `os.write` on entries and lines that lie ready."""

    name = "LMDB put + audit line"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._env = lmdb.open(os.fspath(folder / "memory"), map_size=256 << 20)
        self._audit = os.open(folder / "audit.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        entries = [work.entry(key) for key in work.filled_keys() if key != work.READ_KEY]
        self._rows = [
            (bytes.fromhex(entry["entryId"]), json.dumps(entry, separators=(",", ":")).encode()) for entry in entries
        ]
        with self._env.begin(write=True) as txn:
            for identity, body in self._rows:
                txn.put(identity, body)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._env.close()
        os.close(self._audit)

    @contextmanager
    def runner(self, case: Case) -> Iterator[Runner]:
        """Offer the one case that has a counterpart here."""
        if case.name != "write100":
            raise Missing("only writes held in one transaction")
        yield self._write

    def _write(self, units: int) -> object:
        size, last = 0, None
        rows = [self._rows[number % len(self._rows)] for number in range(units)]
        if rows:
            with self._env.begin(write=True) as txn:
                for identity, body in rows:
                    txn.put(identity, body)
                    os.write(self._audit, AUDIT_LINE)
                    size += len(body)
                os.fdatasync(self._audit)
            with self._env.begin() as txn:
                last = json.loads(txn.get(rows[-1][0]) or b"null")
        return [f"{size:010d}", last]
