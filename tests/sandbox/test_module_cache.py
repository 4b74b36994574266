"""Compiled modules on disk: whatever is wrong with a file or folder is a miss."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rotifer_host.limits import Limits
from rotifer_host.sandbox import Deadline, HostFunctions, HostTime, Sandbox, assemble
from rotifer_host.sandbox.cache import ModuleCache
from rotifer_host.sandbox.engine import Engine
from rotifer_host.sandbox.library import LIBRARY

WASM = assemble(
    '(module (memory (export "memory") 1) (data (i32.const 0) "41")'
    '(func (export "express") (param i32 i32) (result i32) (i32.const 0)) (func (export "alloc") (param i32)'
    " (result i32) (i32.const 64)))"
)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the list of modules that were compiled, not loaded, from now on."""
    compiled: list[bytes] = []
    compile_ = Engine.compile

    def counted(self: Engine, wasm: bytes) -> object:
        compiled.append(wasm)
        return compile_(self, wasm)

    monkeypatch.setattr(Engine, "compile", counted)
    return compiled


def output(folder: Path | None, wasm: bytes = WASM) -> object:
    """Run the module as a new process would: nothing of it in memory."""
    LIBRARY.forget()
    box = Sandbox(HostFunctions(), call_path="raw", cache_dir=folder)
    result = box.run(
        box.load(wasm, name="guest"),
        b"1",
        limits=Limits(),
        deadline=Deadline(60_000),
        host_time=HostTime(1000),
        services=None,
        context={},
        logical_ms=0,
    )
    return result.output


def test_second_load_compiles_nothing(tmp_path: Path, compilations: list[bytes]) -> None:
    """A module is compiled once, and comes from disk afterwards."""
    assert [output(tmp_path / "a" / "b"), output(tmp_path / "a" / "b")] == [41, 41]
    assert compilations == [WASM]


def test_modules_stay_in_memory(compilations: list[bytes]) -> None:
    """Without a folder a module is compiled once per process."""
    LIBRARY.forget()
    for _ in range(3):
        Sandbox(HostFunctions(), call_path="raw").load(WASM, name="guest")
    assert compilations == [WASM]


def test_files_are_the_owners_alone(tmp_path: Path) -> None:
    """Folder and files are made for their owner alone, whatever the umask."""
    before = os.umask(0)
    try:
        output(tmp_path / "cache")
    finally:
        os.umask(before)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    (file,) = (tmp_path / "cache").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def flip(content: bytes, at: int) -> bytes:
    """Change one bit."""
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _content: b"",
    "header only": lambda content: content[:26],
    "torn": lambda content: content[: len(content) // 2],
    "last byte missing": lambda content: content[:-1],
    "one byte more": lambda content: content + b"\0",
    "header altered": lambda content: flip(content, 0),
    "digest altered": lambda content: flip(content, 30),
    "code altered": lambda content: flip(content, len(content) // 2),
    "last byte altered": lambda content: flip(content, len(content) - 1),
    "zeros": lambda content: bytes(len(content)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_file(tmp_path: Path, compilations: list[bytes], damage: str) -> None:
    """A damaged file is compiled anew, and good again afterwards."""
    output(tmp_path / "cache")
    (file,) = (tmp_path / "cache").iterdir()
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    assert [output(tmp_path / "cache"), output(tmp_path / "cache")] == [41, 41]
    assert len(compilations) == 2


def test_code_of_another_engine(tmp_path: Path, compilations: list[bytes]) -> None:
    """Code that is whole but that this engine did not make is compiled anew."""
    output(tmp_path / "cache")
    (file,) = (tmp_path / "cache").iterdir()
    ModuleCache(tmp_path / "cache").put(file.name.removesuffix(".cwasm"), b"\x7fELF of another engine")
    assert output(tmp_path / "cache") == 41
    assert len(compilations) == 2


def open_to_all(folder: Path, _file: Path) -> None:
    """Let everybody write into the folder."""
    folder.chmod(0o777)


def file_open_to_group(_folder: Path, file: Path) -> None:
    """Let the group write the file."""
    file.chmod(0o620)


def link(_folder: Path, file: Path) -> None:
    """Put a symbolic link in the file's place."""
    target = file.with_suffix(".elsewhere")
    file.rename(target)
    file.symlink_to(target)


def pipe(_folder: Path, file: Path) -> None:
    """Put a pipe in the file's place, which must not be waited for."""
    file.unlink()
    os.mkfifo(file, 0o600)


def folder_in_its_place(_folder: Path, file: Path) -> None:
    """Put a folder in the file's place."""
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("change", [open_to_all, file_open_to_group, link, pipe, folder_in_its_place])
def test_untrusted_file(tmp_path: Path, compilations: list[bytes], change: Callable[[Path, Path], None]) -> None:
    """A file somebody else could have put there is not loaded."""
    folder = tmp_path / "cache"
    output(folder)
    (file,) = folder.iterdir()
    change(folder, file)
    assert output(folder) == 41
    assert len(compilations) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("part", ["folder", "file"])
def test_file_of_somebody_else(tmp_path: Path, compilations: list[bytes], part: str) -> None:
    """A folder or file that belongs to another user is not used."""
    folder = tmp_path / "cache"
    output(folder)
    (file,) = folder.iterdir()
    os.chown(folder if part == "folder" else file, 12345, 12345)
    assert output(folder) == 41
    assert len(compilations) == 2


def file_in_the_way(path: Path) -> None:
    """Put a file where the folder should be."""
    path.write_text("")


def loop(path: Path) -> None:
    """Make the folder a link to itself."""
    path.symlink_to(path)


@pytest.mark.parametrize("obstacle", [file_in_the_way, loop])
def test_folder_that_cannot_be(tmp_path: Path, obstacle: Callable[[Path], None]) -> None:
    """Without a usable folder modules still run."""
    obstacle(tmp_path / "cache")
    assert output(tmp_path / "cache") == 41


def test_size_is_bounded(tmp_path: Path) -> None:
    """The files written longest ago go first; leftovers of killed processes count too."""
    cache = ModuleCache(tmp_path / "cache", max_bytes=3500)
    for number in range(5):
        cache.put(f"key{number}", bytes(1000))
        os.utime(tmp_path / "cache" / f"key{number}.cwasm", ns=(number, number))
    assert [cache.get(f"key{number}") is not None for number in range(5)] == [False, False, True, True, True]
    leftover = tmp_path / "cache" / "dead.1-1.partial"
    leftover.write_bytes(bytes(3000))
    os.utime(leftover, ns=(0, 0))
    cache.put("key5", bytes(1000))
    assert not leftover.exists()
    assert sorted(entry.name for entry in (tmp_path / "cache").iterdir()) == ["key3.cwasm", "key4.cwasm", "key5.cwasm"]


def test_many_threads(tmp_path: Path) -> None:
    """Threads that load the same modules at once all get what they asked for."""
    together = threading.Barrier(8)
    modules = [WASM.replace(b"41", b"%d" % number) for number in range(50, 54)]
    wrong: list[object] = []

    def work() -> None:
        together.wait()
        for _ in range(5):
            for number, wasm in enumerate(modules, 50):
                if output(tmp_path / "cache", wasm) != number:
                    wrong.append(number)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(list((tmp_path / "cache").iterdir())) == 4
