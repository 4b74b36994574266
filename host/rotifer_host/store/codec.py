"""How records, index rows and counters are written in an LMDB file.

All of them lie in LMDB's one unnamed table, told apart by the first byte of their keys:
opening a named table takes LMDB's writer lock, which cannot time out. Integers in keys
are big-endian, so that LMDB's byte order is their order.

| rows    | key                                                   | value                          |
|---------|-------------------------------------------------------|--------------------------------|
| entries | `e`, entry id (32)                                    | Record as a msgpack array, format version first |
| recency | `r`, category (1), sequence (8)                       | entry id (32), updated ms (8)  |
| keys    | `k`, key in UTF-8, cut at 477 bytes, NUL, entry id    | nothing                        |
| expiry  | `x`, kind (1), second + 2^63 (8), entry id (32)       | nothing                        |
| documents | `d`, host module, NUL, name                         | format version (1), the bytes  |
| meta    | `m` and `format`, `agent`, `totals` or `chain`        | version, agent id, counters, last audit line |
|         | `m` and `begun`, where there was an audit log         | hash of the line it ended with |

A rewrite thus changes an entry's row and its row of recency, and as a rule no other.

An expiry of kind `OWN` is the second from which an entry with a retention policy of
its own is gone; one of kind `FOLLOWS` is the second in which an entry that follows
the agent's data policy was changed, so that the policy may change without a rewrite.
Rows of kind `FOLLOWS` are there once the agent has had a data policy with a limit, as
`m` and `follows` says: until then nobody asks for them, and each write would move one.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from rotifer_host import contract
from rotifer_host.errors import StoreError
from rotifer_host.memory.entry import Category, Record
from rotifer_host.store.protocol import Chain, DocumentName, Index, Tally, Totals

__all__ = [
    "AGENT_KEY",
    "BEGUN_KEY",
    "CHAIN_KEY",
    "CUT_KEY_BYTES",
    "DOCUMENTS",
    "ENTRIES",
    "FOLLOWS",
    "FOLLOWS_KEY",
    "FORMAT_KEY",
    "OWN",
    "TOTALS_KEY",
    "Raw",
    "decode_chain",
    "decode_document",
    "decode_document_key",
    "decode_expiry",
    "decode_recency_row",
    "decode_record",
    "decode_totals",
    "document_key",
    "encode_chain",
    "encode_document",
    "encode_record",
    "encode_totals",
    "expiry_key",
    "expiry_prefix",
    "identity_in_key_row",
    "key_prefix",
    "key_row",
    "recency_key",
    "recency_prefix",
    "recency_row",
]

Raw = bytes | memoryview

ENTRIES: Final = b"e"
_RECENCY: Final = b"r"
_KEYS: Final = b"k"
_EXPIRY: Final = b"x"
DOCUMENTS: Final = b"d"
_FORMAT: Final = bytes([contract.FORMAT_VERSION])
FORMAT_KEY: Final = b"mformat"
AGENT_KEY: Final = b"magent"
BEGUN_KEY: Final = b"mbegun"
TOTALS_KEY: Final = b"mtotals"
CHAIN_KEY: Final = b"mchain"
FOLLOWS_KEY: Final = b"mfollows"

OWN: Final = 0
FOLLOWS: Final = 1

_ID_BYTES: Final = 32
_LONGEST_KEY: Final = 511  # that LMDB takes
CUT_KEY_BYTES: Final = _LONGEST_KEY - len(_KEYS) - len(b"\0") - _ID_BYTES

_CODES: Final = {category: code for code, category in enumerate(contract.CATEGORIES)}
_SECOND_OFFSET: Final = 1 << 63
_LARGEST_MS: Final = _SECOND_OFFSET - 1
_RECENCY_KEY: Final = struct.Struct(">cBQ")
_RECENCY_VALUE: Final = struct.Struct(">32sq")
_EXPIRY_KEY: Final = struct.Struct(">cBQ32s")
_TOTALS: Final = struct.Struct(f">Q{2 * len(contract.CATEGORIES)}Q")

_CHAIN: Final = struct.Struct(">Q32s32s")
_SHORT_CHAIN: Final = struct.Struct(">Q32s")
_NO_HASH: Final = bytes(32)

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Record).decode


def encode_record(record: Record) -> bytes:
    """Return the value of a row of `entries`."""
    return _encode(record)


def decode_record(raw: Raw) -> Record:
    """Return the record of a row of `entries`, copied out of the map; raises `StoreError`."""
    try:
        record = _decode(raw)
    except msgspec.DecodeError as error:
        message = f"an entry of the memory file is damaged or of another format: {error}"
        raise StoreError(message) from error
    if record.sequence < 0 or record.updated_ms > _LARGEST_MS:  # what no index could hold
        message = f"an entry of the memory file is damaged: number {record.sequence}, changed at {record.updated_ms}"
        raise StoreError(message)
    days = None if record.retention is None else record.retention.maxRetentionDays
    if days is not None and not 1 <= days <= contract.MAX_RETENTION_DAYS:
        message = f"an entry of the memory file is damaged: kept for {days} days"
        raise StoreError(message)
    if not record.has_reader:
        message = f"an entry of the memory file is damaged: no reader is named at byte {record.reader_at} of it"
        raise StoreError(message)
    return record


def recency_prefix(category: Category) -> bytes:
    """Return what the keys of a category's rows of `recency` start with."""
    return _RECENCY + bytes([_CODES[category]])


def recency_key(record: Record) -> bytes:
    """Return the key of an entry's row of `recency`."""
    return _RECENCY_KEY.pack(_RECENCY, _CODES[record.category], record.sequence)


def recency_row(identity: bytes, record: Record) -> tuple[bytes, bytes]:
    """Return key and value of a row of `recency`."""
    key = _RECENCY_KEY.pack(_RECENCY, _CODES[record.category], record.sequence)  # `recency_key`, without its call
    return key, _RECENCY_VALUE.pack(identity, record.updated_ms)


def decode_recency_row(key: Raw, value: Raw) -> Index:
    """Return what a row of `recency` says; raises `StoreError`."""
    try:
        _, code, sequence = _RECENCY_KEY.unpack(key)
        identity, updated_ms = _RECENCY_VALUE.unpack(value)
        return Index(sequence, identity, contract.CATEGORIES[code], updated_ms)
    except (struct.error, IndexError) as error:
        raise _damaged(error) from error


def key_prefix(prefix: str) -> bytes:
    """Return what the keys of rows of `keys` start with for entries whose keys start with `prefix`."""
    return _KEYS + prefix.encode()[:CUT_KEY_BYTES]


def key_row(identity: bytes, record: Record) -> bytes:
    """Return the key of a row of `keys`."""
    return b"%b\0%b" % (key_prefix(record.key), identity)


def identity_in_key_row(key: Raw) -> bytes:
    """Return the entry id at the end of a key of `keys`; raises `StoreError`."""
    identity = bytes(key[-_ID_BYTES - 1 :])
    if len(key) <= len(_KEYS) + _ID_BYTES or identity[0]:
        raise _damaged("a key that names no entry")
    return identity[1:]


def expiry_key(identity: bytes, record: Record) -> bytes | None:
    """Return the key of an entry's row in `expiry`; None when no policy of the agent can make it expire."""
    changed_s = record.updated_ms // 1000
    if record.retention is None:
        return _EXPIRY_KEY.pack(_EXPIRY, FOLLOWS, changed_s + _SECOND_OFFSET, identity)
    days = record.retention.maxRetentionDays
    if days is None:
        return None
    return _EXPIRY_KEY.pack(_EXPIRY, OWN, changed_s + days * contract.SECONDS_PER_DAY + _SECOND_OFFSET, identity)


def expiry_prefix(kind: int) -> bytes:
    """Return what the keys of all rows of one kind in `expiry` start with."""
    return _EXPIRY + bytes([kind])


def decode_expiry(key: Raw) -> tuple[int, bytes]:
    """Return second and entry id of a key of `expiry`; raises `StoreError`."""
    try:
        _, _, shifted, identity = _EXPIRY_KEY.unpack(key)
    except struct.error as error:
        raise _damaged(error) from error
    return shifted - _SECOND_OFFSET, identity


def document_key(name: DocumentName) -> bytes:
    """Return the key of a document's row."""
    return b"%b%b\0%b" % (DOCUMENTS, name.module.encode(), name.name.encode())


def decode_document_key(key: Raw) -> DocumentName:
    """Return the name in the key of a document's row; raises `StoreError`."""
    try:
        module, name = bytes(key[len(DOCUMENTS) :]).decode().split("\0")
    except ValueError as error:
        raise _damaged(error) from error
    return DocumentName(module, name)


def encode_document(data: bytes) -> bytes:
    """Return the value of a document's row."""
    return _FORMAT + data


def decode_document(raw: Raw) -> Raw:
    """Return the bytes of a document as far as they are not copied out of the map; raises `StoreError`."""
    if raw[:1] != _FORMAT:
        message = f"a document of the memory file has another format than {contract.FORMAT_VERSION}, or is damaged"
        raise StoreError(message)
    return raw[1:]


def encode_totals(totals: Totals) -> bytes:
    """Return the counters as `meta` keeps them; raises `StoreError` when one is out of range."""
    one, two, three, four = totals.categories
    try:
        return _TOTALS.pack(totals.sequence, *one, *two, *three, *four)
    except struct.error as error:
        raise _damaged(error) from error


def decode_totals(raw: Raw | None) -> Totals:
    """Return the counters that `meta` keeps; raises `StoreError`."""
    try:
        sequence, *numbers = _TOTALS.unpack(b"" if raw is None else raw)
    except struct.error as error:
        raise _damaged(error) from error
    return Totals(sequence, tuple(map(Tally, numbers[::2], numbers[1::2])))


def encode_chain(chain: Chain) -> bytes:
    """Return what `meta` keeps of the audit lines: the short form where there is nothing more to say."""
    length, head, seen = chain
    if not seen:
        return _SHORT_CHAIN.pack(length, head or _NO_HASH)
    return _CHAIN.pack(length, head or _NO_HASH, seen)


def decode_chain(raw: Raw | None) -> Chain:
    """Return what `meta` keeps of the audit lines; raises `StoreError`."""
    data = b"" if raw is None else raw
    try:
        count, head, seen = _CHAIN.unpack(data) if len(data) == _CHAIN.size else (*_SHORT_CHAIN.unpack(data), b"")
    except struct.error as error:
        raise _damaged(error) from error
    return Chain(count, head if count else b"", seen)


def _damaged(error: Exception | str) -> StoreError:
    return StoreError(f"an index of the memory file is damaged: {error}")
