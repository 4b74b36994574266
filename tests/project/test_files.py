"""Atomic writes, private folders, and JSON files with errors that say where."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rotifer_host import files
from rotifer_host.errors import ProjectError
from rotifer_host.files import make_private_folder, read_json, write_atomic


def test_a_write_replaces_the_file_whole(tmp_path: Path) -> None:
    """The new contents are there with the mode asked for, and nothing else is in the folder."""
    path = tmp_path / "a"
    path.write_bytes(b"old and longer")
    write_atomic(path, b"new", mode=0o600)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_continues_after_a_short_one(tmp_path: Path) -> None:
    """A megabyte and nothing at all arrive as they are."""
    for data in (b"", bytes(1 << 20)):
        write_atomic(tmp_path / "a", data)
        assert (tmp_path / "a").read_bytes() == data


@pytest.mark.parametrize("step", ["fsync", "open"])
def test_a_failed_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """When the disk refuses, the old contents stand and the temporary file is gone."""
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(OSError, match="No space"):
            write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_the_files_place_is_an_oserror(tmp_path: Path) -> None:
    """A folder is not replaced, and no temporary file is left."""
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomic(tmp_path / "a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_private_folder_is_made_or_closed(tmp_path: Path) -> None:
    """A missing folder is made for its owner only; one that others may enter is closed to them."""
    for path in (tmp_path / "new", tmp_path / "open"):
        if path.name == "open":
            path.mkdir(mode=0o755)
        make_private_folder(path)
        make_private_folder(path)
        assert path.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "file")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a": 1,\n "b" 2}', "is not JSON: Expecting ':' delimiter at line 2, column 6"),
        (b"", "is not JSON: Expecting value at line 1, column 1"),
        (b"{}{}", "is not JSON: Extra data at line 1, column 3"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b"-Infinity", "-Infinity is not a JSON number"),
        (b'"\xff"', "is not UTF-8: byte 1"),
        (b"\xef\xbb\xbf{}", "is not JSON: Unexpected UTF-8 BOM"),
        (b"[" * 100_000, "is nested too deeply"),
        (b"1" * 5000, "is not JSON this host reads: "),
    ],
)
def test_bad_json_is_reported_with_file_and_place(tmp_path: Path, content: bytes, expected: str) -> None:
    """Whatever is wrong with a JSON file, the error is the caller's kind and says where it is."""
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ProjectError) as caught:
        read_json(path, ProjectError)
    assert str(path) in caught.value.message
    assert expected in caught.value.message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing file and a folder are reported with their path and the system's reason."""
    for path, reason in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ProjectError, match=f"cannot read {path}: {reason}"):
            read_json(path, ProjectError)


def test_a_pipe_without_a_writer_is_empty(tmp_path: Path) -> None:
    """Reading does not wait for somebody to write; what a writer sends is read whole."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with pytest.raises(ProjectError, match=r"pipe\.json is not JSON"):
        read_json(pipe, ProjectError)
    read, write = os.pipe()
    with os.fdopen(read, "rb"), os.fdopen(write, "wb") as file:
        file.write(b"[1]")
        file.close()
        assert read_json(Path(f"/dev/fd/{read}"), ProjectError) == [1]


@pytest.fixture(params=["Python", "C"])
def size_if_at(request: pytest.FixtureRequest) -> Callable[[str, tuple[int, int]], int]:
    """Give one of the two."""
    if request.param == "Python":
        return files._size_if_at
    extension = pytest.importorskip("rotifer_host._files", reason="the extension is not built")
    looked: Callable[[str, tuple[int, int]], int] = extension.size_if_at
    return looked


def test_a_file_is_known_at_its_path(size_if_at: Callable[[str, tuple[int, int]], int], tmp_path: Path) -> None:
    """It is told by device and inode, through links; another one, or none, is not it."""
    path, link = tmp_path / "ä", tmp_path / "link"
    path.write_bytes(b"123")
    link.symlink_to(path)
    status = path.stat()
    file = (status.st_dev, status.st_ino)
    for name in (path, link):
        assert size_if_at(str(name), file) == 3
        assert size_if_at(str(name), (status.st_dev, status.st_ino + 1)) == -1
        assert size_if_at(str(name), (status.st_dev + 1, status.st_ino)) == -1
        assert size_if_at(str(name), (-1, -1)) == -1
    path.rename(tmp_path / "elsewhere")
    assert size_if_at(str(path), file) == size_if_at(str(link), file) == -1
    path.write_bytes(b"1234")
    assert size_if_at(str(path), file) == -1


def test_no_telling_is_an_oserror(size_if_at: Callable[[str, tuple[int, int]], int], tmp_path: Path) -> None:
    """What keeps from looking is said with the path; a name that is none is a `ValueError`."""
    (tmp_path / "file").touch()
    inside = str(tmp_path / "file" / "inside")
    with pytest.raises(NotADirectoryError) as caught:
        size_if_at(inside, (0, 0))
    assert caught.value.filename == inside
    with pytest.raises(ValueError, match="null"):
        size_if_at("a\0b", (0, 0))
