"""Requests as bytes, whatever they are: C answers the ordinary ones, and no request otherwise than the Python rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from tests.memory.twins import BUILT, DURABILITIES, Call, Made, Step, Twins, gene, paired, reading, writing

from rotifer_host import contract
from rotifer_host.memory import Durability

_READ: Final = b'{"key":"a/b","category":"CACHE"}'
_WRITE: Final = b'{"key":"a/b","value":"AQID","category":"CACHE"}'
_LONGEST: Final = "k" * contract.MAX_KEY_BYTES


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Twins]:
    """Give both memories, empty."""
    with paired(tmp_path) as twins:
        yield twins


def asked(twins: Twins, requests: Sequence[bytes]) -> list[Made]:
    """Make each request as a read, as a write, and as a read again."""
    steps: list[Step] = []
    for request in requests:
        steps += [Call(name, request) for name in ("readMemory", "writeMemory", "readMemory")]
    return twins.run((gene("a"), steps), durability="run")[0].calls


ORDINARY: dict[str, tuple[str, bytes]] = {
    "read": ("readMemory", b'{"key":"k"}'),
    "read with category": ("readMemory", b'{"key":"k","category":"CACHE"}'),
    "read, the other order": ("readMemory", b'{"category":"CACHE","key":"k"}'),
    "read with the spaces of json.dumps": ("readMemory", b'{"key": "k", "category": "CACHE"}'),
    "write": ("writeMemory", b'{"key":"k","value":"AQID","category":"CACHE"}'),
    "write of nothing": ("writeMemory", b'{"key":"k","value":"","category":"PATTERN"}'),
    "write of one byte": ("writeMemory", b'{"key":"k","value":"AA==","category":"CONTEXT"}'),
    "write of two bytes": ("writeMemory", b'{"key":"k","value":"//8=","category":"PREFERENCE"}'),
    "write of four bytes": ("writeMemory", b'{"key":"k","value":"+/+/+w==","category":"CACHE"}'),
    "write, another order": ("writeMemory", b'{"category":"CACHE","value":"AQID","key":"k"}'),
    "write with the spaces of json.dumps": ("writeMemory", b'{"key": "k", "value": "AQID", "category": "CACHE"}'),
}


@pytest.mark.skipif(not BUILT, reason="the extension rotifer_host.memory._ordinary is not built")
@DURABILITIES
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_requests_are_answered_by_the_shortcut(twins: Twins, name: str, durability: Durability) -> None:
    """Else nothing here would say anything about it."""
    call = Call(*ORDINARY[name])
    twins.run((gene("a"), [writing("k")]))
    before = twins.shortcuts
    (ran,) = twins.run((gene("a"), [call, call, call]), durability=durability)
    assert min(ran.results) > 0
    assert twins.shortcuts > before


KEYS: dict[str, bytes] = {
    "one byte": b"k",
    "a path": b"a/b",
    "what a path begins with": b"a/",
    "what begins with a path": b"a/b/c",
    "all that is printed": bytes(c for c in range(0x20, 0x7F) if c not in b'"\\'),
    "DEL": b"\x7f",
    "DEL within": b"a\x7fb",
    "a slash, escaped": b"a\\/b",
    "a quote, escaped": b'a\\"b',
    "a backslash, escaped": b"a\\\\b",
    "a backslash at the end": b"a\\",
    "an unknown escape": b"a\\xb",
    "short escapes": b"\\b\\f\\n\\r\\t",
    "a letter, escaped": b"\\u0061",
    "NUL, escaped": b"a\\u0000",
    "a control character, escaped": b"a\\u001fb",
    "a control character": b"a\x1fb",
    "a line end": b"a\nb",
    "a tab": b"a\tb",
    "NUL": b"a\0b",
    "two bytes": "é".encode(),
    "two bytes, escaped": b"\\u00e9",
    "three bytes": "☃".encode(),
    "four bytes": "\U0001f9ec".encode(),
    "four bytes, escaped": b"\\ud83e\\uddec",
    "a lone surrogate, escaped": b"\\ud800",
    "the last of ASCII and the first after": "\x7f\x80".encode(),
    "a byte order mark within": "\ufeff".encode(),
    "a byte that is no UTF-8": b"\xff",
    "a byte alone": b"a\x80",
    "a sequence that is too long": b"\xc0\xaf",
    "a surrogate in UTF-8": b"\xed\xa0\x80",
    "half of a character": b"\xc3",
    "nothing": b"",
    "longest": _LONGEST.encode(),
    "longest less one": _LONGEST[1:].encode(),
    "too long by one": _LONGEST.encode() + b"k",
    "too long in bytes alone": ("é" * 513).encode(),
    "longest in two bytes each": ("é" * 512).encode(),
    "longest, all escaped": b"\\u006b" * contract.MAX_KEY_BYTES,
    **{f"{length} bytes": b"n" * length for length in (31, 32, 33, 255, 256, 257)},
    "as long as a row's key takes": b"r" * 477,
    "one more": b"r" * 478,
    "the same in front and longer": b"r" * 479,
}


def test_keys(twins: Twins) -> None:
    """Each is written, read, changed, read; the index of keys and the audit log hold it as it is."""
    steps: list[Step] = []
    for key in [*KEYS.values(), *KEYS.values()]:
        steps += [
            Call("readMemory", b'{"key":"%b"}' % key),
            Call("writeMemory", b'{"key":"%b","value":"AQID","category":"CACHE"}' % key),
            Call("readMemory", b'{"category":"CACHE","key":"%b"}' % key),
        ]
    (ran,) = twins.run((gene("a"), steps), durability="call")
    results = dict(zip(KEYS, ran.results[1::3], strict=False))
    assert {name for name, result in results.items() if result < 0} == {
        "a backslash at the end",
        "an unknown escape",
        "NUL, escaped",
        "a control character",
        "a line end",
        "a tab",
        "NUL",
        "a lone surrogate, escaped",
        "a byte that is no UTF-8",
        "a byte alone",
        "a sequence that is too long",
        "a surrogate in UTF-8",
        "half of a character",
        "nothing",
        "too long by one",
        "too long in bytes alone",
    }
    assert twins.each(lambda twin: twin.problems()) == []


def test_keys_of_every_length(twins: Twins) -> None:
    """The entry id is a hash, which pads its text to whole blocks."""
    steps: list[Step] = []
    for length in (*range(1, 200), *range(1020, 1025)):
        steps += [writing("k" * length), reading("k" * length)]
    for twin in twins.twins:
        twin.watched = False
    (ran,) = twins.run((gene("a"), steps), durability="run")
    assert min(ran.results) > 0
    assert twins.took_shortcuts()
    assert twins.each(lambda twin: twin.problems()) == []


FORMS: dict[str, bytes] = {
    "nothing": b"",
    "a space": b" ",
    "null": b"null",
    "true": b"true",
    "a number": b"1",
    "a string": b'"key"',
    "an array": b'[{"key":"a/b"}]',
    "no members": b"{}",
    "no members, a space": b"{ }",
    "space everywhere": b' \t\r\n{ \t\r\n"key" \t\r\n: \t\r\n"a/b" \t\r\n, \t\r\n'
    b'"value" : "AQID" ,\n"category":"CACHE" } \n\t\r ',
    "a form feed": b'{\x0c"key":"a/b"}',
    "a vertical tab": b'{"key":\x0b"a/b"}',
    "a space that is not ASCII": b'{"key":\xc2\xa0"a/b"}',
    "a byte order mark": b"\xef\xbb\xbf" + _WRITE,
    "a NUL behind": _WRITE + b"\0",
    "a brace behind": _WRITE + b"}",
    "another behind": _WRITE + _WRITE,
    "a comma behind": _WRITE + b",",
    "a letter in front": b"x" + _WRITE,
    "UTF-16": _WRITE.decode().encode("utf-16"),
    "a comma at the end": b'{"key":"a/b","value":"AQID","category":"CACHE",}',
    "a comma at the begin": b'{,"key":"a/b","value":"AQID","category":"CACHE"}',
    "two commas": b'{"key":"a/b",,"value":"AQID","category":"CACHE"}',
    "no comma": b'{"key":"a/b" "value":"AQID","category":"CACHE"}',
    "no colon": b'{"key" "a/b","value":"AQID","category":"CACHE"}',
    "two colons": b'{"key"::"a/b","value":"AQID","category":"CACHE"}',
    "an equals sign": b'{"key"="a/b","value":"AQID","category":"CACHE"}',
    "single quotes": b"{'key':'a/b','value':'AQID','category':'CACHE'}",
    "names without quotes": b'{key:"a/b",value:"AQID",category:"CACHE"}',
    "a comment": b'{/**/"key":"a/b","value":"AQID","category":"CACHE"}',
    "an array's brackets": b'["key":"a/b","value":"AQID","category":"CACHE"]',
    "the wrong end": b'{"key":"a/b","value":"AQID","category":"CACHE"]',
    "a name in capitals": b'{"Key":"a/b","value":"AQID","category":"CACHE"}',
    "a name cut short": b'{"ke":"a/b","value":"AQID","category":"CACHE"}',
    "a name too long": b'{"keys":"a/b","value":"AQID","category":"CACHE"}',
    "a name with NUL": b'{"key\\u0000":"a/b","value":"AQID","category":"CACHE"}',
    "an empty name": b'{"":"a/b","key":"a/b","value":"AQID","category":"CACHE"}',
    "a name with an escape": b'{"\\u006bey":"a/b","value":"AQID","category":"CACHE"}',
    "a name beyond ASCII": '{"kéy":"a/b","value":"AQID","category":"CACHE"}'.encode(),
    "an unknown member": b'{"key":"a/b","value":"AQID","category":"CACHE","more":"x"}',
    "an unknown member in front": b'{"more":"x","key":"a/b","value":"AQID","category":"CACHE"}',
    "the value of a write in a read": b'{"key":"a/b","value":"AQID"}',
    "no key": b'{"value":"AQID","category":"CACHE"}',
    "no value": b'{"key":"a/b","category":"CACHE"}',
    "no category": b'{"key":"a/b","value":"AQID"}',
    "two keys": b'{"key":"a/b","key":"c","value":"AQID","category":"CACHE"}',
    "the same key twice": b'{"key":"c","value":"AQID","category":"CACHE","key":"c"}',
    "two values": b'{"key":"a/b","value":"AQID","value":"","category":"CACHE"}',
    "two values, the first no base64": b'{"key":"a/b","value":"*","value":"AQID","category":"CACHE"}',
    "two values, the last no base64": b'{"key":"a/b","value":"AQID","value":"*","category":"CACHE"}',
    "two categories": b'{"key":"a/b","value":"AQID","category":"CACHE","category":"PATTERN"}',
    "two categories, the first unknown": b'{"key":"a/b","category":"cache","value":"AQID","category":"CACHE"}',
    "two categories of a read": b'{"key":"a/b","category":"PATTERN","category":"CACHE"}',
    "two categories of a read, the last null": b'{"key":"a/b","category":"PATTERN","category":null}',
    "two keys of a read": b'{"key":"c","key":"a/b"}',
    "two keys of a read, the first null": b'{"key":null,"key":"a/b"}',
    "a key that is null": b'{"key":null,"value":"AQID","category":"CACHE"}',
    "a value that is null": b'{"key":"a/b","value":null,"category":"CACHE"}',
    "a category that is null": b'{"key":"a/b","value":"AQID","category":null}',
    "a read's category that is null": b'{"key":"a/b","category":null}',
    "policies that are null": b'{"key":"a/b","value":"AQID","category":"CACHE","accessPolicy":null,'
    b'"retentionPolicy":null}',
    "an access policy that is null": b'{"key":"a/b","value":"AQID","category":"CACHE","accessPolicy":null}',
    "a retention policy that is null": b'{"key":"a/b","value":"AQID","category":"CACHE","retentionPolicy":null}',
    "an access policy": b'{"key":"a/b","value":"AQID","category":"CACHE","accessPolicy":{"readScope":"ALL_GENES",'
    b'"writeScope":"ALL_GENES","sharePolicy":"PRIVATE"}}',
    "a retention policy": b'{"key":"a/b","value":"AQID","category":"CACHE","retentionPolicy":{"maxRetentionDays":1,'
    b'"autoDeleteOnTermination":false,"anonymizationSupported":false}}',
    "policies that are strings": b'{"key":"a/b","value":"AQID","category":"CACHE","accessPolicy":"PRIVATE"}',
    "a key that is a number": b'{"key":1,"value":"AQID","category":"CACHE"}',
    "a key that is an object": b'{"key":{"key":"a/b"},"value":"AQID","category":"CACHE"}',
    "a key that is an array": b'{"key":["a/b"],"value":"AQID","category":"CACHE"}',
    "a key that is true": b'{"key":true,"value":"AQID","category":"CACHE"}',
    "a value that is a number": b'{"key":"a/b","value":1,"category":"CACHE"}',
    "a value that is an array": b'{"key":"a/b","value":[1,2],"category":"CACHE"}',
    "a category that is a number": b'{"key":"a/b","value":"AQID","category":3}',
    "NaN": b'{"key":NaN,"value":"AQID","category":"CACHE"}',
    "a request in a request": b'{"key":"{\\"key\\":\\"a\\"}","value":"AQID","category":"CACHE"}',
    "what looks like its end, in a key": b'{"key":"a\\"}","value":"AQID","category":"CACHE"}',
    "braces in a key": b'{"key":"}{","value":"AQID","category":"CACHE"}',
    "commas and colons in a key": b'{"key":",\\"value\\":","value":"AQID","category":"CACHE"}',
    "nested deep": b'{"key":' + b"[" * 1200 + b"]" * 1200 + b"}",
    "nested deep without an end": b'{"key":' + b"[" * 1200,
}


def test_forms_of_json(twins: Twins) -> None:
    """As a read and as a write, before and after the entry is there."""
    calls = asked(twins, [*FORMS.values(), _WRITE, *FORMS.values()])
    assert {made.result for made in calls if made.result < 0} == {-10}
    assert twins.each(lambda twin: twin.problems()) == []


CATEGORIES = [
    "",
    "CACH",
    "CACHE ",
    " CACHE",
    "CACHED",
    "cache",
    "Cache",
    "PREFERENC",
    "PATTERN\\u0000",
    "CONTEXTS",
    "C",
]


def test_categories(twins: Twins) -> None:
    """Each to each other at a rewrite, asked for with each; those that are none are refused."""
    steps: list[Step] = []
    for first in contract.CATEGORIES:
        for second in contract.CATEGORIES:
            steps += [writing("k", category=first), writing("k", category=second)]
            steps += [reading("k", other) for other in contract.CATEGORIES]
    for wrong in CATEGORIES:
        steps += [
            Call("writeMemory", b'{"key":"k","value":"AQID","category":"%b"}' % wrong.encode()),
            Call("readMemory", b'{"key":"k","category":"%b"}' % wrong.encode()),
        ]
    (ran,) = twins.run((gene("a"), steps))
    assert ran.results[-2 * len(CATEGORIES) :] == [-10, -10] * len(CATEGORIES)
    assert -10 not in ran.results[: -2 * len(CATEGORIES)]
    assert ran.results.count(4) == 16 * 3


@pytest.mark.parametrize("whole", [_READ, _WRITE, b'{ "category" : "PATTERN", "key":"\\u00e9" }'])
def test_cut_off_at_every_byte(twins: Twins, whole: bytes) -> None:
    """Begins are refused, and what is behind them in memory is not looked at."""
    lengths = range(len(whole))
    steps: list[Step] = []
    for name in ("readMemory", "writeMemory"):
        steps += [Call(name, whole[:length]) for length in lengths]
        half = 65_536
        steps += [Call(name, whole, numbers=(0, length, half, half)) for length in lengths]
        steps += [Call(name, whole, numbers=(length, len(whole) - length, half, half)) for length in lengths[1:]]
    (ran,) = twins.run((gene("a"), [writing("a/b"), *steps]), durability="run")
    assert set(ran.results[1:]) <= {-10, ran.results[0]}


@pytest.mark.parametrize("whole", [_READ, _WRITE])
def test_every_byte_changed(twins: Twins, whole: bytes) -> None:
    """One byte put in, taken out, or another in its place, everywhere."""
    requests = []
    for at in range(len(whole)):
        requests.append(whole[:at] + whole[at + 1 :])
        for byte in (b"\0", b"\t", b" ", b'"', b",", b"/", b":", b"\\", b"}", b"a", b"=", b"\x7f", b"\x80", b"\xc3"):
            requests += [whole[:at] + byte + whole[at:], whole[:at] + byte + whole[at + 1 :]]
    asked(twins, requests)


def test_a_guest_that_writes_spaces(twins: Twins) -> None:
    """Whatever whitespace stands wherever JSON allows it, each combination of two places."""
    pieces = [
        b"{",
        b'"key"',
        b":",
        b'"k"',
        b",",
        b'"value"',
        b":",
        b'"AQID"',
        b",",
        b'"category"',
        b":",
        b'"CACHE"',
        b"}",
    ]
    steps: list[Step] = []
    for first in range(len(pieces) + 1):
        for second in range(len(pieces) + 1):
            spaced = list(pieces)
            spaced.insert(second, b"\n")
            spaced.insert(first, b" \t\r\n")
            steps.append(Call("writeMemory", b"".join(spaced)))
    (ran,) = twins.run((gene("a"), steps), durability="run")
    assert min(ran.results) > 0
