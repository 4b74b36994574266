"""Filters of a query: their form, and what each field matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rotifer_host.conformance.vectors.entries import OWNER, Entry, compact, entry
from rotifer_host.conformance.vectors.steps import ABI, API, Json, Vector, bad, call, query, run

_CITES: Final = ABI("Requests")
_A: Final = entry("a/1", "1", "PATTERN", at="2026-02-27T10:00:00.000Z")
_B: Final = entry("b/1", "2", "CACHE", at="2026-02-28T10:00:00.500Z")
_C: Final = entry("a/2", "3", "CACHE", at="2026-03-01T10:00:00.000Z")
_STATE: Final = (_A, _B, _C)
_ALL: Final = (_C, _B, _A)


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _forms()
    yield from _refused()
    yield from _times()
    yield from _matches()


def _forms() -> Iterator[Vector]:
    table: tuple[tuple[str, str], ...] = (
        ("no bytes at all", ""),
        ("an empty object", "{}"),
        ("null", "null"),
        ("a filter of null", '{"filter":null}'),
        ("an empty filter", '{"filter":{}}'),
        ("every field null", '{"category":null,"keyPrefix":null,"since":null,"until":null,"limit":null}'),
        ("every field of a filter null", '{"filter":{"category":null,"keyPrefix":null,"since":null,"limit":null}}'),
        ("an empty prefix", '{"keyPrefix":""}'),
    )
    for what, request in table:
        yield Vector(f"{what} matches everything", _CITES, [run(OWNER, query(request, _ALL))], _STATE)
    yield Vector(
        "a filter may be the request itself", _CITES, [run(OWNER, query({"category": "CACHE"}, [_C, _B]))], _STATE
    )
    yield Vector(
        "a filter may be the member `filter`",
        _CITES,
        [run(OWNER, query({"filter": {"category": "CACHE"}}, [_C, _B]))],
        _STATE,
    )
    yield Vector(
        "of two equal names in a filter the last counts",
        _CITES,
        [run(OWNER, query('{"limit":1,"limit":2}', [_C, _B]))],
        _STATE,
    )
    yield Vector(
        "null beside a filter is left out",
        _CITES,
        [run(OWNER, query('{"filter":{"limit":1},"category":null}', [_C]))],
        _STATE,
    )


def _refused() -> Iterator[Vector]:
    table: tuple[tuple[str, str, str], ...] = (
        ("a filter together with one of its fields", '{"filter":{},"limit":5}', "filter"),
        ("a filter that is an array", '{"filter":[]}', "filter"),
        ("a filter that is a string", '{"filter":"CACHE"}', "filter"),
        ("a filter within a filter", '{"filter":{"filter":{}}}', "filter"),
        ("an unknown field", '{"prefix":"a"}', "prefix"),
        ("an unknown field in a filter", '{"filter":{"prefix":"a"}}', "prefix"),
        ("an unknown field that is null", '{"key":null}', "key"),
        ("a limit of 0", '{"limit":0}', "limit"),
        ("a limit of -1", '{"limit":-1}', "limit"),
        ("a limit of 1,001", '{"limit":1001}', "limit"),
        ("a limit of 1.0", '{"limit":1.0}', "limit"),
        ("a limit of 1e2", '{"limit":1e2}', "limit"),
        ("a limit as text", '{"limit":"5"}', "limit"),
        ("a limit of true", '{"limit":true}', "limit"),
        ("a limit beyond any integer type", f'{{"limit":{"9" * 400}}}', "limit"),
        ("a limit that no number type holds", '{"limit":1e999}', ""),
        ("an unknown category", '{"category":"SECRET"}', "category"),
        ("a category in lower case", '{"category":"cache"}', "category"),
        ("a prefix that is a number", '{"keyPrefix":1}', "keyPrefix"),
        ("a prefix that is an array", '{"keyPrefix":["a"]}', "keyPrefix"),
    )
    for what, request, field in table:
        yield Vector(
            f"a query with {what} is refused",
            API("Errors"),
            [run(OWNER, call("queryMemory", request, fails=bad(*([field] if field else []))))],
            _STATE,
        )
    malformed = (
        ("a date alone", "2026-03-01"),
        ("no zone", "2026-03-01T10:00:00"),
        ("a space for T", "2026-03-01 10:00:00Z"),
        ("no seconds", "2026-03-01T10:00Z"),
        ("month 13", "2026-13-01T10:00:00Z"),
        ("month 0", "2026-00-01T10:00:00Z"),
        ("30 February", "2026-02-30T10:00:00Z"),
        ("29 February of 2026", "2026-02-29T10:00:00Z"),
        ("29 February of 1900", "1900-02-29T10:00:00Z"),
        ("hour 24", "2026-03-01T24:00:00Z"),
        ("minute 60", "2026-03-01T10:60:00Z"),
        ("second 61", "2026-03-01T10:00:61Z"),
        ("zone +24:00", "2026-03-01T10:00:00+24:00"),
        ("zone +0100", "2026-03-01T10:00:00+0100"),
        ("a comma before the fraction", "2026-03-01T10:00:00,5Z"),
        ("an empty fraction", "2026-03-01T10:00:00.Z"),
        ("a space in front", " 2026-03-01T10:00:00Z"),
        ("a line break at the end", "2026-03-01T10:00:00Z\n"),
        ("Arabic digits", "\u0662\u0660\u0662\u0666-03-01T10:00:00Z"),
        ("a two-digit year", "26-03-01T10:00:00Z"),
        ("a five-digit year", "12026-03-01T10:00:00Z"),
        ("nothing", ""),
    )
    for number, (what, text) in enumerate(malformed):
        field = ("since", "until")[number % 2]
        yield Vector(
            f"{field} with {what} is refused",
            _CITES,
            [run(OWNER, call("queryMemory", {field: text}, fails=bad(field)))],
            _STATE,
        )
    yield Vector(
        "since must be text",
        _CITES,
        [run(OWNER, call("queryMemory", {"since": 1772359200}, fails=bad("since")))],
        _STATE,
    )


def _times() -> Iterator[Vector]:
    """B was updated at 2026-02-28T10:00:00.500Z."""
    since = (
        ("inclusive", "2026-02-28T10:00:00.500Z", True),
        ("exact to the millisecond", "2026-02-28T10:00:00.501Z", False),
        ("exact beyond the millisecond", "2026-02-28T10:00:00.5000000000000000000000001Z", False),
        ("the same with zeros at its end", "2026-02-28T10:00:00.500000000000Z", True),
        ("read with one digit of a fraction", "2026-02-28T10:00:00.5Z", True),
        ("read with an offset ahead", "2026-02-28T12:00:00.5+02:00", True),
        ("read with an offset behind", "2026-02-28T04:30:00.5-05:30", True),
        ("read with an unknown local offset", "2026-02-28T10:00:00.500-00:00", True),
        ("read with t and z", "2026-02-28t10:00:00.500z", True),
        ("read with second 60, the next minute's first", "2026-02-28T09:59:60.500Z", True),
        ("read with an offset that crosses midnight", "2026-03-01T00:00:00.500+14:00", True),
        ("read in a leap year", "2024-02-29T00:00:00Z", True),
        ("read in the leap year 2000", "2000-02-29T00:00:00Z", True),
        ("read before 1970", "1969-12-31T23:59:59Z", True),
        ("read in the year 0", "0000-01-01T00:00:00Z", True),
        ("read in the year 9999", "9999-12-31T23:59:59.999Z", False),
    )
    for what, text, matches in since:
        yield Vector(f"since is {what}", _CITES, [run(OWNER, query({"since": text}, [_B] if matches else []))], [_B])
    until = (
        ("exclusive", "2026-02-28T10:00:00.500Z", False),
        ("exact to the millisecond", "2026-02-28T10:00:00.501Z", True),
        ("exact beyond the millisecond", "2026-02-28T10:00:00.50000000000001Z", True),
        ("exact beyond the millisecond, below", "2026-02-28T10:00:00.4999999Z", False),
        ("read with an offset", "2026-02-28T11:00:00.500+01:00", False),
    )
    for what, text, matches in until:
        yield Vector(f"until is {what}", _CITES, [run(OWNER, query({"until": text}, [_B] if matches else []))], [_B])
    yield Vector(
        "since and until together are a span",
        API("The four calls"),
        [run(OWNER, query({"since": "2026-02-28T00:00:00Z", "until": "2026-03-01T00:00:00Z"}, [_B]))],
        _STATE,
    )
    yield Vector(
        "a span that ends before it begins matches nothing",
        API("The four calls"),
        [run(OWNER, query({"since": "2026-03-01T00:00:00Z", "until": "2026-02-01T00:00:00Z"}))],
        _STATE,
    )
    rewritten = _A.but(updated="2026-03-01T11:00:00.000Z")
    yield Vector(
        "since and until are compared with updatedAt, not createdAt",
        API("The four calls"),
        [run(OWNER, query({"since": "2026-03-01T10:30:00Z"}, [rewritten]))],
        [_B, _C, rewritten],
    )


def _matches() -> Iterator[Vector]:
    cites = API("The four calls")
    percent, star, upper = entry("a%", "1"), entry("a*", "2"), entry("A/1", "3")
    state = (*_STATE, percent, star, upper)
    table: tuple[tuple[str, Json, Sequence[Entry]], ...] = (
        ("a prefix matches the keys that begin with it", {"keyPrefix": "a/"}, [_C, _A]),
        ("a whole key is a prefix of itself", {"keyPrefix": "a/1"}, [_A]),
        ("a percent sign is no pattern", {"keyPrefix": "a%"}, [percent]),
        ("an asterisk is no pattern", {"keyPrefix": "a*"}, [star]),
        ("a full stop is no pattern", {"keyPrefix": "a."}, []),
        ("a prefix is case-sensitive", {"keyPrefix": "A"}, [upper]),
        ("a prefix is no infix", {"keyPrefix": "/1"}, []),
        ("a prefix longer than any key matches nothing", {"keyPrefix": "a" * 1025}, []),
        ("a prefix with a NUL character matches nothing", {"keyPrefix": "a\0"}, []),
        ("all given fields must match", {"keyPrefix": "a/", "category": "CACHE"}, [_C]),
        ("fields that no entry has together match nothing", {"keyPrefix": "b/", "category": "PATTERN"}, []),
        ("limit 1 gives the newest", {"limit": 1}, [upper]),
        ("limit counts matches, not entries looked at", {"keyPrefix": "a/", "limit": 1}, [_C]),
        ("a limit above the number of matches gives all", {"keyPrefix": "a/", "limit": 1000}, [_C, _A]),
    )
    for title, request, found in table:
        yield Vector(title, cites, [run(OWNER, query(compact(request), found))], state)
    long = entry("p" * 600, "1"), entry("p" * 599 + "q", "2")
    yield Vector(
        "a prefix of more than 511 bytes is compared to its end",
        cites,
        [run(OWNER, query({"keyPrefix": "p" * 600}, [long[0]]), query({"keyPrefix": "p" * 599}, [long[1], long[0]]))],
        long,
    )
    accent, plain = entry("e\u0301", "1"), entry("e", "2")
    yield Vector(
        "a prefix is compared character by character, without Unicode normalisation",
        cites,
        [run(OWNER, query({"keyPrefix": "e"}, [plain, accent]), query({"keyPrefix": "\u00e9"}))],
        [accent, plain],
    )
