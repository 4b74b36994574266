"""The file of a recorded run: one JSON document, format version 1.

It holds the input, what the genes asked and were answered, and unless left out the
modules: what a bug report needs, and whatever is private in it. Bytes that are
UTF-8 text are written as text, so that a recording can be read; others as
`{"base64": …}`.
"""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from rotifer_host import contract
from rotifer_host.errors import RecordingError, UsageError
from rotifer_host.files import write_atomic
from rotifer_host.limits import Limits

__all__ = [
    "Asked",
    "Bytes",
    "Exchange",
    "LimitsOfRun",
    "Outcome",
    "Part",
    "PartError",
    "RecordedModule",
    "Recording",
    "Refusal",
    "Written",
    "from_bytes",
    "read_recording",
    "to_bytes",
    "write_recording",
]

_FORMAT: Final = "rotifer-recording"
_Count = Annotated[int, msgspec.Meta(ge=0)]


class Base64(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes that are no UTF-8 text."""

    base64: bytes


Bytes = str | Base64
"""Bytes, readable where they can be."""


def from_bytes(data: bytes) -> Bytes:
    """Return bytes as they are written."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Base64(data)


def to_bytes(data: Bytes) -> bytes:
    """Return bytes as they were."""
    return data.encode() if isinstance(data, str) else data.base64


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Members have the names and the order of the file."""


class Refusal(_Record, frozen=True):
    """A negative result of an exchange that a host function gave, with its payload's contents."""

    result: int
    code: str
    message: str


class Exchange(_Record, frozen=True, tag="exchange", tag_field="event"):
    """A call of request and response shape that got as far as its host function.

    What the host settles before that, bad pointers and used-up fuel, follows from what
    the guest does and is not recorded.
    """

    function: str
    """`rotifer.readMemory`."""
    request: Bytes | None
    """None when the caller was refused before its request was looked at; then there is no `outCap` either."""
    outCap: _Count | None  # noqa: N815 - the names in the file
    result: int | None
    """Bytes of the response, or a negative result; None when the run ended in this call."""
    response: Bytes | None
    """None unless `result` is at least 0, or -1 for a response that did not fit."""
    refusal: Refusal | None = None


class Written(_Record, frozen=True):
    """Bytes that a host function wrote into the guest's memory."""

    at: _Count
    data: Bytes


class Asked(_Record, frozen=True, tag="system", tag_field="event"):
    """A call whose answer is the machine's: time, randomness, sleep, the fuel left."""

    function: str
    """`wasi_snapshot_preview1.random_get`."""
    arguments: tuple[int, ...]
    """As unsigned integers."""
    result: int | None
    """None when the run ended in this call."""
    written: tuple[Written, ...] = ()


class PartError(_Record, frozen=True):
    """Why a gene did not end `ok`."""

    code: str
    message: str
    backtrace: tuple[str, ...]


class Outcome(_Record, frozen=True):
    """How one gene's run ended."""

    status: Literal["ok", "rejected", "failed", "limit"]
    output: Bytes
    """Compact JSON; `null` unless `status` is `ok`."""
    error: PartError | None
    fuel: _Count
    peakMemoryBytes: _Count  # noqa: N815
    answers: dict[str, dict[str, _Count]]
    """How often each exchange function succeeded (`ok`) and gave each negative result (`-2`), told or not."""
    log: str
    logDropped: _Count  # noqa: N815
    stderr: str
    stderrDropped: _Count  # noqa: N815


class Part(_Record, frozen=True):
    """One gene's run."""

    gene: str
    module: str
    """Lower-case hex SHA-256 of its module."""
    input: Bytes
    logicalMs: int  # noqa: N815
    """The run's time of day: milliseconds since 1970."""
    context: dict[str, Any]
    """What `readContext` answered from."""
    events: tuple[Exchange | Asked, ...]
    """In the order they happened."""
    outcome: Outcome | None
    """None when the host itself failed."""


class RecordedModule(_Record, frozen=True):
    """A module that ran."""

    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    size: _Count
    zlib: bytes | None
    """The compressed module in base64; None when it was left out."""

    def unpack(self) -> bytes | None:
        """Return the module, None when it was left out. Raises `RecordingError`."""
        if self.zlib is None:
            return None
        try:
            wasm = zlib.decompressobj().decompress(self.zlib, contract.MAX_MODULE_BYTES + 1)
        except zlib.error as error:
            message = f"module {self.sha256[:12]} of the recording is damaged: {error}"
            raise RecordingError(message) from error
        if hashlib.sha256(wasm).hexdigest() != self.sha256:
            message = f"module {self.sha256[:12]} of the recording is damaged: its digest is another one"
            raise RecordingError(message)
        return wasm


class LimitsOfRun(_Record, frozen=True):
    """`rotifer_host.Limits`, with the names of the file."""

    fuel: int
    deadlineMs: int  # noqa: N815
    memoryBytes: int  # noqa: N815
    hostTimeMs: int  # noqa: N815

    @classmethod
    def of(cls, limits: Limits) -> LimitsOfRun:
        """Return limits as they are written."""
        return cls(
            fuel=limits.fuel,
            deadlineMs=limits.deadline_ms,
            memoryBytes=limits.memory_bytes,
            hostTimeMs=limits.host_time_ms,
        )

    def limits(self) -> Limits:
        """Return limits as they were. Raises `UsageError` for what are none."""
        return Limits(self.fuel, self.deadlineMs, self.memoryBytes, self.hostTimeMs)


class Recording(_Record, frozen=True, kw_only=True):
    """One run."""

    format: Literal["rotifer-recording"] = _FORMAT
    v: int = contract.FORMAT_VERSION
    madeBy: dict[str, str]  # noqa: N815
    """Versions of what ran it, for people."""
    callPath: str  # noqa: N815
    agent: str | None
    agentId: str | None  # noqa: N815
    composition: str | None
    limits: LimitsOfRun
    modules: tuple[RecordedModule, ...]
    parts: tuple[Part, ...]


class _Head(msgspec.Struct):
    format: Any = None
    v: Any = None


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording whole or not at all, readable by its owner alone. Raises `RecordingError`."""
    try:
        write_atomic(path, msgspec.json.encode(recording) + b"\n", mode=0o600)
    except OSError as error:
        message = f"cannot write the recording {path}: {error.strerror}"
        raise RecordingError(message) from error


def read_recording(path: Path) -> Recording:
    """Read a recording. Raises `RecordingError` for what is none, is damaged, or has another format version."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"cannot read the recording {path}: {reason}"
        raise RecordingError(message) from error
    try:
        head = msgspec.json.decode(data, type=_Head)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        # a recording that lost its end still begins like one
        kind = "is damaged or cut off" if _FORMAT.encode() in data[:64] else "is not a recording of a run"
        message = f"{path} {kind}: {error}"
        raise RecordingError(message) from error
    if head.format != _FORMAT:
        message = f"{path} is not a recording of a run"
        raise RecordingError(message, help="recordings are made by `rotifer run` and `rotifer agent run` with --record")
    if type(head.v) is not int or head.v != contract.FORMAT_VERSION:
        message = f"{path} has format version {head.v!r}; this host reads {contract.FORMAT_VERSION}"
        raise RecordingError(message)
    try:
        recording = msgspec.json.decode(data, type=Recording)
        recording.limits.limits()
    except (msgspec.MsgspecError, RecursionError, UsageError) as error:  # UsageError: limits that are none
        message = f"{path} is damaged: {error}"
        raise RecordingError(message) from error
    return _checked(path, recording)


def _checked(path: Path, recording: Recording) -> Recording:
    known = {module.sha256 for module in recording.modules}
    for number, part in enumerate(recording.parts):
        if part.module not in known:
            message = f"{path} is damaged: parts[{number}] names a module that it does not list"
            raise RecordingError(message)
    return recording
