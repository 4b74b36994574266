"""A memory entry as it is stored, and as a guest sees it.

Rules from memory-api.en.md, "Entries" and "Access scopes".
"""

from __future__ import annotations

from binascii import b2a_base64
from functools import lru_cache
from hashlib import sha256
from typing import Final, Literal, NamedTuple

import msgspec
import orjson

from rotifer_host import contract
from rotifer_host.clock import rfc3339

__all__ = [
    "DEFAULT_ACCESS",
    "DEFAULT_DATA_POLICY",
    "AccessPolicy",
    "Caller",
    "Category",
    "DataPolicy",
    "Record",
    "RetentionPolicy",
    "Scope",
    "SharePolicy",
    "entry_id",
    "key_json",
    "make_record",
    "response_for",
]

Category = Literal["PREFERENCE", "PATTERN", "CONTEXT", "CACHE"]
Scope = Literal["CREATOR_GENE_ONLY", "SAME_DOMAIN", "ALL_GENES", "DEPLOYER_CONFIGURED"]
SharePolicy = Literal["PRIVATE", "ANONYMIZED_SHARE", "KNOWLEDGE_GENE"]

_GENE_ID_LENGTH: Final = len("v2:") + 64
_REMEMBERED_KEYS: Final = 1024


class AccessPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who may read, write and share an entry; all three parts are required."""

    readScope: Scope  # noqa: N815 - the wire name
    writeScope: Scope  # noqa: N815
    sharePolicy: SharePolicy  # noqa: N815


class RetentionPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long an entry is kept: exactly these three fields; `maxRetentionDays` null means for ever."""

    maxRetentionDays: int | None  # noqa: N815
    autoDeleteOnTermination: bool  # noqa: N815
    anonymizationSupported: bool  # noqa: N815


class DataPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the deployer allows an agent's entries; the default has no limit and no anonymisation."""

    maxRetentionDays: int | None = None  # noqa: N815
    autoDeleteOnTermination: bool = False  # noqa: N815
    anonymizationSupported: bool = False  # noqa: N815


DEFAULT_ACCESS: Final = AccessPolicy("SAME_DOMAIN", "SAME_DOMAIN", "PRIVATE")
_DEFAULT_ACCESS_JSON: Final = msgspec.json.encode(DEFAULT_ACCESS).decode()
DEFAULT_DATA_POLICY: Final = DataPolicy()


class Caller(NamedTuple):
    """Who a memory call acts for."""

    gene_id: str
    """`v2:` and 64 hex digits."""
    domain: str


class Record(msgspec.Struct, frozen=True, array_like=True, tag=contract.FORMAT_VERSION):
    """One stored entry: what the rules ask of it, and the JSON a guest receives.

    Written as an array that starts with its format version.

    `body` is the entry as compact JSON in the order of the contract; the 67
    characters of `lastAccessedBy` start at byte `reader_at` of it, so that a
    read by another gene needs no rendering.
    """

    sequence: int
    """The agent's change counter when this entry was last changed: newer is larger."""
    key: str
    category: Category
    size: int
    """Raw bytes of the value."""
    created_by: str
    domain: str
    """The creator's domain when it created the entry."""
    created_ms: int
    updated_ms: int
    access: AccessPolicy
    retention: RetentionPolicy | None
    reader_at: int
    body: bytes

    @property
    def weight(self) -> int:
        """Bytes this entry counts against the quota: its key in UTF-8 and its raw value."""
        return len(self.key.encode()) + self.size

    @property
    def reader(self) -> str:
        """`lastAccessedBy` as stored."""
        return self.body[self.reader_at : self.reader_at + _GENE_ID_LENGTH].decode("ascii")

    @property
    def has_reader(self) -> bool:
        """Whether `body` has room for `lastAccessedBy` where it is said to be: not so in a damaged record."""
        reader = self.body[self.reader_at : self.reader_at + _GENE_ID_LENGTH]
        return self.reader_at >= 0 and len(reader) == _GENE_ID_LENGTH and reader.isascii()

    def expires_at(self, policy: DataPolicy) -> int | None:
        """Second since 1970 at which the entry expires under `policy`, or None for never.

        memory-api.en.md, "How long entries are kept".
        """
        days = policy.maxRetentionDays if self.retention is None else self.retention.maxRetentionDays
        return None if days is None else self.updated_ms // 1000 + days * contract.SECONDS_PER_DAY


@lru_cache(_REMEMBERED_KEYS)
def entry_id(agent_id: str, key: str) -> bytes:
    """Return the 32 bytes of SHA-256 over agent id, NUL and key in UTF-8."""
    return sha256(f"{agent_id}\0{key}".encode()).digest()


@lru_cache(_REMEMBERED_KEYS)
def key_json(key: str) -> str:
    """Return a key as JSON, its quotes included, the way entries and audit lines show it."""
    return orjson.dumps(key).decode()


def make_record(  # noqa: PLR0913 - keywords, the fields of an entry
    *,
    identity: bytes,
    sequence: int,
    key: str,
    category: Category,
    value: bytes,
    created_by: str,
    domain: str,
    reader: str,
    created_ms: int,
    updated_ms: int,
    access: AccessPolicy,
    retention: RetentionPolicy | None,
) -> Record:
    """Render an entry once, when it is written."""
    access_json = _DEFAULT_ACCESS_JSON if access == DEFAULT_ACCESS else msgspec.json.encode(access).decode()
    retention_json = "null" if retention is None else msgspec.json.encode(retention).decode()
    head = f'{{"entryId":"{identity.hex()}","category":"{category}","key":{key_json(key)},"value":"'.encode()
    encoded = b2a_base64(value, newline=False)
    between = f'","createdBy":"{created_by}","lastAccessedBy":"'
    tail = (
        f'{between}{reader}","createdAt":"{rfc3339(created_ms)}","updatedAt":"{rfc3339(updated_ms)}",'
        f'"accessPolicy":{access_json},"retentionPolicy":{retention_json}}}'
    ).encode()
    return Record(  # in their order: by keywords it takes three times as long
        sequence,
        key,
        category,
        len(value),
        created_by,
        domain,
        created_ms,
        updated_ms,
        access,
        retention,
        len(head) + len(encoded) + len(between),
        head + encoded + tail,
    )


def response_for(record: Record, reader: str) -> bytes:
    """Return the entry as JSON with `reader` as its `lastAccessedBy`; the stored bytes when it already is."""
    body, start = record.body, record.reader_at
    if body.startswith(reader.encode("ascii"), start):
        return body
    return b"%b%b%b" % (body[:start], reader.encode("ascii"), body[start + _GENE_ID_LENGTH :])
