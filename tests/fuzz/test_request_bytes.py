"""Request bytes, whatever they are: a checked request or one kind of refusal, the same on both ways of decoding."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotifer_host.errors import InvalidInputError
from rotifer_host.memory import decode_delete, decode_query, decode_read, decode_write
from rotifer_host.memory.fields import decoded_value
from rotifer_host.memory.request import delete_request, read_request, write_request

BUDGET = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "200")), deadline=None)
DECODERS: dict[str, Callable[[bytes], Any]] = {
    "read": decode_read,
    "write": decode_write,
    "query": decode_query,
    "delete": decode_delete,
}
SEEDS = {
    "read": b'{"key":"a/b","category":"CACHE"}',
    "write": b'{"key":"a","value":"AQ==","category":"PATTERN","accessPolicy":{"readScope":"ALL_GENES","writeScope":'
    b'"SAME_DOMAIN","sharePolicy":"PRIVATE"},"retentionPolicy":{"maxRetentionDays":7,"autoDeleteOnTermination":false,'
    b'"anonymizationSupported":true}}',
    "query": b'{"filter":{"category":"CACHE","keyPrefix":"a/","since":"2026-01-01T00:00:00Z","until":null,"limit":10}}',
    "delete": b'{"key":"\\u00e9"}',
}
PIECES = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"1", b"1.0", b"-0", b"1e999", b"NaN", b"\\u0000"]
PIECES += [
    b"\\ud800",
    b"\\u00e9",
    b"\xff",
    b"\xc3\xa9",
    b"\xef\xbb\xbf",
    b" ",
    b"\n",
    b"\0",
    b"AQ==",
    b"CACHE",
    b'"key":',
]
PIECES += [
    b'"key":"b",',
    b'"value":"",',
    b'"category":"CACHE",',
    b'"category":null,',
    b'"retentionPolicy":null,',
    b"=",
    b"%",
]

names = st.sampled_from(
    [
        "key",
        "value",
        "category",
        "accessPolicy",
        "retentionPolicy",
        "keyPrefix",
        "since",
        "until",
        "limit",
        "filter",
        "Key",
        "",
    ]
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["CACHE", "AQ==", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=6,
)
objects = st.dictionaries(names, json_values, max_size=6).map(lambda value: json.dumps(value).encode())


@st.composite
def damaged(draw: st.DrawFn, seed: bytes) -> bytes:
    """Draw a good request with a few pieces put in, taken out or doubled."""
    data = seed
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.integers(0, 3))
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=2) | st.just(data[at : at + 20]))
        data = data[:at] + piece + data[at + cut :]
    return data


def outcome(decode: Callable[[bytes], Any], data: bytes) -> Any:
    """Return the request, or nothing for a refusal; anything else is raised."""
    try:
        return decode(data)
    except InvalidInputError as refusal:
        message = refusal.message
    assert 0 < len(message) < 500
    assert message.isascii()
    return None


def slowly(call: str, data: bytes) -> Any:
    """Decode without types, and check field by field, as a caller from Python is checked."""
    members = msgspec.json.decode(data)
    if not isinstance(members, dict):
        raise InvalidInputError("not an object")
    known = {
        "read": {"key", "category"},
        "delete": {"key"},
        "write": {"key", "value", "category", "accessPolicy", "retentionPolicy"},
    }
    if not set(members) <= known[call] or "key" not in members:
        raise InvalidInputError("fields")
    if call == "read":
        return read_request(members["key"], members.get("category"))
    if call == "delete":
        return delete_request(members["key"])
    if not {"value", "category"} <= set(members):
        raise InvalidInputError("fields")
    policies = (members.get("accessPolicy"), members.get("retentionPolicy", msgspec.UNSET))
    return write_request(members["key"], decoded_value(members["value"]), members["category"], *policies)


@pytest.mark.parametrize("call", DECODERS)
@BUDGET
@given(data=st.data())
def test_one_kind_of_refusal(call: str, data: st.DataObject) -> None:
    """No exception but `InvalidInputError` comes out, and its message is short and plain."""
    request = data.draw(damaged(SEEDS[call]) | objects | st.binary(max_size=40))
    first = outcome(DECODERS[call], request)
    assert outcome(DECODERS[call], request) == first  # reads are remembered


@pytest.mark.parametrize("call", ["read", "write", "delete"])
@BUDGET
@given(data=st.data())
def test_both_ways_of_decoding_agree(call: str, data: st.DataObject) -> None:
    """What the typed decoder takes, the untyped one takes, as the same request, and the other way round."""
    request = data.draw(damaged(SEEDS[call]) | objects)
    try:
        expected = outcome(lambda text: slowly(call, text), request)
    except msgspec.DecodeError:
        expected = None
    assert outcome(DECODERS[call], request) == expected


@BUDGET
@given(value=st.binary(max_size=200))
def test_values_come_through(value: bytes) -> None:
    """Base64 of any bytes is decoded to them, and no other spelling of it is taken."""
    text = msgspec.json.encode(value).decode().strip('"')
    assert decoded_value(text) == value
    for other in (text + "=", text.rstrip("=") + "\n", text.replace("=", ""), f" {text}"):
        if other != text:
            with pytest.raises(InvalidInputError):
                decoded_value(other)
