"""One Node.js process and its pipes: messages to and fro, what it prints, its limits and its end.

Nothing here waits longer than the deadline it is given, whatever the process does.
"""

from __future__ import annotations

import os
import re
import resource
import select
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from rotifer_host import contract
from rotifer_host.limits import format_size
from rotifer_host.node.messages import MAX_MESSAGE_BYTES
from rotifer_host.sandbox import Deadline, Ending, KeptText, Streams, output_too_large, overdue

__all__ = ["Child", "ChildStopped", "out_of_memory"]

_TICK_MS: Final = 10
"""How long a deadline that is cancelled, or memory, may go unnoticed."""
_CHUNK: Final = 1 << 16
_DRAINED: Final = 16
"""Chunks: a pipe holds one, and what a process prints for ever is not waited for."""
_LENGTH: Final = 4
_EXIT_PATIENCE_S: Final = 2.0
_OWN_MEMORY: Final = 64 * contract.MIB
"""What Node.js may come to need after its start: stacks of threads, machine code."""
_MOST_MEMORY: Final = 1 << 62
"""More than the kernel's limits can say comes to the same."""
_HIGH_WATER: Final = re.compile(rb"VmHWM:\s+(\d+) kB")
_DATA: Final = re.compile(rb"VmData:\s+(\d+) kB")


_OUT_OF_MEMORY: Final = ("heap out of memory", "process OOM", "process out of memory", "Allocation failed")
"""V8's last words."""


class ChildStopped(Exception):  # noqa: N818 - the end of a run, not an error
    """Why there is no next message; the process is of no use any more."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.message)
        self.ending = ending


def out_of_memory(size: int) -> Ending:
    """Return the ending of a gene that wants more memory than it may have."""
    return Ending("limit", "MEMORY_EXCEEDED", f"used up its memory of {format_size(size)}")


class Child:
    """A started process; `command` is given the numbers of its two pipes, and then `arguments`.

    Its environment is empty, and it leads a session of its own: Ctrl-C reaches the host
    alone. Raises `OSError` when it cannot be started.
    """

    def __init__(self, command: Sequence[str], arguments: Sequence[str], folder: Path) -> None:
        self.streams = Streams()
        """Where what it prints goes; each run puts its own here."""
        self.peak_bytes = 0
        """Resident memory of the process, its highest as last seen."""
        self._received = bytearray()
        theirs_out, ours_out = os.pipe()
        try:
            ours_in, theirs_in = os.pipe()
        except BaseException:
            os.close(theirs_out)
            os.close(ours_out)
            raise
        try:
            self._process = subprocess.Popen(  # noqa: S603 - what find_node found
                [*command, str(theirs_in), str(theirs_out), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=folder,
                env={},
                pass_fds=(theirs_in, theirs_out),
                start_new_session=True,
            )
        except BaseException:
            os.close(ours_in)
            os.close(ours_out)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        self._printed = {
            stream.fileno(): (stream, name)
            for stream, name in ((self._process.stdout, "log"), (self._process.stderr, "stderr"))
            if stream is not None
        }
        self._reading, self._writing = select.poll(), select.poll()
        self._reading.register(self._in, select.POLLIN)
        self._writing.register(self._out, select.POLLOUT)
        for fd in (self._in, self._out, *self._printed):
            os.set_blocking(fd, False)
        for fd in self._printed:
            self._reading.register(fd, select.POLLIN)
            self._writing.register(fd, select.POLLIN)
        self._limit(resource.RLIMIT_CORE, 0)
        self._limit(resource.RLIMIT_FSIZE, 0)
        self._memory_bytes = 0

    def limit_memory(self, size: int) -> None:
        """Let the process map `size` bytes more than it has now, and a fixed amount for Node.js itself."""
        self._memory_bytes = size
        found = _DATA.search(self._status())
        if found is not None:
            most = int(found[1]) * contract.KIB + size + _OWN_MEMORY
            self._limit(resource.RLIMIT_DATA, min(most, _MOST_MEMORY))

    def send(self, message: bytes, deadline: Deadline) -> None:
        """Write one message. Raises `ChildStopped`."""
        left = memoryview(len(message).to_bytes(_LENGTH, "big") + message)
        while left:
            try:
                left = left[os.write(self._out, left) :]
            except BlockingIOError:
                self._wait(self._writing, deadline)
            except BrokenPipeError:
                raise ChildStopped(self._gone()) from None

    def receive(self, deadline: Deadline) -> bytes:
        """Return the next message. Raises `ChildStopped`."""
        while (message := self._next()) is None:
            if self._in in self._wait(self._reading, deadline):
                chunk = os.read(self._in, _CHUNK)
                if not chunk:
                    raise ChildStopped(self._gone())
                self._received += chunk
        return message

    def settle(self) -> None:
        """Take what was printed so far, and look at the memory once more."""
        for fd in list(self._printed):
            for _ in range(_DRAINED):
                if not self._take(fd):
                    break
        self._look_at_memory()

    def close(self) -> None:
        """Kill the process and everything in its session, and wait for it."""
        if self._process.poll() is None:  # else its number may be another's by now
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream, _ in self._printed.values():
            stream.close()
        os.close(self._in)
        os.close(self._out)

    def _next(self) -> bytes | None:
        received = self._received
        if len(received) < _LENGTH:
            return None
        end = _LENGTH + int.from_bytes(received[:_LENGTH], "big")
        if end - _LENGTH > MAX_MESSAGE_BYTES:
            raise ChildStopped(output_too_large())
        if len(received) < end:
            return None
        message = bytes(received[_LENGTH:end])
        del received[:end]
        return message

    def _wait(self, poller: select.poll, deadline: Deadline) -> list[int]:
        """Wait a tick at most; returns the pipes that are ready, without those it prints to."""
        late = overdue(deadline)
        if late is not None:
            raise ChildStopped(late)
        ready = [fd for fd, _ in poller.poll(_TICK_MS)]
        if not ready:
            self._look_at_memory()
        for fd in ready:
            if fd in self._printed:
                self._take(fd)
        return ready

    def _take(self, fd: int) -> bool:
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:  # closed: it must not be asked for any more
            self._reading.unregister(fd)
            self._writing.unregister(fd)
            self._printed.pop(fd)[0].close()
            return False
        kept: KeptText = getattr(self.streams, self._printed[fd][1])
        kept.add(chunk)
        return True

    def _gone(self) -> Ending:
        """Say how the process ended that closed its pipe; one that goes on is killed."""
        try:
            status = self._process.wait(_EXIT_PATIENCE_S)
        except subprocess.TimeoutExpired:
            return Ending("failed", "BAD_MESSAGE", "the pipe to the host was closed")
        self.settle()
        if status < 0 and any(words in self.streams.stderr.text() for words in _OUT_OF_MEMORY):
            return out_of_memory(self._memory_bytes)
        if status == 0:
            return Ending("failed", "BAD_OUTPUT", "exited with status 0 before express returned")
        if status > 0:
            return Ending("failed", "EXIT_STATUS", f"exited with status {status}")
        return Ending("failed", "CRASHED", f"ended by {signal.Signals(-status).name}")

    def _status(self) -> bytes:
        try:
            return Path(f"/proc/{self._process.pid}/status").read_bytes()
        except OSError:  # it is gone, and its pipes say so
            return b""

    def _look_at_memory(self) -> None:
        found = _HIGH_WATER.search(self._status())
        if found is not None:
            self.peak_bytes = int(found[1]) * contract.KIB

    def _limit(self, kind: int, most: int) -> None:
        with suppress(ProcessLookupError):
            resource.prlimit(self._process.pid, kind, (most, most))
