"""Values as guests send them: only canonical base64 is taken, and it is kept to the bit."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.memory.twins import DURABILITIES, LARGE, Call, Step, Twins, gene, paired, reading, writing

from rotifer_host import contract
from rotifer_host.memory import Durability


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Twins]:
    """Give both memories, empty."""
    with paired(tmp_path) as twins:
        yield twins


VALUES: dict[str, bytes] = {
    **{f"{size} bytes": base64.b64encode(bytes(range(250, 250 + size))) for size in range(6)},
    "all letters": b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "ones": b"////",
    "padding that is missing": b"AQ",
    "half of it": b"AQ=",
    "too much": b"AQI==",
    "padding of a whole value": b"AQID=",
    "four of them": b"AQID====",
    "nothing but padding": b"====",
    "one of it": b"=",
    "padding within": b"AQ==AQID",
    "padding in front": b"==AQ",
    "padding, then a letter": b"AQ=A",
    "a letter alone": b"A",
    "five letters": b"AQIDA",
    "bits behind two bytes": b"AQJ=",
    "bits behind one byte": b"AR==",
    "bits behind one byte, the highest": b"AZ==",
    "bits behind two bytes, the highest": b"AQK=",
    "the letters of URLs": b"-_-_",
    "one of them": b"AQ-D",
    "a space in front": b" AQID",
    "a space behind": b"AQID ",
    "a space within": b"AQ ID",
    "a line end behind": b"AQID\\n",
    "a bare line end": b"AQID\n",
    "a stray character": b"AQ*D",
    "four of them more": b"AQID****",
    "DEL": b"AQ\x7fD",
    "a letter, escaped": b"AQ\\u0049D",
    "a slash, escaped": b"\\/\\/\\/\\/",
    "a letter beyond ASCII": "AQéD".encode(),
    "a letter beyond ASCII, four in all": "AQé".encode(),
    "a byte that is no UTF-8": b"AQ\xffD",
    "NUL": b"AQ\0D",
    "NUL, escaped": b"AQ\\u0000D",
    "what Python's decoder drops": b"A!Q@I#D",
}


def test_values(twins: Twins) -> None:
    """Only canonical standard base64 with padding is taken; what is kept is the same to the bit."""
    steps = [Call("writeMemory", b'{"key":"k","value":"%b","category":"CACHE"}' % value) for value in VALUES.values()]
    (ran,) = twins.run((gene("a"), steps))
    taken = {name for name, result in zip(VALUES, ran.results, strict=True) if result > 0}
    sizes = {f"{size} bytes" for size in range(6)}
    assert taken == sizes | {"all letters", "ones", "a letter, escaped", "a slash, escaped"}


def test_every_last_group(twins: Twins) -> None:
    """All ends of one byte and of two: those with bits left over are refused."""
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=."
    ends = [bytes([*b"Ag", c]) + b"=" for c in letters] + [bytes([*b"A", c]) + b"==" for c in letters]
    steps = [Call("writeMemory", b'{"key":"k","value":"AQID%b","category":"CACHE"}' % end) for end in ends]
    (ran,) = twins.run((gene("a"), steps), durability="run")
    assert [result > 0 for result in ran.results].count(True) == 64 // 4 + 64 // 16 + 1  # and `Ag==`


@pytest.mark.parametrize("at", [0, 1, 2, 3, 4])
def test_every_byte_in_a_value(twins: Twins, at: int) -> None:
    """In each place of a group, and behind the last one."""
    steps = []
    for byte in range(256):
        value = bytearray(b"AQID")
        value[at : at + 1] = bytes([byte])
        steps.append(Call("writeMemory", b'{"key":"k","value":"%b","category":"CACHE"}' % bytes(value)))
    twins.run((gene("a"), steps), durability="run")


def _value_of(size: int) -> str:
    return base64.b64encode(bytes(range(256)) * (size // 256) + bytes(size % 256)).decode()


@DURABILITIES
def test_sizes(tmp_path: Path, durability: Durability) -> None:
    """Where numbers and lengths in an entry's row take one byte more: around 2^7, 2^8 and 2^16."""
    steps: list[Step] = []
    for size in (0, 1, 31, 32, 127, 128, 255, 256, 257):
        steps += [writing("k", _value_of(size)), reading("k")]
    for key in ("k", "kk", "kkk", "kkkk"):  # the entry's JSON grows by four with three bytes of its value
        for size in range(48_780, 48_800, 3):
            steps += [writing(key, _value_of(size))]
    with paired(tmp_path, pages=4) as twins:
        for twin in twins.twins:
            twin.watched = False
        (ran,) = twins.run((gene("a"), steps), durability=durability)
        assert {65_534, 65_535, 65_536, 65_537} <= set(ran.results)
        assert twins.took_shortcuts()


@DURABILITIES
def test_large_values(tmp_path: Path, durability: Durability) -> None:
    """Up to 1 MiB; one byte more is refused, and so is a request that is larger than 2 MiB."""
    whole = contract.MAX_VALUE_BYTES
    with paired(tmp_path, quota=8 << 20, pages=LARGE) as twins:
        steps: list[Step] = []
        for size in (whole - 2, whole - 1, whole, whole + 1, whole + 2, 65_535, 65_536, 65_537):
            steps += [writing("k", _value_of(size)), reading("k"), writing("k", _value_of(size)[:-1])]
        steps += [writing("k", "A" * (4 * (whole // 3) + 4)), writing("k", "A" * (4 * (whole // 3) + 8))]
        padded = json.dumps({"key": "p", "value": "AQID", "category": "CACHE"}).encode()
        most = contract.MAX_REQUEST_BYTES
        steps += [Call("writeMemory", padded.ljust(size)) for size in (most - 1, most, most + 1)]
        steps += [Call("readMemory", b'{"key":"p"}'.rjust(size)) for size in (most - 1, most, most + 1)]
        for twin in twins.twins:
            twin.watched = False
        (ran,) = twins.run((gene("a"), steps), durability=durability)
        assert [min(result, 0) for result in ran.results[-6:]] == [0, 0, -10] * 2
        assert [min(result, 0) for result in ran.results[:15:3]] == [0, 0, 0, -10, -10]
