"""Disks that are full, files that may not grow, folders that cannot be written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.torture.filler import QUOTA, VALUE_BYTES, Filler
from tests.torture.invariants import State, audit_lines, read_state, unsaved, unsound
from tests.torture.place import POLICIES, Place

from rotifer_host.errors import StorageError, StoreError
from rotifer_host.memory import AgentMemory

_ROOT: Final = Path(__file__).parents[2]
_DISK_BYTES: Final = 1 << 20

Mount = Callable[..., None]


@pytest.fixture
def mount() -> Iterator[Mount]:
    """Give `mount(folder, …)`, undone afterwards; skips the test where nobody may mount."""
    mounted: list[Path] = []

    def run(folder: Path, *arguments: str) -> None:
        done = subprocess.run(["mount", *arguments, str(folder)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"cannot mount: {done.stderr.strip()}")
        if folder not in mounted:
            mounted.append(folder)

    yield run
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture(params=POLICIES)
def policy(request: pytest.FixtureRequest) -> str:
    """Name a data policy: one with which C answers, and one with which the memory rules do."""
    return str(request.param)


@pytest.fixture
def roomy(tmp_path: Path, policy: str) -> Place:
    """Give a place whose quota is larger than any disk here."""
    folder = tmp_path / "disk"
    folder.mkdir()
    return Place(folder, QUOTA, policy=POLICIES[policy])


@pytest.fixture
def filler(roomy: Place) -> Filler:
    """Give what fills it."""
    return Filler(roomy)


def most_of(entries: int) -> int:
    """Return how many must fit again: LMDB wants whole runs of pages, and keeps those of the last change."""
    return entries * 3 // 4


def finished(memory: AgentMemory) -> bool:
    """End a run; return whether it was saved."""
    try:
        memory.finish()
    except StorageError:
        return False
    return True


def announced_in_vain(place: Place) -> int:
    """Return how many audit lines have no change and could not be taken back."""
    lines = unsaved(audit_lines(place), State(), read_state(place))
    assert lines is not None, "a change has no line"
    return len(lines)


def test_a_full_disk_refuses_writes_and_loses_nothing(roomy: Place, filler: Filler, mount: Mount) -> None:
    """Memory and log on it: reads go on, nothing is half done, and room that comes back is used."""
    mount(roomy.folder, "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs")
    (roomy.folder / "ballast").write_bytes(bytes(_DISK_BYTES // 4))
    with roomy.open() as (_, memory):
        keys = filler.fill(memory)
        assert filler.unread(memory, keys) == []
        assert not filler.fits(memory, "k0", VALUE_BYTES + 1)
        assert filler.unread(memory, keys) == []
    assert {*read_state(roomy)} == {*keys}
    (roomy.folder / "ballast").unlink()
    assert announced_in_vain(roomy) <= 2
    assert unsound(roomy) == []
    with roomy.open() as (_, memory):
        filler.delete_all(memory, keys)
        assert len(filler.fill(memory)) >= most_of(len(keys))
    assert unsound(roomy) == []


def test_a_run_that_meets_a_full_disk_is_kept_whole_or_not_at_all(roomy: Place, filler: Filler, mount: Mount) -> None:
    """With durability `run`, either every change it was answered is there, or none."""
    mount(roomy.folder, "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs")
    for number in range(8):
        before = read_state(roomy)
        with roomy.open("run") as (_, memory):
            keys = [f"run{number}/{key}" for key in range(10)]
            if not all(filler.fits(memory, key) for key in keys) or not finished(memory):
                memory.rollback()
                assert read_state(roomy) == before
                break
        assert {*read_state(roomy)} == {*before, *keys}
    else:
        pytest.fail("the disk does not fill")
    assert unsound(roomy) == []


def test_on_a_full_disk_deleting_makes_room(roomy: Place, filler: Filler, mount: Mount) -> None:
    """The memory's disk is full and the log's is not: deletes work without a byte of new room."""
    roomy.memory_path.parent.mkdir()
    mount(roomy.memory_path.parent, "-t", "tmpfs", "-o", f"size={_DISK_BYTES},mode=700", "tmpfs")
    with roomy.open() as (_, memory):
        keys = filler.fill(memory)
        first = len(keys)
        for _ in range(3):
            assert filler.unread(memory, keys) == []
            filler.delete_all(memory, keys)
            keys = filler.fill(memory)
            assert len(keys) >= most_of(first)
    assert announced_in_vain(roomy) == 0
    assert unsound(roomy) == []


def test_a_file_that_may_not_grow_refuses_writes(roomy: Place, policy: str) -> None:
    """`RLIMIT_FSIZE` on all files of a process: reads and deletes go on, and what they free is used again."""
    command = [sys.executable, "-m", "tests.torture.filler", str(roomy.folder), policy, str(400_000)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["lost"] == []
    assert found["first"] > 5
    assert found["again"] >= most_of(found["first"])
    assert len(read_state(roomy)) == found["again"]
    assert announced_in_vain(roomy) == 0
    assert unsound(roomy) == []


def test_a_full_map_refuses_writes(roomy: Place, filler: Filler, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same when it is LMDB's map that has no more room."""
    monkeypatch.setattr("rotifer_host.store.environment.map_size", lambda _quota: 400_000)
    with roomy.open() as (_, memory):
        keys = filler.fill(memory)
        assert len(keys) > 5
        assert filler.unread(memory, keys) == []
        filler.delete_all(memory, keys)
        assert len(filler.fill(memory)) >= most_of(len(keys))
    assert announced_in_vain(roomy) == 0
    assert unsound(roomy) == []


def test_a_log_that_takes_nothing_refuses_writes(roomy: Place, filler: Filler) -> None:
    """Its place is taken by a device that is always full: nothing changes and reads go on; then writes do, too."""
    with roomy.open() as (_, memory):
        assert filler.fits(memory, "k")
    before, aside = read_state(roomy), roomy.folder / "aside"
    roomy.audit_path.rename(aside)
    roomy.audit_path.symlink_to("/dev/full")
    with roomy.open() as (_, memory):
        assert [filler.fits(memory, key) for key in ("k", "l", "k")] == [False] * 3
        assert filler.unread(memory, ["k"]) == []
    with roomy.open("run") as (_, memory):
        assert filler.fits(memory, "l")
        assert not finished(memory)
        memory.rollback()
    assert read_state(roomy) == before
    roomy.audit_path.unlink()
    aside.rename(roomy.audit_path)
    with roomy.open() as (_, memory):
        assert all(filler.fits(memory, key) for key in ("k", "l"))
    assert announced_in_vain(roomy) == 0
    assert unsound(roomy) == []


def test_a_read_only_folder_is_refused_and_left_alone(roomy: Place, filler: Filler, mount: Mount) -> None:
    """Opening says so; once it can be written again everything is there."""
    with roomy.open() as (_, memory):
        assert filler.fits(memory, "k")
    mount(roomy.folder, "--bind", str(roomy.folder))
    mount(roomy.folder, "-o", "remount,ro,bind")
    with pytest.raises(StoreError, match="Read-only file system"), roomy.open():
        pass
    mount(roomy.folder, "-o", "remount,rw,bind")
    assert {*read_state(roomy)} == {"k"}
    assert unsound(roomy) == []
