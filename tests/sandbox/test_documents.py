"""Strict JSON on the way in, compact JSON on the way out."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from enum import IntEnum

import pytest

from rotifer_host.errors import DocumentError
from rotifer_host.sandbox import decode_document, encode_document

ACCEPTED: list[tuple[bytes, object]] = [
    (b"null", None),
    (b" \t\r\n1\n", 1),
    (b"1.0", 1.0),
    (b"-0.0", -0.0),
    (b"1e5", 1e5),
    (b"123456789012345678901234567890", 123456789012345678901234567890),
    (b'"\\ud83d\\ude00"', "😀"),
    ('"\u2028é"'.encode(), "\u2028é"),
    (b'"\\u0000"', "\0"),
    (b'{"a":1,"a":2}', {"a": 2}),
    (b'{"":[]}', {"": []}),
    (b"[" * 200 + b"]" * 200, None),
]


@pytest.mark.parametrize(("data", "value"), ACCEPTED, ids=[repr(row[0][:20]) for row in ACCEPTED])
def test_accepted(data: bytes, value: object) -> None:
    """One document in UTF-8 is decoded with its types, and survives being encoded again."""
    decoded = decode_document(data)
    if value is not None:
        assert (decoded, type(decoded)) == (value, type(value))
        assert math.copysign(1, decoded) == math.copysign(1, value) if isinstance(value, float) else True  # type: ignore[arg-type]
    assert decode_document(encode_document(decoded)) == decoded


REFUSED = [
    b"",
    b" ",
    b"1 2",
    b"1,",
    b"{}{}",
    b"1\0",
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e400",
    b"1" * 5000,
    b"\xef\xbb\xbf1",
    "1".encode("utf-16"),
    b'"\xff"',
    b'"\xc3"',
    b'"\xc0\x80"',
    b'"\xed\xa0\x80"',
    b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'"\x01"',
    b'"\n"',
    b"'a'",
    b"{a:1}",
    b'{"a":1,}',
    b"[1,]",
    b"01",
    b"+1",
    b".5",
    b"1.",
    b"0x10",
    b"True",
    b"nul",
    b"// c\n1",
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    b"[" * 100_000,
]


@pytest.mark.parametrize("data", REFUSED, ids=[f"{number}-{row[:20]!r}" for number, row in enumerate(REFUSED)])
def test_refused(data: bytes) -> None:
    """Anything but exactly one JSON document is refused with one kind of error."""
    with pytest.raises(DocumentError):
        decode_document(data)


def test_compact() -> None:
    """Encoding adds no spaces and escapes nothing it need not."""
    assert encode_document({"a": [1, 1.5, "é\n😀"], "b": None}) == '{"a":[1,1.5,"é\\n😀"],"b":null}'.encode()


class Colour(IntEnum):
    """A number that is not quite an int."""

    RED = 1


class Name(str):
    """A text that is not quite a str."""

    __slots__ = ()


ENCODED: list[object] = [
    None,
    True,
    -7,
    1 << 70,
    1e300,
    -0.0,
    "",
    'é\n"\\\x7f\u2028😀',
    [],
    {},
    (1, [2.5, None]),
    {"b": {"é": []}, "a": ()},
    {7: 2, None: 3, True: 4, 1.5: 5},
    Colour.RED,
    {Colour.RED: Colour.RED},
    Name("x"),
    {Name("x"): Name("y")},
    OrderedDict(b=1, a=2),
]


@pytest.mark.parametrize("value", ENCODED, ids=repr)
def test_the_same_as_json(value: object) -> None:
    """A value is encoded as the standard library does it, types that are nearly JSON's included."""
    expected = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    assert encode_document(value) == expected.encode()


@pytest.mark.parametrize("value", [math.nan, b"x", {(): 1}, {b"x": 1}, {1, 2}, [object]], ids=repr)
def test_the_same_words_as_json(value: object) -> None:
    """Why a value cannot be encoded is said as the standard library says it."""
    with pytest.raises((TypeError, ValueError)) as expected:
        json.dumps(value, allow_nan=False)
    with pytest.raises(DocumentError) as found:
        encode_document(value)
    assert found.value.message == f"not a JSON value: {expected.value}"


def nested() -> object:
    """Make a value far deeper than the stack."""
    value: object = None
    for _ in range(100_000):
        value = [value]
    return value


def cycle() -> object:
    """Make a list that holds itself."""
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, "\ud800", {"\udfff": 1}, b"x", {1, 2}, object(), cycle(), nested()]
)
def test_values_without_json(value: object) -> None:
    """What JSON has no word for is refused."""
    with pytest.raises(DocumentError):
        encode_document(value)
