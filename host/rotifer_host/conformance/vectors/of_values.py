"""Values, categories: what a write must bring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host import contract
from rotifer_host.conformance.vectors.entries import NOW, OWNER, compact, entry, line
from rotifer_host.conformance.vectors.notation import times
from rotifer_host.conformance.vectors.steps import ABI, API, Vector, bad, call, read, run, write

_CITES: Final = ABI("Requests")
_THIRDS: Final = contract.MAX_VALUE_BYTES // 3  # a MiB is one byte more than a multiple of three


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _refused_values()
    yield from _stored_values()
    yield from _categories()


def _refused_values() -> Iterator[Vector]:
    table: tuple[tuple[str, str], ...] = (
        ("null", "null"),
        ("a number", "1"),
        ("an array of bytes", "[120]"),
        ("an object", "{}"),
        ("true", "true"),
        ("base64 without its padding", '"eA"'),
        ("base64 with half its padding", '"eA="'),
        ("base64 with too much padding", '"eA==="'),
        ("bits left over by padding of two", '"eB=="'),
        ("bits left over by padding of one", '"eHl="'),
        ("base64 that goes on after its padding", '"eA==eA=="'),
        ("padding alone", '"===="'),
        ("a single base64 digit", '"e"'),
        ("the alphabet for URLs", '"-_-_"'),
        ("a space before base64", '" eA=="'),
        ("a line break after base64", '"eA==\\n"'),
        ("a line break within base64", '"eHh4\\neHh4"'),
        ("characters outside the alphabet", '"eA*="'),
        ("non-ASCII characters", '"eAé="'),
        ("text that is no base64", '"hello, world"'),
    )
    for what, value in table:
        request = f'{{"key":"k","value":{value},"category":"CACHE"}}'
        yield Vector(
            f"a value that is {what} is refused", _CITES, [run(OWNER, call("writeMemory", request, fails=bad("value")))]
        )
    yield Vector(
        "a write without value is refused",
        _CITES,
        [run(OWNER, call("writeMemory", {"key": "k", "category": "CACHE"}, fails=bad("value")))],
    )
    yield Vector(
        "a value of 1,048,577 bytes is refused",
        API("Size limits"),
        [
            run(
                OWNER,
                call(
                    "writeMemory",
                    ['{"key":"k","value":"', times(_THIRDS, "YWJj"), 'YWI=","category":"CACHE"}'],
                    fails=bad("value", "1048576"),
                ),
            )
        ],
    )


def _stored_values() -> Iterator[Vector]:
    table = (
        ("no bytes", ""),
        ("one byte", "x"),
        ("two bytes", "xy"),
        ("three bytes", "xyz"),
        ("bytes whose base64 has both odd digits", {"hex": "fbeffbeffbef"}),
        ("NUL bytes", {"hex": "000000"}),
        ("every byte there is", {"hex": bytes(range(256)).hex()}),
        ("text beyond ASCII", "grüße, \N{CJK UNIFIED IDEOGRAPH-4E2D}"),
        ("1,048,576 bytes", [times(_THIRDS, "abc"), "a"]),
    )
    for what, value in table:
        made = entry("k", value, at=NOW)
        yield Vector(
            f"a value of {what} is stored and given back as it is",
            API("Entries"),
            [run(OWNER, write(made, cap=0x20_0000), read("k", made, cap=0x20_0000))],
            after=[made],
            audit=[line("create", made, OWNER)],
        )


def _categories() -> Iterator[Vector]:
    cites = API("Memory categories")
    for category in contract.CATEGORIES:
        made = entry("k", "x", category, at=NOW)
        yield Vector(
            f"{category} is a category",
            cites,
            [run(OWNER, write(made), read("k", made, category=category))],
            after=[made],
            audit=[line("create", made, OWNER)],
        )
    table: tuple[tuple[str, object], ...] = (
        ("in lower case", "cache"),
        ("in mixed case", "Cache"),
        ("that is unknown", "SECRET"),
        ("that is empty", ""),
        ("with a space", "CACHE "),
        ("that is a number", 3),
        ("that is an array", ["CACHE"]),
    )
    for what, given in table:
        yield Vector(
            f"a write with a category {what} is refused",
            cites,
            [
                run(
                    OWNER,
                    call("writeMemory", {"key": "k", "value": "eA==", "category": given}, fails=bad("category")),
                )
            ],
        )
        yield Vector(
            f"a read with a category {what} is refused",
            cites,
            [run(OWNER, call("readMemory", {"key": "k", "category": given}, fails=bad("category")))],
            [entry("k")],
        )
    for what, request in (
        ("without category", {"key": "k", "value": "eA=="}),
        ("whose category is null", {"key": "k", "value": "eA==", "category": None}),
    ):
        yield Vector(
            f"a write {what} is refused",
            API("The four calls"),
            [run(OWNER, call("writeMemory", compact(request), fails=bad("category")))],
        )
