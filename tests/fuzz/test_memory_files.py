"""Damaged memory files: each is refused with MEMORY_STORAGE_ERROR or can be used, and none ends the process."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import lmdb
import pytest

from rotifer_host.errors import StoreError
from rotifer_host.lock import Wait
from rotifer_host.memory.entry import AccessPolicy, make_record
from rotifer_host.store import open_store
from rotifer_host.store.pages import read_metas
from rotifer_host.store.seal import is_sealed, seal

DAMAGE = Path(__file__).with_name("damage.py")
COUNT = int(os.environ.get("FUZZ_FILES", "150"))
QUOTA = 1 << 20
PAGE = 4096
GENE = "v2:" + "a" * 64


def test_any_damage(tmp_path: Path) -> None:
    """Flipped bits, ends cut off, pages out of place, blocks of zeros: nothing but `works` and `refused`."""
    seed = int(os.environ.get("FUZZ_SEED") or random.randrange(1 << 32))  # noqa: S311 - to be repeated
    done = subprocess.run(
        [sys.executable, DAMAGE, tmp_path / "memory", str(seed), str(COUNT)],
        capture_output=True,
        timeout=250 + COUNT,
        check=False,
    )
    assert done.returncode == 0, f"FUZZ_SEED={seed}: {done.stderr.decode()}"
    seen = json.loads(done.stdout)
    outcomes = {kind: set(came_to) for kind, came_to in seen.items()}
    assert set.union(*outcomes.values()) == {"works", "refused"}, f"FUZZ_SEED={seed}: {seen}\n{done.stderr.decode()}"
    assert outcomes["an_end"] == {"refused"}, f"FUZZ_SEED={seed}: {seen}"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Make a closed memory file of agent `agent` with one entry."""
    path = tmp_path / "agent.mdb"
    with open_store(path, agent_id="agent", quota=QUOTA) as store:
        change = store.begin(Wait(10))
        record = make_record(
            identity=b"i" * 32,
            sequence=1,
            key="k",
            category="CACHE",
            value=b"x",
            created_by=GENE,
            domain="d",
            reader=GENE,
            created_ms=1,
            updated_ms=1,
            access=AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE"),
            retention=None,
        )
        change.put(b"i" * 32, record)
        change.commit()
    return path


def _garbage(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(20_000))  # noqa: S311


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _other_agents(path: Path) -> None:
    path.unlink()
    other = path.with_name("other.mdb")
    open_store(other, agent_id="other", quota=QUOTA).close()
    shutil.copy(other, path)


def _foreign_table(path: Path) -> None:
    path.unlink()
    with lmdb.open(str(path), subdir=False, max_dbs=2) as env, env.begin(write=True) as txn:
        txn.put(b"a", b"b", db=env.open_db(b"named", txn=txn, dupsort=True))


def _future_format(path: Path) -> None:
    with lmdb.open(str(path), subdir=False, map_size=1 << 24) as env, env.begin(write=True) as txn:
        txn.put(b"mformat", b"999")


def _one_page(path: Path) -> None:
    os.truncate(path, 4096)


def _one_byte_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


WHOLE_FILES = {
    "another agent's file": (_other_agents, "another agent"),
    "an unknown format": (_future_format, "has format 999"),
    "a table of another program": (_foreign_table, "of another kind"),
    "a file that lost all its bytes": (_empty, "is empty, and was not"),
    "random bytes": (_garbage, "not a file of LMDB"),
    "as many zeros": (_zeros, "not a file of LMDB"),
    "a folder": (_folder, "cannot open"),
    "a pipe": (_pipe, "it is no file"),
    "the first meta page alone": (_one_page, "ends within its meta pages"),
    "one byte less": (_one_byte_short, "damaged"),
}


@pytest.mark.parametrize("name", WHOLE_FILES)
def test_what_is_no_memory_of_this_agent(memory: Path, name: str) -> None:
    """It is refused by name of what is wrong, in words that name the file."""
    spoil, words = WHOLE_FILES[name]
    spoil(memory)
    with pytest.raises(StoreError, match=words) as refusal:
        open_store(memory, agent_id="agent", quota=QUOTA)
    assert memory.name in refusal.value.message
    assert refusal.value.code == "MEMORY_STORAGE_ERROR"


LOCK_FILES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\xff" * 8192),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
    "missing": lambda path: path.unlink(),
}


@pytest.mark.parametrize("suffix", ["-lock", ".lock"])
@pytest.mark.parametrize("name", LOCK_FILES)
def test_spoilt_lock_files_cost_nothing(memory: Path, suffix: str, name: str) -> None:
    """LMDB's lock file and ours hold nothing that the next process needs."""
    LOCK_FILES[name](memory.with_name(memory.name + suffix))
    with open_store(memory, agent_id="agent", quota=QUOTA) as store, store.snapshot() as snapshot:
        assert snapshot.totals().entries == 1


def test_a_file_is_looked_through_until_it_was_closed_in_order(memory: Path) -> None:
    """Closing seals a file; a copy of it, or an edit in place, is not sealed, and is when it was closed again."""
    note = memory.with_name(f"{memory.name}.lock")
    assert is_sealed(memory, note)
    copy = memory.with_name("copy.mdb")
    shutil.copy(memory, copy)
    shutil.copy(note, copy.with_name("copy.mdb.lock"))
    assert not is_sealed(copy, copy.with_name("copy.mdb.lock"))
    open_store(copy, agent_id="agent", quota=QUOTA).close()
    assert is_sealed(copy, copy.with_name("copy.mdb.lock"))
    data = memory.read_bytes()
    os.utime(memory, ns=(1, 1))
    memory.write_bytes(data)
    assert not is_sealed(memory, note)


def flip(path: Path, at: int) -> None:
    """Flip a bit of a closed file as a failing disk does: nothing that the system says of the file changes."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    seal(path, path.with_name(f"{path.name}.lock"))


FLIPPED: dict[str, int] = {"its number": 0, "its kind": 10, "the end of its offsets": 12, "the place of a node": 17}
"""Bytes of a page."""


@pytest.mark.parametrize("what", FLIPPED)
@pytest.mark.parametrize("opened", [False, True], ids=["closed", "open"])
def test_a_bit_flipped_in_a_sealed_file_is_found_by_who_does_not_trust_it(
    memory: Path,
    what: str,
    opened: bool,  # noqa: FBT001
) -> None:
    """Whether or not this process has the file open; it is no longer sealed then."""
    note = memory.with_name(f"{memory.name}.lock")
    root = max(read_metas(memory)).rows.root
    with ExitStack() as stack:
        if opened:
            stack.enter_context(open_store(memory, agent_id="agent", quota=QUOTA))
        flip(memory, root * PAGE + FLIPPED[what])
        with pytest.raises(StoreError, match=r"agent\.mdb: it is damaged"):
            open_store(memory, agent_id="agent", quota=QUOTA, distrusted=True)
        memory.touch()
    assert not is_sealed(memory, note)


def test_a_sound_file_that_is_not_trusted_opens(memory: Path) -> None:
    """Closed or open, again and again; closed in the end it is sealed."""
    for _ in range(2):
        with open_store(memory, agent_id="agent", quota=QUOTA, distrusted=True) as store:
            open_store(memory, agent_id="agent", quota=QUOTA, distrusted=True).close()
            with store.snapshot() as snapshot:
                assert snapshot.totals().entries == 1
    assert is_sealed(memory, memory.with_name(f"{memory.name}.lock"))


def test_a_memory_that_was_moved_away_begins_anew(memory: Path) -> None:
    """What the help of a refusal says: without the file the agent has an empty memory."""
    memory.rename(memory.with_name("old"))
    with open_store(memory, agent_id="agent", quota=QUOTA) as store, store.snapshot() as snapshot:
        assert snapshot.totals().entries == 0
