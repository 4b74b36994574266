"""Keys: 1 to 1,024 bytes of UTF-8 without NUL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from rotifer_host.conformance.vectors.entries import NOW, OWNER, compact, entry, line
from rotifer_host.conformance.vectors.steps import API, Json, Vector, bad, call, delete, query, read, run, write

_CITES: Final = API("Errors")
_TAIL: Final = {"value": "eA==", "category": "CACHE"}


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    requests: dict[str, Callable[[Any], Json]] = {
        "readMemory": lambda key: {"key": key},
        "writeMemory": lambda key: {"key": key, **_TAIL},
        "deleteMemory": lambda key: {"key": key},
    }
    for function, made in requests.items():
        table = (
            ("an empty key", ""),
            ("a key with a NUL character", "a\0b"),
            ("a key of 1,025 bytes", "k" * 1025),
            ("a key of 1,025 bytes in 513 characters", "k" + "é" * 512),
            ("a number as key", 1),
            ("null as key", None),
            ("true as key", True),
            ("an array as key", ["k"]),
        )
        for what, key in table:
            yield Vector(
                f"{function}: {what} is refused", _CITES, [run(OWNER, call(function, made(key), fails=bad("key")))]
            )
        without = {name: value for name, value in made("k").items() if name != "key"}
        yield Vector(
            f"{function}: a request without key is refused",
            _CITES,
            [run(OWNER, call(function, compact(without), fails=bad("key")))],
        )
    yield from _allowed()


def _allowed() -> Iterator[Vector]:
    table = (
        ("of 1,024 bytes", "k" * 1024),
        ("of 1,024 bytes in 512 characters", "é" * 512),
        ("of one byte", "k"),
        ("of white space", " \t"),
        ("with control characters, quotes and backslashes", '\x01\b\f\n\r"\\\x7f/'),
        ("with characters beyond the basic plane", "\N{PARTY POPPER}/\N{CJK UNIFIED IDEOGRAPH-4E2D}"),
        ("with line separators of Unicode", "a\N{LINE SEPARATOR}b\N{PARAGRAPH SEPARATOR}c"),
        ("that looks like a path", "../../etc/passwd"),
        ("that JavaScript objects have a meaning for", "__proto__"),
    )
    for what, key in table:
        made = entry(key, "x", at=NOW)
        yield Vector(
            f"a key {what} is written, read, found and deleted",
            _CITES,
            [run(OWNER, write(made), read(key, made), query({"keyPrefix": key}, [made]), delete(key), read(key))],
            after=[],
            audit=[line("create", made, OWNER), line("delete", made, OWNER)],
        )
    composed, decomposed = entry("\u00e9", "1", at=NOW), entry("e\u0301", "2", at=NOW)
    yield Vector(
        "keys are compared as they are, without Unicode normalisation",
        API("Entries"),
        [run(OWNER, write(composed), write(decomposed), read("\u00e9", composed), read("e\u0301", decomposed))],
        after=[composed, decomposed],
        audit=[line("create", composed, OWNER), line("create", decomposed, OWNER)],
    )
    upper, lower = entry("Key", "1"), entry("key", "2")
    yield Vector(
        "keys are case-sensitive",
        API("Entries"),
        [run(OWNER, read("Key", upper), read("key", lower), read("KEY"))],
        [upper, lower],
    )
