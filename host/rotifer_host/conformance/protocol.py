"""Speaking with the host under test, one JSON object a line each way.

The protocol, and the script of the guest it carries, are specified in
`abi/vectors/README.md`.
"""

from __future__ import annotations

import base64
import json
import selectors
import shlex
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import IO, Any, Final, NamedTuple, Protocol, Self

from rotifer_host import contract
from rotifer_host.errors import RotiferError, UsageError

__all__ = ["FUNCTIONS", "PROTOCOL_VERSION", "CallOutcome", "HostError", "HostUnderTest", "Program", "call_step", "grow"]

PROTOCOL_VERSION: Final = 1
FUNCTIONS: Final = (*contract.MEMORY_CALLS, "readContext")
FILLER: Final = b"\xa5"
SPIN: Final = b"\x03"
END: Final = b"\x00"
_SHOWN_STDERR: Final = 2000
_CHUNK: Final = 1 << 16
_OUTCOME: Final = struct.Struct("<iBI")
"""Result, guard, length of the window."""


class HostError(RotiferError):
    """The host under test does not speak the protocol, or ended."""

    code = "HOST_UNDER_TEST"


class HostUnderTest(Protocol):
    """A host that answers the messages of the protocol."""

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to one message. Raises `HostError`."""
        ...


class Program:
    """A host in a process of its own: `with Program("node host.mjs") as host:`.

    `patience_s` is how long one answer may take.
    """

    def __init__(self, command: str, *, patience_s: float = 60.0) -> None:
        self._patience_s = patience_s
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"cannot read the command {command!r}: {error}") from error
        if not words:
            raise UsageError("the command of the host is empty")
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user names the program
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, bufsize=0
            )
        except OSError as error:
            self._stderr.close()
            raise UsageError(f"cannot start {words[0]!r}: {error.strerror}") from error
        self._received = bytearray()

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send one line and wait for the next. Raises `HostError`."""
        stdin = _there(self._process.stdin)
        try:
            _send(stdin, json.dumps(message, ensure_ascii=False).encode() + b"\n")
        except OSError as error:
            raise self._gone(f"cannot be written to: {error.strerror}") from error
        line = self._next_line()
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise self._gone(f"answered no JSON: {line[:200]!r}") from error
        if not isinstance(answer, dict):
            raise self._gone(f"answered no JSON object: {line[:200]!r}")
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            _there(self._process.stdin).close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _there(self._process.stdout).close()
        self._stderr.close()

    def _next_line(self) -> bytes:
        stdout = _there(self._process.stdout)
        until = time.monotonic() + self._patience_s
        searched = 0
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while (end := self._received.find(b"\n", searched)) < 0:
                searched = len(self._received)
                if not selector.select(max(until - time.monotonic(), 0.0)):
                    self._process.kill()
                    raise self._gone(f"gave no answer within {self._patience_s:g} s")
                chunk = stdout.read(_CHUNK)
                if not chunk:
                    raise self._gone("ended")
                self._received += chunk
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def _gone(self, what: str) -> HostError:
        self._stderr.seek(0)
        said = self._stderr.read()[-_SHOWN_STDERR:].decode(errors="replace").strip()
        return HostError(f"the host {what}", help=f"its standard error ends with:\n{said}" if said else None)


def _there(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        message = "the process was started without its pipes"
        raise RuntimeError(message)
    return stream


def _send(stream: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[stream.write(view) :]


class CallOutcome(NamedTuple):
    """What the guest saw of one call."""

    result: int
    guarded: bool
    """Nothing around the window was touched."""
    window: bytes
    """The window as far as memory goes, without the filler at its end."""


def call_step(  # noqa: PLR0913 - the four numbers of a call, and what surrounds them
    function: str, request: bytes, *, req_ptr: int, req_len: int, out_ptr: int, out_cap: int, repeat: int = 1
) -> bytes:
    """Return a call as the guest's script has it; `request` is put at `req_ptr` first."""
    numbers = (repeat, req_ptr, req_len, out_ptr, out_cap, len(request))
    return b"\x01" + bytes([FUNCTIONS.index(function)]) + b"".join(_u32(number) for number in numbers) + request


def grow(pages: int) -> bytes:
    """Return the step that grows the guest's memory."""
    return b"\x02" + _u32(pages)


def script(steps: Iterable[bytes]) -> str:
    """Return steps as the guest's input, a JSON value."""
    return (b"".join(steps) + END).hex()


def outcomes(output: object, calls: int) -> list[CallOutcome] | None:
    """Read the guest's output, a JSON value, back; None when it is not the report of so many calls."""
    try:
        report = bytes.fromhex(output) if isinstance(output, str) else b"?"
    except ValueError:
        report = b"?"
    found, at = [], 0
    while at + _OUTCOME.size <= len(report):
        result, guarded, length = _OUTCOME.unpack_from(report, at)
        at += _OUTCOME.size + length
        found.append(CallOutcome(result, guarded == 1, report[at - length : at]))
    return found if at == len(report) and len(found) == calls else None


def base64_text(data: bytes) -> str:
    """Return bytes as a message carries them."""
    return base64.b64encode(data).decode()


def _u32(number: int) -> bytes:
    return (number & 0xFFFF_FFFF).to_bytes(4, "little")
