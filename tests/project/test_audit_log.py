"""The audit log: whole lines, torn tails, and everything that can go wrong."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotifer_host.audit import AuditLine, AuditLog, encode_line, line_hash, read_lines
from rotifer_host.errors import AuditError, LockTimeoutError
from rotifer_host.lock import FileLock, Wait


def line(key: str = "k") -> AuditLine:
    """Return a line about `key`."""
    return AuditLine(
        ts="2026-01-02T03:04:05.678Z",
        agentId="9f0f3c1e-0000-4000-8000-000000000001",
        agent="scribe",
        actor="gene",
        geneId="v2:" + "ab" * 32,
        domain="text",
        action="memory.create",
        key=key,
        entryId="cd" * 32,
        category="CACHE",
        bytes=3,
    )


def keys(path: Path) -> list[object]:
    """Return the `key` of each line of a file in which every line must parse."""
    content = path.read_bytes()
    assert content.endswith(b"\n")
    return [json.loads(text)["key"] for text in content.splitlines()]


def append(log: AuditLog, *names: str, durable: bool = False) -> None:
    """Append a line for each key."""
    log.append([encode_line(line(name)) for name in names], Wait(), durable=durable)


def open_files() -> int:
    """Count this process's open descriptors."""
    return sum(map(_is_open, range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])))


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    """Return a log in an empty folder."""
    return AuditLog(tmp_path / "audit.jsonl")


def test_a_line_has_its_members_in_order_and_escapes_what_guests_choose(log: AuditLog) -> None:
    """A line is compact JSON in the order of the contract, one line whatever its key holds."""
    append(log, 'a"\n\r\0é\u2028')
    text = log.path.read_text(encoding="utf-8")
    members = "v ts agentId agent actor geneId domain action key entryId category bytes above"
    assert " ".join(json.loads(text)) == members
    assert json.loads(text)["key"] == 'a"\n\r\0é\u2028'
    assert text.count("\n") == 1
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_lines_are_appended_in_order(log: AuditLog) -> None:
    """Lines of one call and of several stand in the order they were given."""
    append(log, "a", "b")
    append(log, "c", durable=True)
    log.sync()
    assert [document["key"] for document in read_lines(log.path)] == ["a", "b", "c"]


def test_every_cut_of_a_last_line_is_sealed(tmp_path: Path) -> None:
    """Wherever a crash cut the last line, the next append keeps its text and every line parses."""
    whole = msgspec.json.encode(line("torn-é"))
    for cut in range(1, len(whole) + 1):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(msgspec.json.encode(line("first")) + b"\n" + whole[:cut])
        append(AuditLog(path), "next")
        documents = [json.loads(text) for text in path.read_bytes().splitlines()]
        assert [documents[0]["key"], documents[2]["key"]] == ["first", "next"]
        if cut == len(whole):
            assert documents[1] == json.loads(whole)
        else:
            assert documents[1] == {
                "v": 1,
                "ts": line().ts,
                "action": "audit.seal",
                "torn": whole[:cut].decode(errors="replace"),
                "above": line_hash(path.read_bytes().splitlines()[0]).hexdigest(),
            }
        assert documents[2]["above"] == line_hash(path.read_bytes().splitlines()[1]).hexdigest()


@given(st.binary(min_size=1).filter(lambda tail: b"\n" not in tail))
def test_any_tail_is_sealed(tmp_path_factory: pytest.TempPathFactory, tail: bytes) -> None:
    """Whatever bytes a crash left behind, every line parses afterwards."""
    path = tmp_path_factory.mktemp("tail") / "audit.jsonl"
    path.write_bytes(tail)
    append(AuditLog(path), "next")
    documents = list(read_lines(path))
    assert len(documents) == 2
    assert documents[1]["key"] == "next"


def test_a_long_tail_that_no_host_wrote_is_left_alone(log: AuditLog) -> None:
    """A file without line ends is not taken for a log, and not changed."""
    log.path.write_bytes(b"x" * (1 << 20) + b"y")
    with pytest.raises(AuditError, match="not an audit log"):
        append(log, "a")
    assert log.path.read_bytes() == b"x" * (1 << 20) + b"y"


@pytest.mark.parametrize("remove", ["delete", "rotate", "replace"])
def test_a_log_that_is_moved_away_is_begun_anew(log: AuditLog, remove: str) -> None:
    """After the file was deleted, rotated or replaced, lines go where the path says."""
    append(log, "old")
    if remove == "delete":
        log.path.unlink()
    else:
        log.path.rename(log.path.with_suffix(".old"))
        if remove == "replace":
            log.path.write_bytes(msgspec.json.encode(line("other")) + b"\n")
    append(log, "new", durable=True)
    assert keys(log.path) == (["other", "new"] if remove == "replace" else ["new"])


def test_lines_of_one_transaction_stay_in_one_file(log: AuditLog) -> None:
    """A log moved away under a held transaction gets the rest of its lines; the next one starts a new file."""
    append(log, "first")
    old = log.path.rename(log.path.with_suffix(".old"))
    log.append([encode_line(line("second"))], Wait(), durable=False, held=True)
    log.sync()
    assert keys(old) == ["first", "second"]
    assert not log.path.exists()
    append(log, "third")
    assert keys(log.path) == ["third"]


def test_a_tail_torn_by_another_process_is_sealed_in_a_held_transaction(log: AuditLog) -> None:
    """Held or not, a line never glues itself to what others left."""
    append(log, "first")
    with log.path.open("ab") as file:
        file.write(b'{"key":"to')
    log.append([encode_line(line("second"))], Wait(), durable=False, held=True)
    assert [document.get("key") for document in read_lines(log.path)] == ["first", None, "second"]


def test_a_whole_folder_deleted_is_an_error_until_it_is_back(tmp_path: Path) -> None:
    """Without its folder the log cannot be written; with it, it can again."""
    folder = tmp_path / "state"
    folder.mkdir()
    log = AuditLog(folder / "audit.jsonl")
    append(log, "a")
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    with pytest.raises(AuditError, match="No such file"):
        append(log, "b")
    folder.mkdir()
    append(log, "c")
    assert keys(log.path) == ["c"]


def _folder(path: Path) -> None:
    path.mkdir()


def _device(path: Path) -> None:
    path.symlink_to("/dev/full")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _dangling(path: Path) -> None:
    path.symlink_to(path.parent / "none" / "audit.jsonl")


def _locked_away(path: Path) -> None:
    path.with_suffix(".lock").mkdir()


@pytest.mark.parametrize("put", [_folder, _device, _pipe, _dangling, _locked_away])
def test_what_is_no_file_is_an_audit_error(log: AuditLog, put: Callable[[Path], None]) -> None:
    """A folder, a device, a pipe or a dangling link in the file's place is an error with a clear text, not a hang."""
    put(log.path)
    with pytest.raises(AuditError, match=r"cannot write the audit log .*audit\.jsonl: .+") as caught:
        append(log, "a")
    assert caught.value.help


def test_a_text_that_is_not_unicode_is_an_audit_error(log: AuditLog) -> None:
    """A lone surrogate cannot be written, and nothing is."""
    with pytest.raises(AuditError, match="not Unicode"):
        append(log, "a", "\ud800")
    assert not log.path.exists()


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    """When only part of a line fits, it is taken back, the error says so, and the log goes on once there is room."""
    script = """
        import resource, sys
        from pathlib import Path
        sys.path.append(sys.argv[2])
        from test_audit_log import AuditError, AuditLog, append

        log = AuditLog(Path(sys.argv[1]))
        append(log, "a")
        size, whole = log.path.stat().st_size, int(sys.argv[3])
        for limit in (size, size + 1, size + whole - 1):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            try:
                append(log, "b", durable=True)
            except AuditError as error:
                print(error.message.replace(log.path.name, "FILE"))
            assert log.path.stat().st_size == size
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        append(log, "c")
    """
    path = tmp_path / "audit.jsonl"
    measure = AuditLog(tmp_path / "measure.jsonl")
    append(measure, "a", "b")
    size = len(measure.path.read_bytes().splitlines()[1]) + 1
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(path), str(Path(__file__).parent), str(size)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "cannot write the audit log FILE: File too large",
        f"cannot write the audit log FILE: only 1 of {size} bytes fit",
        f"cannot write the audit log FILE: only {size - 1} of {size} bytes fit",
    ]
    assert keys(path) == ["a", "c"]


def test_a_seal_that_does_not_fit_puts_the_torn_bytes_back(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up while a torn line is sealed leaves the file as it was."""
    log.path.write_bytes(b'{"key":"whole"}\n{"key":"to')
    real, left = os.pwrite, [10]

    def short(fd: int, data: bytes, offset: int) -> int:
        return real(fd, data[: left.pop()] if left else data, offset)

    monkeypatch.setattr(os, "pwrite", short)
    with pytest.raises(AuditError, match="no room"):
        append(log, "a")
    assert log.path.read_bytes() == b'{"key":"whole"}\n{"key":"to'
    append(log, "a")
    assert [json.loads(line).get("key") for line in log.path.read_bytes().splitlines()] == ["whole", None, "a"]


def test_the_nth_failing_call_is_an_audit_error_and_breaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever system call fails, the error is ours, no line is half written, and the next append works."""
    names = ("open", "fstat", "stat", "lseek", "pread", "write", "pwrite", "fdatasync", "fsync")
    real = {name: getattr(os, name) for name in names}

    def attempt(path: Path, fail_at: int) -> int:
        """Append to a log with a torn tail while call number `fail_at` fails; return how many calls were made."""
        path.write_bytes(b'{"key":"torn')
        log = AuditLog(path)
        made = 0

        def wrap(name: str) -> Callable[..., Any]:
            def call(*arguments: Any, **named: Any) -> Any:
                nonlocal made
                made += 1
                if made == fail_at:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return real[name](*arguments, **named)

            return call

        with monkeypatch.context() as patch:
            for name in names:
                patch.setattr(os, name, wrap(name))
            if fail_at:
                with pytest.raises(AuditError, match="Input/output error"):
                    append(log, "a", durable=True)
            else:
                append(log, "a", durable=True)
        append(log, "b", durable=True)
        assert [document.get("key") for document in read_lines(path)] in ([None, "b"], [None, "a", "b"])
        return made

    calls = attempt(tmp_path / "0.jsonl", 0)
    assert calls > len(names)
    for number in range(1, calls + 1):
        attempt(tmp_path / f"{number}.jsonl", number)


def test_a_failed_flush_is_an_audit_error_of_sync(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sync` reports what the disk reports, and asks the disk each time."""
    append(log, "a")
    asked: list[int] = []

    def fail(fd: int) -> None:
        asked.append(fd)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fail)
    for _ in range(2):
        with pytest.raises(AuditError, match="Input/output error"):
            log.sync()
    assert len(asked) == 2


def test_lines_of_a_log_moved_away_are_flushed_before_it_is_left(
    log: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `sync` could no longer reach is on disk before the next line goes to a new file."""
    append(log, "a")
    old = log.path.stat().st_ino
    log.path.rename(log.path.with_suffix(".old"))
    flushed: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: flushed.append(os.fstat(fd).st_ino))
    append(log, "b")
    assert flushed == [old]


def test_a_log_that_stays_locked_is_a_timeout(log: AuditLog) -> None:
    """Waiting for another process's lines ends with the caller's patience."""
    with FileLock(log.path.with_suffix(".lock")).held(Wait()), pytest.raises(LockTimeoutError):
        log.append([encode_line(line())], Wait(0.01), durable=False)
    append(log, "a")


def test_processes_and_threads_append_together_and_lose_nothing(tmp_path: Path) -> None:
    """Three processes of two threads each, one of them rotating, leave every line whole and none out."""
    script = """
        import os, sys, threading
        from pathlib import Path
        sys.path.append(sys.argv[2])
        from test_audit_log import AuditLog, append

        path, process = Path(sys.argv[1]), sys.argv[3]
        log = AuditLog(path)
        append(log, f"{process}-start")
        if os.fork() == 0:  # a child goes on with its parent's object
            append(log, f"{process}-child")
            os._exit(0)
        os.wait()

        def work(thread):
            for number in range(100):
                append(log, f"{process}-{thread}-{number}", durable=number % 50 == 0)
                if process == "0" and thread == 0 and number == 50:
                    path.rename(path.with_suffix(".old"))

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """
    path = tmp_path / "audit.jsonl"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), str(path), str(Path(__file__).parent), str(process)],
        )
        for process in range(3)
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    written = [*keys(path.with_suffix(".old")), *keys(path)]
    expected = {f"{process}-{thread}-{number}" for process in range(3) for thread in range(2) for number in range(100)}
    expected |= {f"{process}-{when}" for process in range(3) for when in ("start", "child")}
    assert len(written) == len(expected)
    assert set(written) == expected


def test_a_sync_beside_rotations_never_fails(log: AuditLog) -> None:
    """A thread that syncs while another's appends change the file uses no closed descriptor."""
    append(log, "a")
    done = threading.Event()
    errors: list[BaseException] = []

    def sync() -> None:
        try:
            while not done.is_set():
                log.sync()
        except AuditError as error:
            errors.append(error)

    thread = threading.Thread(target=sync)
    thread.start()
    for _ in range(50):
        log.path.unlink()
        append(log, "b")
    done.set()
    thread.join()
    assert errors == []


def test_reading_tolerates_a_torn_tail_and_nothing_else(log: AuditLog) -> None:
    """A reader beside a writer sees whole lines; a broken line in the middle is reported with its number."""
    assert list(read_lines(log.path)) == []
    log.path.write_bytes(b'{"v":1,"action":"a"}\n{"v":1,"action":"b"}\n{"v":1,"act')
    assert list(read_lines(log.path)) == [{"v": 1, "action": "a"}, {"v": 1, "action": "b"}]
    log.path.write_bytes(b'{"v":1,"action":"a"}\n{"v":1,"action":"b"}')
    assert list(read_lines(log.path)) == [{"v": 1, "action": "a"}, {"v": 1, "action": "b"}]
    log.path.write_bytes(b'{"v":1,"action":"a"}\n{"v":1,"act\n{"v":1,"action":"c"}\n')
    with pytest.raises(AuditError, match="line 2 of"):
        list(read_lines(log.path))
    log.path.unlink()
    log.path.mkdir()
    with pytest.raises(AuditError, match="cannot read"):
        list(read_lines(log.path))


def test_closing_gives_the_files_back_and_the_log_stays_usable(log: AuditLog) -> None:
    """After `close` no descriptor is left open, and the next line opens the file again."""
    before = open_files()
    append(log, "a")
    log.close()
    assert open_files() == before
    append(log, "b")
    assert keys(log.path) == ["a", "b"]
