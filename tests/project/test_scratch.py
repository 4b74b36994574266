"""Temporary folders that are gone afterwards, whatever happens."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rotifer_host.scratch import ScratchFolder

HOLDER = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from rotifer_host.scratch import ScratchFolder
with ScratchFolder("kind-") as folder:
    (folder.path / "file").touch()
    print(folder.path, flush=True)
    sys.stdin.read()
"""


def open_files() -> int:
    """Return how many descriptors this process has."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder for temporary files that nobody else uses."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_private_and_gone_afterwards(temporary: Path) -> None:
    """Nobody else may enter it, and neither it nor an open file is left."""
    before = open_files()
    with ScratchFolder("kind-") as folder:
        assert folder.path.stat().st_mode & 0o777 == 0o700
        (folder.path / "inner").mkdir()
    assert list(temporary.iterdir()) == []
    assert open_files() == before


def test_what_a_killed_process_left_goes_with_the_next(temporary: Path) -> None:
    """That is all that goes: a folder in use stays, and so does what only has such a name."""
    (temporary / "kind-other").mkdir()
    (temporary / "kind-link").symlink_to(temporary / "kind-other")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(temporary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().decode().strip())
        with ScratchFolder("kind-") as mine, ScratchFolder("kind-"):
            assert (mine.path.exists(), held.exists()) == (True, True)
        holder.kill()
    assert held.exists()
    with ScratchFolder("kind-"):
        assert not held.exists()
    assert sorted(path.name for path in temporary.iterdir()) == ["kind-link", "kind-other"]


def test_it_is_gone_when_it_cannot_be_made(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure half-way raises, and leaves nothing."""

    def fail(*_arguments: object) -> None:
        raise OSError(28, os.strerror(28))

    before = open_files()
    monkeypatch.setattr("fcntl.flock", fail)
    with pytest.raises(OSError, match="No space"):
        ScratchFolder("kind-")
    assert (list(temporary.iterdir()), open_files()) == ([], before)
