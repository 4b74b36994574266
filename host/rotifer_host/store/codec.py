"""How records, index rows and counters are written in an LMDB file.

All of them lie in LMDB's one unnamed table, told apart by the first byte of their keys:
opening a named table takes LMDB's writer lock, which cannot time out. Integers in keys
are big-endian, so that LMDB's byte order is their order.

| rows    | key                                                   | value                          |
|---------|-------------------------------------------------------|--------------------------------|
| entries | `e`, entry id (32)                                    | Record as a msgpack array, format version first |
| recency | `r`, category (1), sequence (8)                       | entry id (32), updated ms (8)  |
| keys    | `k`, key in UTF-8, cut at 477 bytes, NUL, entry id    | sequence (8), category (1), updated ms (8) |
| expiry  | `x`, kind (1), second + 2^63 (8), entry id (32)       | nothing                        |
| meta    | `m` and `format`, `agent` or `totals`                 | version, agent id, 9 counters  |

An expiry of kind `OWN` is the second from which an entry with a retention policy of
its own is gone; one of kind `FOLLOWS` is the second in which an entry that follows
the agent's data policy was changed, so that the policy may change without a rewrite.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from rotifer_host import contract
from rotifer_host.errors import StoreError
from rotifer_host.memory.entry import Category, Record
from rotifer_host.store.protocol import Index, Tally, Totals

__all__ = [
    "AGENT_KEY",
    "CUT_KEY_BYTES",
    "ENTRIES",
    "FOLLOWS",
    "FORMAT_KEY",
    "OWN",
    "TOTALS_KEY",
    "Raw",
    "decode_expiry",
    "decode_key_row",
    "decode_recency_row",
    "decode_record",
    "decode_totals",
    "encode_record",
    "encode_totals",
    "expiry_key",
    "expiry_prefix",
    "key_prefix",
    "key_row",
    "recency_prefix",
    "recency_row",
]

Raw = bytes | memoryview

ENTRIES: Final = b"e"
_RECENCY: Final = b"r"
_KEYS: Final = b"k"
_EXPIRY: Final = b"x"
FORMAT_KEY: Final = b"mformat"
AGENT_KEY: Final = b"magent"
TOTALS_KEY: Final = b"mtotals"

OWN: Final = 0
FOLLOWS: Final = 1

_ID_BYTES: Final = 32
_LONGEST_KEY: Final = 511  # that LMDB takes
CUT_KEY_BYTES: Final = _LONGEST_KEY - len(_KEYS) - len(b"\0") - _ID_BYTES

_SECOND_OFFSET: Final = 1 << 63
_RECENCY_KEY: Final = struct.Struct(">cBQ")
_RECENCY_VALUE: Final = struct.Struct(">32sq")
_KEYS_VALUE: Final = struct.Struct(">QBq")
_EXPIRY_KEY: Final = struct.Struct(">cBQ32s")
_TOTALS: Final = struct.Struct(f">Q{2 * len(contract.CATEGORIES)}Q")

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Record).decode


def encode_record(record: Record) -> bytes:
    """Return the value of a row of `entries`."""
    return _encode(record)


def decode_record(raw: Raw) -> Record:
    """Return the record of a row of `entries`, copied out of the map; raises `StoreError`."""
    try:
        return _decode(raw)
    except msgspec.DecodeError as error:
        message = f"an entry of the memory file is damaged or of another format: {error}"
        raise StoreError(message) from error


def recency_prefix(category: Category) -> bytes:
    """Return what the keys of a category's rows of `recency` start with."""
    return _RECENCY + bytes([contract.CATEGORIES.index(category)])


def recency_row(identity: bytes, record: Record) -> tuple[bytes, bytes]:
    """Return key and value of a row of `recency`."""
    return (
        _RECENCY_KEY.pack(_RECENCY, contract.CATEGORIES.index(record.category), record.sequence),
        _RECENCY_VALUE.pack(identity, record.updated_ms),
    )


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


def key_row(identity: bytes, record: Record) -> tuple[bytes, bytes]:
    """Return key and value of a row of `keys`."""
    return (
        b"%b\0%b" % (key_prefix(record.key), identity),
        _KEYS_VALUE.pack(record.sequence, contract.CATEGORIES.index(record.category), record.updated_ms),
    )


def decode_key_row(key: bytes, value: bytes) -> Index:
    """Return what a row of `keys` says; raises `StoreError`."""
    try:
        sequence, code, updated_ms = _KEYS_VALUE.unpack(value)
        return Index(sequence, key[-_ID_BYTES:], contract.CATEGORIES[code], updated_ms)
    except (struct.error, IndexError) as error:
        raise _damaged(error) from error


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


def encode_totals(totals: Totals) -> bytes:
    """Return the counters as `meta` keeps them; raises `StoreError` when one is out of range."""
    try:
        return _TOTALS.pack(totals.sequence, *(number for tally in totals.categories for number in tally))
    except struct.error as error:
        raise _damaged(error) from error


def decode_totals(raw: Raw | None) -> Totals:
    """Return the counters that `meta` keeps; raises `StoreError`."""
    try:
        sequence, *numbers = _TOTALS.unpack(b"" if raw is None else raw)
    except struct.error as error:
        raise _damaged(error) from error
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return Totals(sequence, tuple(Tally(used, count) for used, count in pairs))


def _damaged(error: Exception) -> StoreError:
    return StoreError(f"an index of the memory file is damaged: {error}")
