"""WASI: what its functions answer, in direct mode too, and what a program's output is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rotifer_host.conformance.vectors.entries import OWNER
from rotifer_host.conformance.vectors.of_modules import MEMORY, SIGNATURE
from rotifer_host.conformance.vectors.steps import ABI, Vector, run_module

__all__ = ["vectors"]

_NEEDS: Final = ["modules", "wasi"]
_SECTION: Final = "WASI"
_SHAPES: Final = {
    "args_sizes_get": "i32 i32",
    "clock_time_get": "i32 i64 i32",
    "environ_sizes_get": "i32 i32",
    "fd_fdstat_get": "i32 i32",
    "fd_prestat_get": "i32 i32",
    "fd_read": "i32 i32 i32 i32",
    "fd_seek": "i32 i64 i32 i32",
    "fd_tell": "i32 i32",
    "fd_write": "i32 i32 i32 i32",
    "path_open": "i32 i32 i32 i32 i32 i64 i64 i32 i32",
    "path_unlink_file": "i32 i32 i32",
    "poll_oneoff": "i32 i32 i32 i32",
    "proc_raise": "i32",
    "random_get": "i32 i32",
    "sched_yield": "",
    "sock_send": "i32 i32 i32 i32 i32",
}
"""Parameters of the functions used here; all give an errno."""


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _answers()
    yield from _programs()
    yield from _time()


def _imports(*names: str) -> str:
    return "".join(
        f'(import "wasi_snapshot_preview1" "{name}" (func ${name} (param {_SHAPES[name]}) (result i32)))'
        for name in names
    )


def _holds(title: str, condition: str, *names: str) -> Vector:
    """Return a vector whose gene, in direct mode, answers whether a condition holds."""
    wat = (
        f'(module {_imports(*names)} {MEMORY} (data (i32.const 64) "true") (data (i32.const 96) "false")'
        f" {SIGNATURE} (select (i32.const 64) (i32.const 96) {condition})))"
    )
    return Vector(title, ABI(_SECTION), [run_module(OWNER, wat, None, {"status": "ok", "output": True})], needs=_NEEDS)


def _call(name: str, *arguments: int) -> str:
    """Return a call in WebAssembly text."""
    values = zip(_SHAPES[name].split(), arguments, strict=True)
    return f"(call ${name} {' '.join(f'({kind}.const {value})' for kind, value in values)})"


def _gives(name: str, arguments: Sequence[int], errno: int) -> str:
    """Return the condition that a call gives this errno."""
    return f"(i32.eq {_call(name, *arguments)} (i32.const {errno}))"


def _answers() -> Iterator[Vector]:
    for what, function in (("arguments", "args_sizes_get"), ("environment", "environ_sizes_get")):
        yield _holds(
            f"there is no {what}: {function} gives none, of no bytes",
            f"(i32.and {_gives(function, (1024, 1028), 0)} (i64.eqz (i64.load (i32.const 1024))))",
            function,
        )
    yield _holds(
        "standard input is empty in direct mode",
        "(block (result i32)"
        " (i32.store (i32.const 1024) (i32.const 2048)) (i32.store (i32.const 1028) (i32.const 64))"
        " (i32.store (i32.const 1032) (i32.const 7))"
        f" (i32.and {_gives('fd_read', (0, 1024, 1, 1032), 0)}"
        " (i32.eqz (i32.load (i32.const 1032)))))",
        "fd_read",
    )
    yield _holds(
        "standard output is a log in direct mode, and no output",
        "(block (result i32)"
        " (i32.store (i32.const 1024) (i32.const 96)) (i32.store (i32.const 1028) (i32.const 5))"
        f" (i32.and {_gives('fd_write', (1, 1024, 1, 1032), 0)}"
        " (i32.eq (i32.load (i32.const 1032)) (i32.const 5))))",
        "fd_write",
    )
    yield _holds(
        "the three standard streams are character devices",
        "(block (result i32)"
        + "".join(f" (drop {_call('fd_fdstat_get', fd, 1024 + 24 * fd)})" for fd in range(3))
        + " (i32.and (i32.eq (i32.load8_u (i32.const 1024)) (i32.const 2))"
        " (i32.and (i32.eq (i32.load8_u (i32.const 1048)) (i32.const 2))"
        " (i32.eq (i32.load8_u (i32.const 1072)) (i32.const 2)))))",
        "fd_fdstat_get",
    )
    for what, name, arguments, errno in (
        ("a standard stream cannot be sought in", "fd_seek", (0, 0, 0, 1024), 70),
        ("a standard stream has no position", "fd_tell", (1, 1024), 70),
        ("there is no fourth stream to read", "fd_read", (3, 1024, 0, 1032), 8),
        ("there is no fourth stream to write", "fd_write", (3, 1024, 0, 1032), 8),
        ("there is no folder that was opened before", "fd_prestat_get", (3, 1024), 8),
        ("no file can be opened", "path_open", (3, 0, 64, 4, 0, 0, 0, 0, 1024), 8),
        ("no file can be removed", "path_unlink_file", (3, 64, 4), 8),
        ("nothing can be sent", "sock_send", (3, 1024, 0, 0, 1032), 8),
        ("no signal can be raised", "proc_raise", (9,), 52),
        ("a gene may yield", "sched_yield", (), 0),
    ):
        yield _holds(f"{what}: {name} gives {errno}", _gives(name, arguments, errno), name)
    yield _holds(
        "random_get gives other bytes each time",
        "(block (result i32)"
        f" (drop {_call('random_get', 1024, 16)}) (drop {_call('random_get', 1040, 16)})"
        " (i32.and (i64.ne (i64.load (i32.const 1024)) (i64.load (i32.const 1040)))"
        " (i64.ne (i64.load (i32.const 1032)) (i64.load (i32.const 1048)))))",
        "random_get",
    )


def _programs() -> Iterator[Vector]:
    """Yield what a program prints, a text at 64 behind another at 32, and what that comes to."""
    table: tuple[tuple[str, tuple[str, ...], dict[str, object]], ...] = (
        ("what is printed in pieces is one output", ('{"a"', ":1}"), {"status": "ok", "output": {"a": 1}}),
        ("a program that prints nothing has failed", (), {"status": "failed", "code": "BAD_OUTPUT"}),
        ("a program that prints two documents has failed", ("1 ", "2"), {"status": "failed", "code": "BAD_OUTPUT"}),
        ("a line end behind the output is white space", ("7", "\n"), {"status": "ok", "output": 7}),
        (
            "a program may reject its input",
            ('{"__rotifer_error"', ':{"message":"no"}}'),
            {"status": "rejected", "code": "INVALID_INPUT", "message": "no"},
        ),
    )  # fmt: skip
    for title, pieces, ends in table:
        data, calls = "", ""
        for number, piece in enumerate(pieces):
            at = 64 + 64 * number
            escaped = "".join(f"\\{byte:02x}" for byte in piece.encode())
            data += f'(data (i32.const {at}) "{escaped}")'
            calls += (
                f" (i32.store (i32.const 1024) (i32.const {at})) (i32.store (i32.const 1028) (i32.const {len(piece)}))"
                f" (drop {_call('fd_write', 1, 1024, 1, 1032)})"
            )
        wat = f'(module {_imports("fd_write")} {MEMORY} {data} (func (export "_start"){calls}))'
        yield Vector(title, ABI("Input and output"), [run_module(OWNER, wat, None, ends)], needs=_NEEDS)
    ready = (
        f'(module {_imports("fd_write")} {MEMORY} (data (i32.const 64) "0")'
        ' (func (export "_initialize") (i32.store8 (i32.const 64) (i32.const 0x31)))'
        ' (func (export "_start")'
        " (i32.store (i32.const 1024) (i32.const 64)) (i32.store (i32.const 1028) (i32.const 1))"
        f" (drop {_call('fd_write', 1, 1024, 1, 1032)})))"
    )
    yield Vector(
        "_initialize is called before _start",
        ABI("Modules"),
        [run_module(OWNER, ready, None, {"status": "ok", "output": 1})],
        needs=_NEEDS,
    )


def _time() -> Iterator[Vector]:
    yield _holds(
        "the wall clock stands at the time of the run's start",
        "(block (result i32)"
        f" (drop {_call('clock_time_get', 0, 1, 1024)}) (drop {_call('clock_time_get', 0, 1, 1032)})"
        " (i32.and (i64.eq (i64.load (i32.const 1024)) (i64.const 1772366400250000000))"
        " (i64.eq (i64.load (i32.const 1024)) (i64.load (i32.const 1032)))))",
        "clock_time_get",
    )
    yield _holds(
        "the monotonic clock starts with the gene and does not go back",
        "(block (result i32)"
        f" (drop {_call('clock_time_get', 1, 1, 1024)}) (drop {_call('clock_time_get', 1, 1, 1032)})"
        " (i32.and (i64.lt_u (i64.load (i32.const 1024)) (i64.const 60000000000))"
        " (i64.le_u (i64.load (i32.const 1024)) (i64.load (i32.const 1032)))))",
        "clock_time_get",
    )
    subscribe = (
        " (i32.store offset=16 (i32.const 1024) (i32.const 1)) (i64.store offset=24 (i32.const 1024) (i64.const {ns}))"
    )
    poll = (1024, 2048, 1, 4096)
    yield _holds(
        "a gene may sleep",
        f"(block (result i32) {subscribe.format(ns=1_000_000)}"
        f" (i32.and {_gives('poll_oneoff', poll, 0)} (i32.eq (i32.load (i32.const 4096)) (i32.const 1))))",
        "poll_oneoff",
    )
    sleeps = (
        f"(module {_imports('poll_oneoff')} {MEMORY} {SIGNATURE}"
        f" {subscribe.format(ns=3_600_000_000_000)} (drop {_call('poll_oneoff', *poll)}) i32.const 0))"
    )
    yield Vector(
        "a sleep does not outlive the deadline",
        ABI(_SECTION),
        [run_module(OWNER, sleeps, None, {"status": "limit", "code": "DEADLINE_EXCEEDED"}, limits={"deadlineMs": 200})],
        needs=["deadline", *_NEEDS],
    )
