"""What the four calls accept, and how they refuse."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET

from rotifer_host import contract
from rotifer_host.errors import InvalidInputError
from rotifer_host.memory import (
    AccessPolicy,
    DeleteRequest,
    QueryRequest,
    ReadRequest,
    RetentionPolicy,
    WriteRequest,
    decode_delete,
    decode_query,
    decode_read,
    decode_write,
    delete_request,
    query_request,
    read_request,
    write_request,
)

ACCESS = '{"readScope":"ALL_GENES","writeScope":"CREATOR_GENE_ONLY","sharePolicy":"PRIVATE"}'
RETENTION = '{"maxRetentionDays":30,"autoDeleteOnTermination":true,"anonymizationSupported":false}'
WRITE = '{"key":"a","value":"eA==","category":"CACHE"'
LONGEST_KEY = "k" * contract.MAX_KEY_BYTES


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ('{"key":"a"}', ReadRequest("a")),
        ('{"key":"a","category":"CACHE"}', ReadRequest("a", "CACHE")),
        ('{"key":"a","category":null}', ReadRequest("a")),
        (' {\n"key" :\t"a" } ', ReadRequest("a")),
        ('{"\\u006bey":"\\ud83d\\ude00"}', ReadRequest("😀")),
        ('{"key":1,"key":"a"}', ReadRequest("a")),
        ('{"category":"NONE","key":"a","category":"CACHE"}', ReadRequest("a", "CACHE")),
        ('{"category":{"a":[1.5,null]},"key":"a","category":null}', ReadRequest("a")),
        (json.dumps({"key": LONGEST_KEY}), ReadRequest(LONGEST_KEY)),
        (json.dumps({"key": "é" * 512}), ReadRequest("é" * 512)),
        (json.dumps({"key": "\x01\x1f\x7f"}), ReadRequest("\x01\x1f\x7f")),
    ],
)
def test_reads_that_are_understood(request_text: str, expected: ReadRequest) -> None:
    """Optional null means left out, and the last of two equal members counts, whatever the first was."""
    assert expected == decode_read(request_text.encode())


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        (WRITE + "}", WriteRequest("a", b"x", "CACHE")),
        ('{"key":"a","value":"","category":"PREFERENCE"}', WriteRequest("a", b"", "PREFERENCE")),
        (
            WRITE + f',"accessPolicy":{ACCESS}}}',
            WriteRequest("a", b"x", "CACHE", AccessPolicy("ALL_GENES", "CREATOR_GENE_ONLY", "PRIVATE")),
        ),
        (WRITE + ',"accessPolicy":null}', WriteRequest("a", b"x", "CACHE")),
        (WRITE + ',"retentionPolicy":null}', WriteRequest("a", b"x", "CACHE", None, None)),
        (
            WRITE + f',"retentionPolicy":{RETENTION}}}',
            WriteRequest("a", b"x", "CACHE", None, RetentionPolicy(30, True, False)),  # noqa: FBT003 - as on the wire
        ),
        (
            WRITE + ',"accessPolicy":{"readScope":"ME"},"accessPolicy":null,"value":7,"value":"eA=="}',
            WriteRequest("a", b"x", "CACHE"),
        ),
        (
            WRITE + f',"retentionPolicy":{RETENTION},"retentionPolicy":null}}',
            WriteRequest("a", b"x", "CACHE", None, None),
        ),
    ],
)
def test_writes_that_are_understood(request_text: str, expected: WriteRequest) -> None:
    """A retention policy left out is told from one that is null."""
    decoded = decode_write(request_text.encode())
    assert expected == decoded
    assert (expected.retention_policy is UNSET) == (decoded.retention_policy is UNSET)


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("", QueryRequest()),
        ("{}", QueryRequest()),
        ("null", QueryRequest()),
        ('{"filter":null}', QueryRequest()),
        ('{"filter":{}}', QueryRequest()),
        ('{"filter":null,"limit":5}', QueryRequest(limit=5)),
        ('{"filter":{"limit":5},"category":null}', QueryRequest(limit=5)),
        ('{"category":null,"keyPrefix":null,"since":null,"until":null,"limit":null}', QueryRequest()),
        ('{"keyPrefix":""}', QueryRequest()),
        ('{"keyPrefix":"a\\u0000"}', QueryRequest(key_prefix="a\0")),
        ('{"filter":{"category":"CACHE","keyPrefix":"f/"}}', QueryRequest("CACHE", "f/")),
        ('{"limit":1}', QueryRequest(limit=1)),
        ('{"limit":1000}', QueryRequest(limit=1000)),
        ('{"limit":0,"limit":1000}', QueryRequest(limit=1000)),
        (
            '{"since":"1970-01-01T00:00:00.0001Z","until":"1970-01-01T00:00:01+00:00"}',
            QueryRequest(since_ms=1, until_ms=1000),
        ),
    ],
)
def test_queries_that_are_understood(request_text: str, expected: QueryRequest) -> None:
    """A filter comes flat or nested; nothing, null and an empty object ask for everything."""
    assert expected == decode_query(request_text.encode())


def test_deletes_that_are_understood() -> None:
    """A delete takes a key, the last one given."""
    assert DeleteRequest("a") == decode_delete(b'{"key":"a"}')
    assert DeleteRequest("a") == decode_delete(b'{"key":null,"key":"a"}')


READ, QUERY, DELETE = '{"key":"a"', "{", '{"key":"a"'
CALLS: dict[str, Callable[[bytes], object]] = {
    "read": decode_read,
    "write": decode_write,
    "query": decode_query,
    "delete": decode_delete,
}


def _write_with(**members: Any) -> str:
    return json.dumps({"key": "a", "value": "eA==", "category": "CACHE"} | members)


def _access_with(**members: Any) -> str:
    policy = {"readScope": "ALL_GENES", "writeScope": "ALL_GENES", "sharePolicy": "PRIVATE"} | members
    return _write_with(accessPolicy={name: value for name, value in policy.items() if value is not ...})


def _retention_with(**members: Any) -> str:
    policy = {"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False} | members
    return _write_with(retentionPolicy={name: value for name, value in policy.items() if value is not ...})


@pytest.mark.parametrize(
    ("call", "request_text", "named"),
    [
        ("read", "{}", "key is required"),
        ("read", '{"key":null}', "key must be a string, not null"),
        ("read", '{"key":1}', "key must be a string, not a number"),
        ("read", '{"key":["a"]}', "key must be a string, not an array"),
        ("read", '{"key":""}', "key must not be empty"),
        ("read", '{"key":"a\\u0000b"}', "key must not contain a NUL"),
        ("read", json.dumps({"key": LONGEST_KEY + "k"}), "at most 1024 bytes in UTF-8, not 1025"),
        ("read", json.dumps({"key": "é" * 513}, ensure_ascii=False), "at most 1024 bytes in UTF-8, not 1026"),
        ("read", '{"key":"a","key":1}', "key must be a string, not a number"),
        (
            "read",
            '{"key":"a","category":"cache"}',
            'category must be one of PREFERENCE, PATTERN, CONTEXT, CACHE, not "ca',
        ),
        ("read", '{"key":"a","category":["CACHE"]}', "category must be one of"),
        ("read", '{"key":"a","categry":"CACHE"}', 'undefined field "categry": readMemory takes key, category'),
        ("read", "null", "the request must be an object, not null"),
        ("read", '"a"', "the request must be an object, not a string"),
        ("read", '[{"key":"a"}]', "the request must be an object, not an array"),
        ("write", '{"value":"eA==","category":"CACHE"}', "key is required"),
        ("write", '{"key":"a","category":"CACHE"}', "value is required"),
        ("write", '{"key":"a","value":"eA=="}', "category is required"),
        ("write", _write_with(category=None), "category must be one of"),
        ("write", _write_with(category="PREFERENCES"), "category must be one of"),
        ("write", _write_with(value=None), "value must be a string in base64, not null"),
        ("write", _write_with(value=[120]), "value must be a string in base64, not an array"),
        ("write", _write_with(key=""), "key must not be empty"),
        ("write", _write_with(acessPolicy={}), 'undefined field "acessPolicy": writeMemory takes key, value, category'),
        (
            "write",
            _write_with(accessPolicy="PRIVATE"),
            "accessPolicy must be an object with exactly readScope, writeScope",
        ),
        ("write", _access_with(sharePolicy=...), "accessPolicy must be an object with exactly"),
        ("write", _access_with(extra=1), "accessPolicy must be an object with exactly"),
        ("write", _access_with(readScope="EVERYONE"), "accessPolicy.readScope must be one of CREATOR_GENE_ONLY"),
        ("write", _access_with(writeScope=None), "accessPolicy.writeScope must be one of"),
        ("write", _access_with(sharePolicy="PUBLIC"), "accessPolicy.sharePolicy must be one of PRIVATE"),
        ("write", _write_with(retentionPolicy=30), "retentionPolicy must be an object with exactly maxRetentionDays"),
        ("write", _retention_with(anonymizationSupported=...), "retentionPolicy must be an object with exactly"),
        ("write", _retention_with(extra=1), "retentionPolicy must be an object with exactly"),
        ("write", _retention_with(maxRetentionDays=0), "from 1 to 2147483647, not 0"),
        ("write", _retention_with(maxRetentionDays=-1), "from 1 to 2147483647, not -1"),
        ("write", _retention_with(maxRetentionDays=2147483648), "from 1 to 2147483647, not 2147483648"),
        ("write", _retention_with(maxRetentionDays=10**30), "from 1 to 2147483647, not a number"),
        ("write", _retention_with(maxRetentionDays=1.0), "from 1 to 2147483647, not 1.0"),
        ("write", _retention_with(maxRetentionDays=True), "from 1 to 2147483647, not true"),
        ("write", _retention_with(maxRetentionDays="30"), 'from 1 to 2147483647, not "30"'),
        (
            "write",
            _retention_with(autoDeleteOnTermination=0),
            "retentionPolicy.autoDeleteOnTermination must be true or false",
        ),
        ("write", _retention_with(anonymizationSupported=None), "anonymizationSupported must be true or false"),
        ("query", '{"filtre":{}}', 'undefined field "filtre": queryMemory takes category, keyPrefix'),
        ("query", '{"filter":{"prefix":"a"}}', 'undefined field "prefix": filter takes category, keyPrefix'),
        ("query", '{"filter":{"filter":{}}}', 'undefined field "filter"'),
        ("query", '{"filter":{},"limit":5}', "must not be given together"),
        ("query", '{"filter":5}', "filter must be an object, not a number"),
        ("query", "[]", "the request must be an object, not an array"),
        ("query", " ", "must be one JSON document"),
        ("query", '{"category":"ALL"}', "category must be one of"),
        ("query", '{"keyPrefix":1}', "keyPrefix must be a string, not a number"),
        ("query", '{"since":"yesterday"}', "since must be a date and time of RFC 3339"),
        ("query", '{"since":1700000000}', "since must be a string, not a number"),
        ("query", '{"until":"2026-02-30T00:00:00Z"}', "until must be a date and time of RFC 3339"),
        ("query", '{"limit":0}', "limit must be a whole number from 1 to 1000, not 0"),
        ("query", '{"limit":1001}', "limit must be a whole number from 1 to 1000, not 1001"),
        ("query", '{"limit":1.0}', "limit must be a whole number from 1 to 1000, not 1.0"),
        ("query", '{"limit":1e2}', "limit must be a whole number"),
        ("query", '{"limit":"5"}', "limit must be a whole number"),
        ("query", '{"limit":true}', "limit must be a whole number from 1 to 1000, not true"),
        ("delete", "{}", "key is required"),
        ("delete", '{"key":"a","category":"CACHE"}', 'undefined field "category": deleteMemory takes key'),
        ("delete", "null", "the request must be an object"),
    ],
)
def test_refusals_name_the_field_and_the_rule(call: str, request_text: str, named: str) -> None:
    """A guest's author can tell from the message what to change."""
    with pytest.raises(InvalidInputError) as caught:
        CALLS[call](request_text.encode())
    assert named in caught.value.message


@pytest.mark.parametrize("call", list(CALLS))
@pytest.mark.parametrize(
    "damage",
    [
        b"\xef\xbb\xbf%b",
        b"%b x",
        b"%b%b",
        b"%b\0",
        b"[%b",
        b"\xff%b",
    ],
)
def test_anything_around_the_document_is_refused(call: str, damage: bytes) -> None:
    """A byte order mark, a second document or any other byte beside the one document is refused."""
    good = {"read": READ + "}", "write": WRITE + "}", "query": "{}", "delete": DELETE + "}"}[call].encode()
    CALLS[call](good)
    with pytest.raises(InvalidInputError):
        CALLS[call](damage.replace(b"%b", good))


@pytest.mark.parametrize(
    "value",
    [
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e400",
        b"01",
        b"+1",
        b'"\\ud800"',
        b'"\\udc00a"',
        b'"\xed\xa0\x80"',
        b'"\xc0\xaf"',
        b'"\xff"',
        b'"a\nb"',
        b"'a'",
        b"undefined",
        b"[1,]",
        b"/* */1",
        b"9" * 5000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("call", list(CALLS))
@pytest.mark.parametrize("name", ["key", "category", "nothing"])
def test_what_is_not_strict_json_is_refused(call: str, name: str, value: bytes) -> None:
    """NaN, lone surrogates, bad UTF-8 and any depth are refusals, wherever they stand."""
    with pytest.raises(InvalidInputError):
        CALLS[call](b'{"%b":%b,"key":"a"}' % (name.encode(), value))


def test_a_request_may_not_exceed_two_mebibytes() -> None:
    """The size of a request counts, whatever is in it."""
    padding = b" " * (contract.MAX_REQUEST_BYTES - len(b'{"key":"a"}'))
    assert decode_read(b'{"key":"a"}' + padding) == ReadRequest("a")
    for decode in (decode_read, decode_delete, decode_query, decode_write):
        with pytest.raises(InvalidInputError, match="2097152"):
            decode(b'{"key":"a"} ' + padding)


@pytest.mark.parametrize(
    "text",
    [
        "Zh==",
        "Zm9=",
        "Zg",
        "Zg=",
        "Zg===",
        "Z===",
        "====",
        "=",
        "Zm9v====",
        "Zg==Zg==",
        "Zm9v Zm9v",
        "Zm9v\n",
        " Zm9v",
        "Zm-_",
        "Zm9v\0",
        "Zmé=",
        "😀",
    ],
)
def test_only_canonical_base64_is_a_value(text: str) -> None:
    """Foreign characters, other alphabets, missing padding and stray bits are refused."""
    with pytest.raises(InvalidInputError, match="canonical standard base64"):
        decode_write(_write_with(value=text).encode())


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 255, contract.MAX_VALUE_BYTES - 1, contract.MAX_VALUE_BYTES])
def test_values_up_to_one_mebibyte_come_through_whole(length: int) -> None:
    """A value of any length up to the limit is decoded to the same bytes."""
    value = bytes(range(256)) * (length // 256) + bytes(range(length % 256))
    text = base64.b64encode(value).decode()
    assert value == decode_write(_write_with(value=text).encode()).value


def test_larger_values_are_refused_both_ways() -> None:
    """One byte more than a mebibyte is refused, in JSON and from Python."""
    value = bytes(contract.MAX_VALUE_BYTES + 1)
    with pytest.raises(InvalidInputError, match="at most 1048576 bytes"):
        decode_write(_write_with(value=base64.b64encode(value).decode()).encode())
    with pytest.raises(InvalidInputError, match="at most 1048576 bytes, not 1048577"):
        write_request("a", value, "CACHE")


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: read_request("\ud800"), "key must not contain lone surrogates"),
        (lambda: read_request(b"a"), "key must be a string, not bytes"),
        (lambda: read_request("a", "NONE"), "category must be one of"),
        (lambda: write_request("a", "text", "CACHE"), "value must be bytes, not a string"),
        (lambda: write_request("", b"", "CACHE"), "key must not be empty"),
        (lambda: write_request("a", b"", "CACHE", "PRIVATE"), "accessPolicy must be an object"),
        (
            lambda: write_request("a", b"", "CACHE", AccessPolicy("ME", "ALL_GENES", "PRIVATE")),  # type: ignore[arg-type]
            "accessPolicy.readScope must be one of",
        ),
        (
            lambda: write_request("a", b"", "CACHE", None, RetentionPolicy(0, False, False)),  # noqa: FBT003
            "maxRetentionDays, unless null, must be a whole number",
        ),
        (lambda: query_request(key_prefix="\udfff"), "keyPrefix must not contain lone surrogates"),
        (lambda: query_request(limit=True), "limit must be a whole number"),
        (lambda: delete_request(None), "key must be a string, not null"),
    ],
)
def test_python_callers_meet_the_same_rules(build: Callable[[], object], named: str) -> None:
    """Arguments from Python go through the checks that JSON goes through."""
    with pytest.raises(InvalidInputError) as caught:
        build()
    assert named in caught.value.message


def test_python_callers_get_what_json_gets() -> None:
    """The two ways in give equal requests."""
    decoded = decode_write((WRITE + f',"accessPolicy":{ACCESS},"retentionPolicy":{RETENTION}}}').encode())
    access, retention = json.loads(ACCESS), json.loads(RETENTION)
    assert decoded == write_request("a", bytearray(b"x"), "CACHE", access, retention)
    assert decoded == write_request("a", b"x", "CACHE", AccessPolicy(**access), RetentionPolicy(**retention))


def test_messages_stay_short_whatever_was_sent() -> None:
    """What a guest sent is quoted shortened and in ASCII."""
    with pytest.raises(InvalidInputError) as caught:
        decode_read(json.dumps({"\x1b[2J" + "x" * 100_000: 1}).encode())
    assert len(caught.value.message) < 200
    assert caught.value.message.isascii()
    assert "\x1b" not in caught.value.message
