"""Memory files that are damaged, row by row: C leaves to the Python rules whatever is not as they write it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, get_args

import msgspec
import pytest
from tests.memory.twins import AGENT, A, B, Step, Twin, Twins, deleting, querying, reading, writing

from rotifer_host import contract
from rotifer_host.memory import Caller, Durability
from rotifer_host.memory.entry import entry_id

ROW: Final = b"e" + entry_id(AGENT, "k")


@pytest.fixture
def twins(spoilt_twins: Twins) -> Twins:
    """Give both memories with two entries."""
    return spoilt_twins


def rows_of(twin: Twin) -> dict[bytes, bytes]:
    """Return all rows."""
    return twin.kept().rows


def put_rows(twin: Twin, rows: dict[bytes, bytes | None]) -> None:
    """Change rows past all rules; None for one that goes."""
    with twin.opened() as env, env.begin(write=True) as txn:
        for key, value in rows.items():
            if value is None:
                txn.delete(key)
            else:
                txn.put(key, value)


def putting(rows: dict[bytes, bytes | None]) -> Callable[[Twin], None]:
    """Return a step that does that."""
    return lambda twin: put_rows(twin, rows)


LOOK: Final[list[Step]] = [
    reading("k"),
    reading("k"),
    reading("k", "PATTERN"),
    writing("k", how={"cap": 0}),
    reading("l"),
]


def damaged(row: bytes) -> Iterator[bytes]:
    """Give what may become of a row."""
    head = row.index(b"{") - 3
    for at in (*range(head), *range(head, len(row), 29)):
        for value in (row[at] ^ 1, row[at] ^ 0x80, 0x00, 0x7F, 0xC0, 0xC6, 0xD9, 0xDB, 0xFF):
            yield b"%b%c%b" % (row[:at], value, row[at + 1 :])
    for at in (*range(head), *range(head, len(row), 61), len(row) - 1):
        yield row[:at]
        yield row[:at] + row[at + 1 :]
        yield row[:at] + b"\xa1x" + row[at:]
    yield row + b"\0"
    yield row + row
    yield b""


@pytest.mark.parametrize("caller", [A, B], ids=["its creator", "another gene"])
def test_damaged_rows(twins: Twins, caller: Caller) -> None:
    """Each byte of an entry's row changed, taken out, cut off: read, and nearly written."""
    row = twins.each(lambda twin: rows_of(twin)[ROW])
    steps: list[Step] = []
    for number, spoilt in enumerate(damaged(row)):
        if number % 2 == (caller is A):
            steps += [putting({ROW: spoilt}), *LOOK]
    for twin in twins.twins:
        twin.watched = False
    (ran,) = twins.run((caller, steps))
    assert {0, -1, -13} <= {min(result, 0) for result in ran.results}
    assert twins.took_shortcuts()


MEMBERS: Final[dict[str, tuple[int, Any]]] = {
    "another format": (0, 2),
    "no number": (1, None),
    "a negative number": (1, -1),
    "the largest number": (1, (1 << 63) - 1),
    "a number beyond that": (1, 1 << 63),
    "another key": (2, "j"),
    "no key": (2, ""),
    "a key beyond ASCII": (2, "é"),
    "a key with a quote": (2, '"'),
    "a category that is none": (3, "cache"),
    "another category": (3, "CONTEXT"),
    "a negative size": (4, -1),
    "a huge size": (4, (1 << 63) - 1),
    "the largest size": (4, contract.MAX_VALUE_BYTES),
    "one more": (4, contract.MAX_VALUE_BYTES + 1),
    "a size that is no whole number": (4, 3.0),
    "a creator that is too short": (5, "v2:"),
    "a creator with a quote": (5, '"' * 67),
    "a creator beyond ASCII": (5, "é" * 67),
    "no domain": (6, ""),
    "a domain beyond ASCII": (6, "ф"),
    "a time before 1970": (7, -(1 << 62)),
    "a time beyond 9999": (7, 1 << 62),
    "a change before 1970": (8, -(1 << 62)),
    "a change beyond 9999": (8, 1 << 62),
    "scopes in another order": (9, {"writeScope": "ALL_GENES", "readScope": "ALL_GENES", "sharePolicy": "PRIVATE"}),
    "a scope too many": (9, {"readScope": "ALL_GENES", "writeScope": "ALL_GENES", "sharePolicy": "PRIVATE", "x": "y"}),
    "a scope too few": (9, {"readScope": "ALL_GENES", "writeScope": "ALL_GENES"}),
    "scopes as an array": (9, ["ALL_GENES", "ALL_GENES", "PRIVATE"]),
    "a scope that is none": (9, {"readScope": "ALL", "writeScope": "ALL_GENES", "sharePolicy": "PRIVATE"}),
    "a retention policy": (
        10,
        {"maxRetentionDays": None, "autoDeleteOnTermination": False, "anonymizationSupported": True},
    ),
    "a retention policy of nothing": (10, {}),
    "a reader before the begin": (11, -1),
    "a reader at the begin": (11, 0),
    "a reader beyond the end": (11, 1 << 40),
    "a reader one byte on": (11, 1),
    "a reader at the very end": (11, 486 - 67),
    "a reader one byte beyond the end": (11, 486 - 66),
    "a reader behind the end": (11, 486),
    "no JSON": (12, b""),
    "JSON of nothing but a reader": (12, b"v2:" + b"a" * 64),
    "JSON as text": (12, "{}"),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_members_of_a_row_that_are_not_as_they_should_be(twins: Twins, name: str) -> None:
    """Read by two genes and rewritten by them."""
    at, value = MEMBERS[name]
    row = msgspec.msgpack.decode(twins.each(lambda twin: rows_of(twin)[ROW]))
    row[at] = value
    step = putting({ROW: msgspec.msgpack.encode(row)})
    steps: list[Step] = [
        step,
        *LOOK,
        writing("k", "AAAA"),
        *LOOK,
        step,
        *LOOK,
        writing("l"),
        writing("k", "", "PATTERN"),
    ]
    for durability in get_args(Durability):
        twins.run((A, steps[:10]), durability=durability)
        twins.run((B, steps), durability="call")
    assert twins.took_shortcuts()


_MOST: Final = (1 << 63) - 1
_TOTALS: Final = struct.Struct(">Q8Q")
_CHAIN: Final = struct.Struct(">Q32s")
META: Final[dict[str, tuple[bytes, bytes | None]]] = {
    "no counters": (b"mtotals", None),
    "counters that are too short": (b"mtotals", bytes(71)),
    "all zero": (b"mtotals", bytes(72)),
    **{
        f"{number} changes": (b"mtotals", _TOTALS.pack(number, *[3, 1] * 4))
        for number in (126, 127, 254, 255, 65_534, 65_535, (1 << 32) - 2, (1 << 32) - 1, (1 << 53) - 1, 1 << 53)
    },
    **{
        f"{number} lines": (b"mchain", _CHAIN.pack(number, b"\1" * 32))
        for number in (9, 99, (1 << 32) - 1, (1 << 53) - 1, 1 << 53)
    },
    "the largest number of changes": (b"mtotals", _TOTALS.pack(_MOST, *[3, 1] * 4)),
    "one less": (b"mtotals", _TOTALS.pack(_MOST - 1, *[3, 1] * 4)),
    "one more": (b"mtotals", _TOTALS.pack(_MOST + 1, *[3, 1] * 4)),
    "as many as there can be": (b"mtotals", _TOTALS.pack((1 << 64) - 1, *[3, 1] * 4)),
    "the largest number of bytes": (b"mtotals", _TOTALS.pack(9, *[_MOST, 1] * 4)),
    "the largest number of bytes, once": (b"mtotals", _TOTALS.pack(9, *[_MOST, 1], *[0] * 6)),
    "more bytes than that": (b"mtotals", _TOTALS.pack(9, *[1 << 63, 1] * 4)),
    "half of all bytes, twice": (b"mtotals", _TOTALS.pack(9, *[1 << 62, 1] * 4)),
    "the largest number of entries": (b"mtotals", _TOTALS.pack(9, *[3, _MOST] * 4)),
    "no chain": (b"mchain", None),
    "a chain that is too short": (b"mchain", bytes(39)),
    "a chain with what was seen": (b"mchain", struct.pack(">Q32s32s", 2, bytes(32), b"\1" * 32)),
    "the longest chain": (b"mchain", _CHAIN.pack(_MOST, b"\1" * 32)),
    "one less long": (b"mchain", _CHAIN.pack(_MOST - 1, b"\1" * 32)),
    "a longer one": (b"mchain", _CHAIN.pack(1 << 63, b"\1" * 32)),
    "a chain without lines": (b"mchain", bytes(40)),
    "rows for a data policy": (b"mfollows", b""),
}


@pytest.mark.parametrize("name", META)
def test_counters_that_are_not_as_they_should_be(twins: Twins, name: str) -> None:
    """Written to under, and at, every limit of the numbers that C counts with."""
    key, value = META[name]
    before = twins.each(rows_of)
    back: dict[bytes, bytes | None] = {key: before[key]} if key in before else {key: None}
    steps: list[Step] = [
        writing("k", "AAAA"),
        writing("new"),
        writing("new", "", "PATTERN"),
        reading("new"),
        writing("k"),
    ]
    for durability in get_args(Durability):
        twins.run((A, [*LOOK, putting({key: value}), *LOOK, *steps]), durability=durability)
        twins.each(putting(back))
        twins.run((B, [*LOOK, *steps]), durability=durability)
    assert twins.took_shortcuts()


INDEXES: Final[dict[str, Callable[[dict[bytes, bytes]], dict[bytes, bytes | None]]]] = {
    "no rows of recency": lambda rows: {key: None for key in rows if key[:1] == b"r"},
    "no rows of keys": lambda rows: {key: None for key in rows if key[:1] == b"k"},
    "no entries": lambda rows: {key: None for key in rows if key[:1] == b"e"},
    "a row of expiry for nothing": lambda _: {b"x\0" + struct.pack(">Q", (1 << 63) + 1) + b"i" * 32: b""},
    "a row of expiry in the far future": lambda _: {b"x\0" + b"\xff" * 8 + b"i" * 32: b""},
    "a row of expiry before all times": lambda _: {b"x\0" + bytes(8) + b"i" * 32: b""},
    "a row of expiry that is too short": lambda _: {b"x\0\1": b""},
}


@pytest.mark.parametrize("name", INDEXES)
def test_indexes_that_are_not_as_they_should_be(twins: Twins, name: str) -> None:
    """What a change does not meet it leaves as it is; what it meets it tells."""
    change = INDEXES[name](twins.each(rows_of))
    steps: list[Step] = [
        *LOOK,
        putting(change),
        *LOOK,
        writing("k"),
        *LOOK,
        writing("new"),
        deleting("k"),
        querying(),
        *LOOK,
    ]
    for durability in get_args(Durability):
        twins.run((A, steps), durability=durability)
