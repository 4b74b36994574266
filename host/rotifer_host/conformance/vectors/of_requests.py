"""What a request is: one JSON object in UTF-8 of at most 2 MiB, with the fields of its call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host.conformance.vectors.entries import NOW, OWNER, entry, line
from rotifer_host.conformance.vectors.notation import hexed, times
from rotifer_host.conformance.vectors.steps import ABI, Vector, bad, call, run

_VALID: Final = {
    "readMemory": '{"key":"k"}',
    "writeMemory": '{"key":"k","value":"eA==","category":"CACHE"}',
    "queryMemory": '{"keyPrefix":"k"}',
    "deleteMemory": '{"key":"k"}',
}
_KEY_FIELD: Final = {"queryMemory": "keyPrefix"}
_ENTRY: Final = entry("k", "x")
_MAX: Final = 2 * 1024 * 1024


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    for function, valid in _VALID.items():
        yield from _refused(function, valid)
    yield from _accepted()
    yield from _sizes()


def _refused(function: str, valid: str) -> Iterator[Vector]:
    field = _KEY_FIELD.get(function, "key")
    rest = valid.removeprefix(f'{{"{field}":"k"')
    table = (
        ("text that stops in the middle", valid[:-1]),
        ("text after the document", f"{valid}x"),
        ("two documents", valid + valid),
        ("a NUL byte after the document", f"{valid}\0"),
        ("an array", f"[{valid}]"),
        ("a string", '"k"'),
        ("a number", "1"),
        ("a byte order mark", f"\N{ZERO WIDTH NO-BREAK SPACE}{valid}"),
        ("UTF-16", hexed(valid.encode("utf-16-le"))),
        ("bytes that are not UTF-8", [f'{{"{field}":"k', {"hex": "ff"}, f'"{rest}']),
        ("an overlong NUL in UTF-8", [f'{{"{field}":"k', {"hex": "c080"}, f'"{rest}']),
        ("a surrogate in UTF-8", [f'{{"{field}":"k', {"hex": "eda080"}, f'"{rest}']),
        ("a lone surrogate as an escape", f'{{"{field}":"k\\ud800"{rest}'),
        ("NaN", f'{{"{field}":NaN{rest}'),
        ("Infinity", f'{{"{field}":-Infinity{rest}'),
        ("a line break in a string", f'{{"{field}":"k\n"{rest}'),
        ("a comma before the closing brace", f"{valid[:-1]},}}"),
        ("single quotes", valid.replace('"', "'")),
        ("a comment", f"/* k */{valid}"),
        ("nesting too deep", [f'{{"{field}":', times(100_000, "["), times(100_000, "]"), rest]),
        ("an object for a string", f'{{"{field}":{{}}{rest}'),
    )
    for what, request in table:
        yield _refusal(f"{function}: {what} is refused", function, request)
    yield Vector(
        f"{function}: a field that is not defined is refused by name",
        ABI("Requests"),
        [run(OWNER, call(function, f'{valid[:-1]},"acessPolicy":null}}', fails=bad("acessPolicy")))],
        [_ENTRY],
    )
    if function != "queryMemory":
        yield _refusal(f"{function}: no bytes are no request", function, "")
        yield _refusal(f"{function}: null is no request", function, "null")


def _refusal(title: str, function: str, request: object) -> Vector:
    return Vector(title, ABI("Requests"), [run(OWNER, call(function, request, fails=bad()))], [_ENTRY])


def _accepted() -> Iterator[Vector]:
    cites = ABI("Requests")
    table = (
        ("white space around and between tokens", '\t{ "key"\n:\r"k" } '),
        ("escapes in strings", '{"key":"\\u006b"}'),
        ("escapes in member names", '{"\\u006b\\u0065y":"k"}'),
        ("of two equal names the last, whatever the first is", '{"key":1,"key":"k"}'),
        ("null for an optional field, which is then left out", '{"key":"k","category":null}'),
    )
    for what, request in table:
        yield Vector(
            f"readMemory takes {what}", cites, [run(OWNER, call("readMemory", request, gives=_ENTRY))], [_ENTRY]
        )
    emoji = entry("\N{PARTY POPPER}")
    yield Vector(
        "two surrogates as escapes are one character",
        cites,
        [run(OWNER, call("readMemory", '{"key":"\\ud83c\\udf89"}', gives=emoji))],
        [emoji],
    )
    written = entry("k", "second", "CACHE", at=NOW)
    yield Vector(
        "of two equal names of a write the last counts",
        cites,
        [
            run(
                OWNER,
                call(
                    "writeMemory",
                    '{"key":"j","value":"eA==","category":"NONE","key":"k","value":"c2Vjb25k","category":"CACHE"}',
                    gives=written,
                ),
            )
        ],
        after=[written],
        audit=[line("create", written, OWNER)],
    )
    yield Vector(
        "a key of one call does not end in that of another: member names are case-sensitive",
        cites,
        [run(OWNER, call("readMemory", '{"key":"k","Category":"CACHE"}', fails=bad("Category")))],
        [_ENTRY],
    )


def _sizes() -> Iterator[Vector]:
    cites = ABI("Requests")
    for function, valid in _VALID.items():
        padding = _MAX - len(valid)
        yield Vector(
            f"{function}: one byte more than 2 MiB is refused",
            cites,
            [run(OWNER, call(function, [valid, times(padding + 1, " ")], fails=bad()))],
            [_ENTRY],
        )
    valid = _VALID["readMemory"]
    yield Vector(
        "a request may have 2 MiB to the byte",
        cites,
        [run(OWNER, call("readMemory", [valid, times(_MAX - len(valid), " ")], gives=_ENTRY))],
        [_ENTRY],
    )
