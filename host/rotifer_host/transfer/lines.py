"""The file of a moved agent, format version 1: one JSON document a line, in UTF-8.

| line   |                                                                                     |
|--------|-------------------------------------------------------------------------------------|
| first  | `{"format": "rotifer-agent", "v": 1, …}`: the agent's record, its genes' ids, when  |
| others | an entry each, the one changed longest ago first                                    |
| last   | `{"end": {"entries", "bytes", "sha256"}}`: the digest of all bytes before this line |

Everything is checked as the rules check it in a call: a file may come from anywhere.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, BinaryIO, Final, Literal

import msgspec

from rotifer_host import contract
from rotifer_host.errors import InvalidInputError, TransferError
from rotifer_host.memory.entry import AccessPolicy, Category, Record, RetentionPolicy, entry_id, make_record
from rotifer_host.memory.fields import checked_key, decoded_value, retention_policy_of
from rotifer_host.text import counted

__all__ = ["EntryLine", "GeneLine", "Head", "LineReader", "LineWriter", "entry_line"]

_FORMAT: Final = "rotifer-agent"
_END: Final = b'{"end":'
_MAX_LINE_BYTES: Final = contract.MAX_REQUEST_BYTES

_GeneId = Annotated[str, msgspec.Meta(pattern=contract.GENE_ID_PATTERN)]
_Domain = Annotated[str, msgspec.Meta(pattern=contract.DOMAIN_PATTERN)]
_Ms = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
_Sequence = Annotated[int, msgspec.Meta(ge=1, le=1 << 53)]


class GeneLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A gene of the genome as it was when the agent left; genes do not travel along."""

    name: str
    gene_id: _GeneId | None
    """None when it was not compiled."""
    domain: _Domain | None


class Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The first line."""

    format: Literal["rotifer-agent"] = _FORMAT
    v: int = contract.FORMAT_VERSION
    made_by: str
    """Name and version of the host, for people."""
    exported_at: str
    """RFC 3339."""
    cache: bool
    """Whether `CACHE` entries travel along."""
    agent: dict[str, Any]
    """Its record, as in `.rotifer/agents/<id>.json`."""
    genes: tuple[GeneLine, ...]


class EntryLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """An entry; times in milliseconds since 1970, which every clock's time can be written in."""

    sequence: _Sequence
    """Orders the agent's changes: larger is newer."""
    key: str
    category: Category
    value: str
    """Base64."""
    created_by: _GeneId
    creator_domain: _Domain
    last_accessed_by: _GeneId
    created_ms: _Ms
    updated_ms: _Ms
    access_policy: AccessPolicy
    retention_policy: RetentionPolicy | None

    def record(self, agent_id: str) -> tuple[bytes, Record]:
        """Return what is stored of it. Raises `InvalidInputError` for what no write could have stored."""
        identity = entry_id(agent_id, checked_key(self.key))
        retention_policy_of(self.retention_policy)
        return identity, make_record(
            identity=identity,
            sequence=self.sequence,
            key=self.key,
            category=self.category,
            value=decoded_value(self.value),
            created_by=self.created_by,
            domain=self.creator_domain,
            reader=self.last_accessed_by,
            created_ms=self.created_ms,
            updated_ms=self.updated_ms,
            access=self.access_policy,
            retention=self.retention_policy,
        )


class _Value(msgspec.Struct):
    value: str


class _Kind(msgspec.Struct):
    format: Any = None
    v: Any = None


_encode: Final = msgspec.json.Encoder().encode
_value: Final = msgspec.json.Decoder(_Value).decode
_entry: Final = msgspec.json.Decoder(EntryLine).decode
_MALFORMED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def entry_line(record: Record) -> EntryLine:
    """Return the line of a stored entry."""
    return EntryLine(
        sequence=record.sequence,
        key=record.key,
        category=record.category,
        value=_value(record.body).value,
        created_by=record.created_by,
        creator_domain=record.domain,
        last_accessed_by=record.reader,
        created_ms=record.created_ms,
        updated_ms=record.updated_ms,
        access_policy=record.access,
        retention_policy=record.retention,
    )


class _Tally:
    """What the last line vouches for."""

    def __init__(self) -> None:
        self.entries = 0
        self.bytes = 0
        self.digest = hashlib.sha256()

    def count(self, record: Record) -> None:
        self.entries += 1
        self.bytes += record.weight

    def end(self) -> bytes:
        end = {"entries": self.entries, "bytes": self.bytes, "sha256": self.digest.hexdigest()}
        return _encode({"end": end}) + b"\n"


class LineWriter:
    """Writes the lines of one file. What cannot be written raises `TransferError`."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self.tally = _Tally()

    def head(self, head: Head) -> None:
        """Write the first line."""
        self._write(_encode(head) + b"\n")

    def entry(self, record: Record) -> None:
        """Write an entry."""
        self._write(_encode(entry_line(record)) + b"\n")
        self.tally.count(record)

    def end(self) -> None:
        """Write the last line."""
        self._write(self.tally.end())

    def _write(self, line: bytes) -> None:
        try:
            self._stream.write(line)
        except OSError as error:
            message = f"cannot write {self._name}: {error.strerror}"
            raise TransferError(message) from error
        self.tally.digest.update(line)


class LineReader:
    """Reads the lines of one file, and refuses it with a `TransferError` wherever it is damaged."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._number = 0
        self.tally = _Tally()

    def head(self) -> Head:
        """Read the first line."""
        line = self._line()
        if not line:
            raise self._refusal("is empty")
        try:
            kind = msgspec.json.decode(line, type=_Kind)
        except _MALFORMED as error:
            what = "is damaged or cut off" if _FORMAT.encode() in line[:64] else "holds no agent"
            raise self._refusal(f"{what}: {error}") from error
        if kind.format != _FORMAT:
            raise self._refusal("holds no agent; `rotifer agent export` writes such files")
        if type(kind.v) is not int or kind.v != contract.FORMAT_VERSION:
            shown = msgspec.json.encode(kind.v).decode()
            raise self._refusal(f"has format version {shown}; this host reads {contract.FORMAT_VERSION}")
        try:
            head = msgspec.json.decode(line, type=Head)
        except _MALFORMED as error:
            raise self.broken(error) from error
        self._whole(line)
        return head

    def entry(self) -> EntryLine | None:
        """Read the next entry; None after the last, when the file has ended as it must."""
        line = self._line()
        if line.startswith(_END):
            self._check_end(line)
            return None
        if not line:
            raise self._refusal(
                f"is cut off: it ends after {counted(self.tally.entries, 'entry', 'entries')}, without its last line"
            )
        try:
            entry = _entry(line)
        except _MALFORMED as error:
            raise self.broken(error) from error
        self._whole(line)
        return entry

    def record(self, entry: EntryLine, agent_id: str) -> tuple[bytes, Record]:
        """Return what is stored of the entry just read."""
        try:
            identity, record = entry.record(agent_id)
        except InvalidInputError as error:
            raise self.broken(error.message) from error
        self.tally.count(record)
        return identity, record

    def broken(self, reason: object) -> TransferError:
        """Return the refusal of the line just read."""
        return self._refusal(f"is damaged in line {self._number}: {reason}")

    def _line(self) -> bytes:
        try:
            line = self._stream.readline(_MAX_LINE_BYTES + 1)
        except OSError as error:
            message = f"cannot read {self._name}: {error.strerror}"
            raise TransferError(message) from error
        self._number += 1
        if len(line) > _MAX_LINE_BYTES:
            raise self.broken(f"it has more than {_MAX_LINE_BYTES} bytes")
        return line

    def _whole(self, line: bytes) -> None:
        if not line.endswith(b"\n"):
            raise self._refusal(f"is cut off after line {self._number}")
        self.tally.digest.update(line)

    def _check_end(self, line: bytes) -> None:
        if line != self.tally.end():
            raise self._refusal("is damaged: its last line does not fit what comes before it")
        if self._line():
            raise self._refusal("goes on after its last line")

    def _refusal(self, what: str) -> TransferError:
        return TransferError(f"{self._name} {what}; nothing was imported")
