"""Whatever LMDB writes is sound to the walk through its pages: a good file is never refused."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

import lmdb
import pytest

from rotifer_host.store import open_store
from rotifer_host.store.pages import check_pages, read_metas

QUOTA = 1 << 20
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "60"))


def change(env: lmdb.Environment, randomness: random.Random) -> None:
    """Put, overwrite and delete rows of all sizes in one transaction."""
    with env.begin(write=True) as txn:
        for _ in range(randomness.choice([1, 5, 200])):
            key = b"%d" % randomness.randrange(3000) + b"k" * randomness.choice([0, 0, 0, 100, 480])
            if randomness.random() < 0.4:
                txn.delete(key)
            else:
                txn.put(key, b"v" * randomness.choice([0, 1, 40, 600, 2000, 2040, 9000, 200_000]))
        if randomness.random() < 0.05:
            cursor = txn.cursor()
            while cursor.first() and cursor.delete():
                continue


def test_after_every_transaction(tmp_path: Path) -> None:
    """Each committed tree is walked, while a reader holds an old one now and then and pages come and go."""
    seed = int(os.environ.get("FUZZ_SEED") or random.randrange(1 << 32))  # noqa: S311 - to be repeated
    randomness = random.Random(seed)  # noqa: S311
    path = tmp_path / "rows"
    with lmdb.open(str(path), subdir=False, map_size=1 << 30, sync=False) as env:
        held = None
        for number in range(ROUNDS):
            change(env, randomness)
            if number % 5 == 0:
                held = env.begin()
            with env.begin() as txn:
                assert check_pages(path, txn.id()), f"FUZZ_SEED={seed}"
            if number % 7 == 0 and held is not None:
                held.abort()
                held = None
        if held is not None:
            held.abort()
        entries = env.stat()["entries"]
    assert max(read_metas(path)).rows.entries == entries


def test_while_another_process_writes(tmp_path: Path) -> None:
    """A file that is being written is looked through in one of its states, however fast they follow each other."""
    path = tmp_path / "memory"
    open_store(path, agent_id="agent", quota=QUOTA).close()
    code = """
import sys
from pathlib import Path
from rotifer_host.lock import Wait
from rotifer_host.memory.entry import AccessPolicy, entry_id, make_record
from rotifer_host.store import open_store
store = open_store(Path(sys.argv[1]), agent_id="agent", quota=1 << 20)
number = 0
while True:
    number += 1
    identity = entry_id("agent", str(number % 50))
    change = store.begin(Wait(30))
    change.put(identity, make_record(identity=identity, sequence=number, key=str(number % 50), category="CACHE",
        value=b"x" * (number % 7 * 1500), created_by="v2:" + "a" * 64, domain="d", reader="v2:" + "a" * 64,
        created_ms=1, updated_ms=number, access=AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE"), retention=None))
    change.commit()
    if number == 1:
        print("writing", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"writing\n"
            for _ in range(ROUNDS):
                with open_store(path, agent_id="agent", quota=QUOTA) as store, store.snapshot() as snapshot:
                    assert snapshot.totals().entries <= 50
        finally:
            child.kill()
    with open_store(path, agent_id="agent", quota=QUOTA) as store, store.snapshot() as snapshot:
        assert 0 < snapshot.totals().entries <= 50


def test_while_another_process_makes_the_file_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Meta pages that are read after a commit may name pages that lie behind the end the file had before it."""
    path = tmp_path / "rows"
    real, reads, longer = os.pread, itertools.count(), []
    with lmdb.open(str(path), subdir=False, map_size=1 << 30, sync=False) as env:
        with env.begin(write=True) as txn:
            txn.put(b"first", b"")
        with env.begin():  # holds all pages there are: what a commit needs is put at the end

            def pread(descriptor: int, size: int, offset: int) -> bytes:
                if next(reads) % 2 == 0:
                    before = os.fstat(descriptor).st_size
                    with env.begin(write=True) as txn:
                        txn.put(b"%d" % before, bytes(1000))
                    longer.append(os.fstat(descriptor).st_size > before)
                return real(descriptor, size, offset)

            monkeypatch.setattr("rotifer_host.store.pages.os.pread", pread)
            assert max(read_metas(path)).rows.entries == 2
            monkeypatch.undo()
    assert longer == [True]
