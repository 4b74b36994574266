"""The lock between threads and processes."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from rotifer_host.errors import BudgetExhaustedError, LockTimeoutError
from rotifer_host.lock import FileLock, Wait

HOLDER = """
    import sys
    from pathlib import Path
    from rotifer_host.lock import FileLock, Wait

    with FileLock(Path(sys.argv[1])).held(Wait()):
        print("held", flush=True)
        sys.stdin.read()
"""


def run_script(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a Python script to its end."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


class Cancelled:
    """Patience that was ended from outside."""

    def remaining_s(self) -> float:
        """Raise, as a cancelled deadline does."""
        raise BudgetExhaustedError("cancelled")


def is_free(path: Path) -> bool:
    """Tell whether another lock object can take the lock at once."""
    other = FileLock(path)
    try:
        other.acquire(Wait(0))
    except LockTimeoutError:
        return False
    other.release()
    return True


def test_a_held_lock_times_out_for_another_object(tmp_path: Path) -> None:
    """A lock that stays held ends the wait with an error that names the file."""
    path = tmp_path / "a.lock"
    with FileLock(path).held(Wait()), pytest.raises(LockTimeoutError, match=r"a\.lock"):
        FileLock(path).acquire(Wait(0.01))
    assert is_free(path)


def test_a_held_lock_times_out_for_another_thread(tmp_path: Path) -> None:
    """Threads that share one object exclude each other, too, and a wait that failed leaves nothing behind."""
    lock = FileLock(tmp_path / "a.lock")
    seen: list[BaseException] = []

    def wait() -> None:
        try:
            lock.acquire(Wait(0.01))
        except LockTimeoutError as error:
            seen.append(error)

    with lock.held(Wait()):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert len(seen) == 1
    with lock.held(Wait(0)):
        pass


def test_no_patience_still_tries_once(tmp_path: Path) -> None:
    """A free lock is taken however little time is left."""
    lock = FileLock(tmp_path / "a.lock")
    lock.acquire(Wait(-1))
    lock.release()


def test_a_cancelled_wait_raises_what_cancelled_it(tmp_path: Path) -> None:
    """What the patience raises ends the wait, and the waiter holds nothing."""
    path = tmp_path / "a.lock"
    waiter = FileLock(path)
    with FileLock(path).held(Wait()), pytest.raises(BudgetExhaustedError):
        waiter.acquire(Cancelled())
    with waiter.held(Wait(0)):
        assert not is_free(path)


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    """The kernel gives a lock back when its holder is killed."""
    path = tmp_path / "a.lock"
    command = [sys.executable, "-c", textwrap.dedent(HOLDER), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert not is_free(path)
        holder.kill()
        holder.wait()
    assert is_free(path)


def test_a_forked_child_neither_has_nor_gives_back_its_parents_lock(tmp_path: Path) -> None:
    """A child that leaves the `with` block it was forked in, or exits, changes nothing for its parent."""
    script = """
        import os, sys
        from pathlib import Path
        from rotifer_host.errors import LockTimeoutError
        from rotifer_host.lock import FileLock, Wait

        path = Path(sys.argv[1])
        lock = FileLock(path)

        def taken():
            try:
                FileLock(path).acquire(Wait(0))
            except LockTimeoutError:
                return True
            return False

        with lock.held(Wait()):
            child = os.fork()
            if child:
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "child"
                assert taken(), "the child gave the lock back"
        if not child:
            try:
                lock.acquire(Wait(0))
            except LockTimeoutError:
                os._exit(0)
            os._exit(1)
        lock.acquire(Wait(0))
        print("ok")
    """
    done = run_script(script, tmp_path / "a.lock")
    assert (done.stdout, done.returncode) == ("ok\n", 0), done.stderr


@pytest.mark.parametrize("replaced", [False, True])
def test_a_deleted_lock_file_is_noticed(tmp_path: Path, *, replaced: bool) -> None:
    """After its file was deleted, or replaced, a lock still excludes those who come new."""
    path = tmp_path / "a.lock"
    old = FileLock(path)
    with old.held(Wait()):
        pass
    path.unlink()
    if replaced:
        path.touch()
    with old.held(Wait()):
        assert not is_free(path)


def test_a_waiter_follows_a_file_that_is_replaced_meanwhile(tmp_path: Path) -> None:
    """Who waited on a file that is then deleted holds the new one, not the deleted one."""
    path = tmp_path / "a.lock"
    holder, waiter = FileLock(path), FileLock(path)
    holder.acquire(Wait())
    thread = threading.Thread(target=waiter.acquire, args=(Wait(),))
    thread.start()
    path.unlink()
    holder.release()
    thread.join()
    assert not is_free(path)
    waiter.release()
    assert is_free(path)


def test_threads_and_objects_never_hold_it_together(tmp_path: Path) -> None:
    """Eight threads over two objects add to a counter that only the lock protects."""
    locks = [FileLock(tmp_path / "a.lock") for _ in range(2)]
    count = 0

    def work(lock: FileLock) -> None:
        nonlocal count
        for _ in range(50):
            with lock.held(Wait()):
                before = count
                threading.Event().wait(0)  # lets another thread in, if one may
                count = before + 1

    threads = [threading.Thread(target=work, args=(locks[number % 2],)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count == 400


def test_the_file_is_private_and_a_missing_folder_an_oserror(tmp_path: Path) -> None:
    """The lock file is 0600, and what keeps it from being made is reported as it is."""
    path = tmp_path / "a.lock"
    with FileLock(path).held(Wait()):
        assert path.stat().st_mode & 0o777 == 0o600
    lost = FileLock(tmp_path / "none" / "a.lock")
    for _ in range(2):  # the failure leaves it usable
        with pytest.raises(FileNotFoundError):
            lost.acquire(Wait())
    lost.path.parent.mkdir()
    with lost.held(Wait(0)):
        pass
