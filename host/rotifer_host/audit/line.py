"""A line of the audit log: what it says, and how it holds those before it.

memory-api.en.md, "What gets recorded".
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from rotifer_host import contract
from rotifer_host.errors import AuditError

try:
    from rotifer_host.audit import _line
except ImportError:  # not built, or this processor has no instructions for SHA-256
    _line = None  # type: ignore[assignment]

__all__ = ["Action", "Actor", "AuditLine", "Written", "decode_line", "encode_line", "line_hash", "link"]

Actor = Literal["gene", "deployer", "host"]
Action = Literal[
    "memory.create",
    "memory.update",
    "memory.delete",
    "memory.evict",
    "memory.expire",
    "memory.reject",
    "memory.deny",
    "memory.abort",
]


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line, its members in this order; never holds a value, only its size."""

    v: int = contract.FORMAT_VERSION
    ts: str
    """RFC 3339, UTC, milliseconds."""
    agentId: str | None  # noqa: N815 - the names in the file
    """None for a gene that ran outside an agent."""
    agent: str | None
    """The agent's name."""
    actor: Actor
    geneId: str | None  # noqa: N815
    """The calling gene, also of the call that caused a `host` action; None for the deployer."""
    domain: str | None
    action: str
    """One of `Action`, or what a host module did, as `<module>.<verb>`."""
    key: str | None
    """Of the entry; of a host module's action what it names so."""
    entryId: str | None  # noqa: N815
    category: str | None
    bytes: int | None
    """Raw bytes of the value concerned."""
    code: str | msgspec.UnsetType = msgspec.UNSET
    """The MEMORY_… code of a refusal."""
    reason: str | msgspec.UnsetType = msgspec.UNSET
    createdBy: str | msgspec.UnsetType = msgspec.UNSET  # noqa: N815
    """Of an entry that came with an imported agent: it was made elsewhere, by this gene."""
    updatedAt: str | msgspec.UnsetType = msgspec.UNSET  # noqa: N815
    """Of such an entry: when it was last changed there."""
    seq: int | msgspec.UnsetType = msgspec.UNSET
    """Of a change: its number among the agent's changes, from 1."""
    prev: str | msgspec.UnsetType | None = msgspec.UNSET
    """Hash of the agent's change before this line, None where there is none; absent outside an agent's memory."""
    above: str | msgspec.UnsetType | None = msgspec.UNSET
    """Hash of the line above it in the file, whosever it is, None for the first; added by `AuditSink.append`."""


class Written(msgspec.Struct, frozen=True):
    """Lines as they stand in the log."""

    lines: list[bytes]
    """Without line ends."""
    last: bytes
    """Hash of the last one."""


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(AuditLine).decode
line_hash: Final = hashlib.sha256
"""`prev` and `above` are its hex digests over a line's bytes without the line end."""


def encode_line(line: AuditLine) -> bytes:
    """Return a line as `AuditSink.append` takes it; raises `AuditError` for a text that is not Unicode."""
    try:
        return _encode(line)
    except UnicodeEncodeError as error:
        message = f"cannot write the audit log: a text is not Unicode: {error.reason}"
        raise AuditError(message) from error


def decode_line(line: bytes) -> AuditLine:
    """Return what `encode_line` was given, and what `link` added."""
    return _decode(line)


def link(lines: Sequence[bytes], *, after: bytes | None, above: bytes) -> Written:
    """Add their last members to lines that will stand below the one with the hash `above`; empty for none.

    With `after`, the first gets that as its `prev` (empty for null), and each further one
    the hash of the one before it; without, a `prev` is left as it is.
    """
    return Written(*_link(lines, after, above))


def _link_in_python(lines: Sequence[bytes], after: bytes | None, above: bytes) -> tuple[list[bytes], bytes]:
    whole: list[bytes] = []
    end = f',"above":{_quoted(above)}}}'
    if after is not None:
        end = f',"prev":{_quoted(after)}{end}'
    for line in lines:
        if whole:
            last = above.hex()
            end = f',"above":"{last}"}}' if after is None else f',"prev":"{last}","above":"{last}"}}'
        text = line[:-1] + end.encode()
        above = line_hash(text).digest()
        whole.append(text)
    return whole, above


def _quoted(digest: bytes) -> str:
    return f'"{digest.hex()}"' if digest else "null"


def _link_in_c_works() -> bool:
    """Tell whether the processor's SHA-256 is there, and is SHA-256."""
    lines, before = [b'{"v":1}', b'{"v":%b}' % bytes(range(48, 58)) * 20], bytes(range(32))
    return _line is not None and _line.link(lines, before, before) == _link_in_python(lines, before, before)


_link: Final = _line.link if _link_in_c_works() else _link_in_python
