"""Pointers: unsigned, checked against memory as it is, and nothing is touched outside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host.conformance.vectors.entries import NOW, OWNER, entry, line
from rotifer_host.conformance.vectors.steps import (
    ABI,
    OUT_PTR,
    PAGE,
    Json,
    Vector,
    call,
    delete,
    failure,
    missing,
    query,
    read,
    run,
    short,
    write,
)

_CITES: Final = ABI("Pointers")
_SIZE: Final = 64 << 20
_TOP: Final = (1 << 32) - 1
_E: Final = entry("k", "x")
_REQUEST: Final = '{"key":"k"}'


def _silent() -> Json:
    """-10 with `out` outside memory: nowhere to put a payload."""
    return failure(-10, "MEMORY_INVALID_INPUT", None)


def _told() -> Json:
    """-10 with `out` inside memory."""
    return failure(-10, "MEMORY_INVALID_INPUT", {"holds": []})


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _requests()
    yield from _windows()
    yield from _inside()
    yield from _growth()


def _requests() -> Iterator[Vector]:
    table = (
        ("one byte beyond the end", _SIZE - len(_REQUEST) + 1, len(_REQUEST)),
        ("entirely beyond the end", _SIZE, len(_REQUEST)),
        ("far beyond the end", 0x7FFF_FFF0, 16),
        ("at an address that is negative as a signed number", 0xFFFF_FFF0, 16),
        ("whose end wraps around", 0xFFFF_FFF0, 32),
        ("whose length is negative as a signed number", OUT_PTR, _TOP),
        ("of 2 GiB", 0, 0x8000_0000),
        ("longer than memory", 0, _SIZE + 1),
        ("of no bytes beyond the end", _SIZE + 1, 0),
        ("of no bytes at the last address", _TOP, 0),
    )
    for function in ("readMemory", "writeMemory", "queryMemory", "deleteMemory"):
        for what, at, length in table if function == "readMemory" else table[:4]:
            yield Vector(
                f"{function}: a request {what} is refused",
                _CITES,
                [run(OWNER, call(function, "", at=at, length=length, fails=_told()))],
                [_E],
            )
    yield Vector(
        "a query's request of no bytes is checked too",
        _CITES,
        [run(OWNER, call("queryMemory", "", at=_SIZE + 1, length=0, fails=_told()))],
        [_E],
    )


def _windows() -> Iterator[Vector]:
    table = (
        ("one byte beyond the end", _SIZE - 100, 101),
        ("entirely beyond the end", _SIZE, 100),
        ("at an address that is negative as a signed number", 0xFFFF_FFF0, 16),
        ("whose end wraps around", 0xFFFF_FF00, 4096),
        ("whose size is negative as a signed number", _SIZE - 100, _TOP),
        ("of no bytes beyond the end", _SIZE + 1, 0),
        ("of no bytes at the last address", _TOP, 0),
    )
    for what, out, cap in table:
        yield Vector(
            f"out {what} is refused, and nothing is written",
            _CITES,
            [run(OWNER, read("k", out=out, cap=cap, fails=_silent()))],
            [_E],
        )
    new = entry("new", "y")
    yield Vector(
        "a write with out beyond the end writes nothing",
        _CITES,
        [run(OWNER, write(new, out=_SIZE - 100, cap=4096, fails=_silent()), read("new"))],
        [_E],
    )
    yield Vector(
        "a deletion with out beyond the end deletes nothing",
        _CITES,
        [run(OWNER, delete("k", out=_SIZE - 2, cap=4, fails=_silent()), read("k", _E))],
        [_E],
    )
    yield Vector(
        "a deletion with out of no bytes beyond the end deletes nothing",
        _CITES,
        [run(OWNER, delete("k", out=_SIZE + 1, cap=0, fails=_silent()))],
        [_E],
    )
    yield Vector(
        "a query with out beyond the end is refused",
        _CITES,
        [run(OWNER, query({}, out=_SIZE - 4, cap=5, fails=_silent()))],
        [_E],
    )


def _inside() -> Iterator[Vector]:
    end = _SIZE - len(_REQUEST)
    yield Vector("a request may end where memory ends", _CITES, [run(OWNER, read("k", _E, at=end))], [_E])
    yield Vector("a request may lie at address 0", _CITES, [run(OWNER, read("k", _E, at=0))], [_E])
    yield Vector("out may lie at address 0", _CITES, [run(OWNER, read("k", _E, out=0))], [_E])
    yield Vector("out may end where memory ends", _CITES, [run(OWNER, read("k", _E, out=_SIZE - 4096))], [_E])
    yield Vector(
        "a request of no bytes may lie at the end of memory",
        _CITES,
        [run(OWNER, call("queryMemory", "", at=_SIZE, gives=[_E]))],
        [_E],
    )
    yield Vector(
        "out of no bytes may lie at the end of memory",
        _CITES,
        [
            run(
                OWNER,
                read("k", out=_SIZE, cap=0, fails=failure(-1, "MEMORY_BUFFER_TOO_SMALL", None)),
                delete("k", out=_SIZE, cap=0, gives=""),
                delete("k", out=_SIZE, cap=0, fails=failure(-12, "MEMORY_NOT_FOUND", None)),
            )
        ],
        [_E],
        after=[],
        audit=[line("delete", _E, OWNER)],
    )
    yield Vector(
        "out may lie over the request, which is read first",
        _CITES,
        [run(OWNER, read("k", _E, at=OUT_PTR), read("none", at=OUT_PTR, cap=64))],
        [_E],
    )
    yield Vector(
        "an error payload may lie over the request",
        _CITES,
        [
            run(
                OWNER,
                delete("none", at=OUT_PTR, fails=missing()),
                read("k", at=OUT_PTR, cap=200, fails=short(_E, 200)),
            )
        ],
        [_E],
    )
    yield Vector(
        "out may be larger than anything to put there",
        _CITES,
        [run(OWNER, read("k", _E, cap=0x80_0000))],
        [_E],
    )
    made = entry("k", "x", at=NOW)
    yield Vector(
        "requests and windows need no alignment",
        _CITES,
        [run(OWNER, write(made, at=0x1_0001, out=OUT_PTR + 3), read("k", made, at=0x1_0003, out=OUT_PTR + 1))],
        after=[made],
        audit=[line("create", made, OWNER)],
    )


def _growth() -> Iterator[Vector]:
    yield Vector(
        "what lay beyond memory lies inside once it has grown",
        _CITES,
        [
            run(
                OWNER,
                read("k", out=_SIZE, cap=4096, fails=_silent()),
                read("k", _E, out=_SIZE, grow=1),
                read("k", out=_SIZE + PAGE, cap=4096, fails=_silent()),
                read("k", _E, at=_SIZE + PAGE + 1, out=_SIZE + PAGE + 100, grow=3),
                read("k", _E, out=_SIZE - 2000),
            )
        ],
        [_E],
    )
    yield Vector(
        "after growth requests and windows may end at the new end",
        _CITES,
        [run(OWNER, read("k", _E, at=_SIZE + 2 * PAGE - len(_REQUEST), grow=2), read("k", _E, out=_SIZE + PAGE))],
        [_E],
    )
