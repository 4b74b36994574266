"""Budgets: -4 without effect, and runs that end at their limits.

No exact cost of anything is demanded: limits are far below or far above what a call
costs by the ABI.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host.conformance.vectors.entries import NOW, OWNER, entry, line
from rotifer_host.conformance.vectors.notation import times
from rotifer_host.conformance.vectors.steps import (
    ABI,
    API,
    Json,
    Vector,
    call,
    delete,
    exhausted,
    query_keys,
    read,
    run,
    run_module,
    write,
)

_CITES: Final = ABI("Budgets")
_BASE: Final = 20_000
_E: Final = entry("k", "x")
_MIB: Final = 1 << 20
_LARGE_CAP: Final = 0x16_0000


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _fuel()
    yield from _host_time()
    yield from _deadline()


def _fuel() -> Iterator[Vector]:
    needs = ["fuel"]
    for made in (
        read("k", cap=64, fails=exhausted()),
        call("queryMemory", "", cap=64, fails=exhausted()),
        delete("k", cap=64, fails=exhausted()),
        call("writeMemory", '{"key":"n","value":"","category":"CACHE"}', cap=64, fails=exhausted()),
    ):
        yield Vector(
            f"{made['call']}: a gene that cannot pay the base of a call gets -4, out untouched, and goes on",
            _CITES,
            [run(OWNER, made, limits={"fuel": _BASE - 1})],
            [_E],
            needs=needs,
        )
    plenty = 12_000_000
    yield Vector(
        "a request that costs more than the fuel left is -4, takes nothing, and the gene goes on",
        _CITES,
        [
            run(
                OWNER,
                call("readMemory", "", length=2 * _MIB, cap=64, fails=exhausted()),
                read("k", _E, cap=600),
                limits={"fuel": plenty},
            )
        ],
        [_E],
        needs=needs,
    )
    yield Vector(
        "the charge for a request comes before its size is refused, with all of its bytes",
        ABI("Order of checks"),
        [run(OWNER, call("readMemory", "", length=8 * _MIB, cap=64, fails=exhausted()), limits={"fuel": plenty})],
        needs=needs,
    )
    large = entry("large", times(1_000_000, "x"))
    yield Vector(
        "a response that costs more than the fuel left is -4, and out stays untouched",
        _CITES,
        [run(OWNER, read("large", cap=_LARGE_CAP, fails=exhausted()), limits={"fuel": plenty})],
        [large],
        needs=needs,
    )
    yield Vector(
        "a query whose response costs more than the fuel left is -4",
        _CITES,
        [run(OWNER, call("queryMemory", "", cap=_LARGE_CAP, fails=exhausted()), limits={"fuel": plenty})],
        [large],
        needs=needs,
    )
    yield Vector(
        "a deletion that was -4 has not happened",
        _CITES,
        [
            run(OWNER, delete("k", cap=64, fails=exhausted()), limits={"fuel": _BASE - 1}),
            run(OWNER, delete("k")),
        ],
        [_E],
        after=[],
        audit=[line("delete", _E, OWNER)],
        needs=needs,
    )
    yield Vector(
        "calls that fail are charged too",
        _CITES,
        [run(OWNER, _costly(), limits={"fuel": 3_000_000})],
        needs=needs,
    )
    yield Vector(
        "calls that are refused for their pointers are charged too",
        _CITES,
        [
            run(
                OWNER,
                call("readMemory", "", at=0xFFFF_0000, length=8, cap=0, repeat=20, fails=exhausted()),
                limits={"fuel": 10 * _BASE + 15_000},
            )
        ],
        needs=needs,
    )
    yield Vector(
        "fuel is a limit of each gene's run: the next starts with all of it",
        _CITES,
        [
            run(OWNER, _costly(), limits={"fuel": 3_000_000}),
            run(OWNER, read("k", _E, cap=600), limits={"fuel": 3_000_000}),
        ],
        [_E],
        needs=needs,
    )
    kept = entry("kept", "x", at=NOW)
    yield Vector(
        "a gene that burns all its fuel is stopped, and what it wrote before stays",
        ABI("Isolation"),
        [
            run(
                OWNER,
                write(kept),
                limits={"fuel": 5_000_000},
                ends={"status": "limit", "code": "FUEL_EXHAUSTED"},
            )
        ],
        after=[kept],
        audit=[line("create", kept, OWNER)],
        needs=needs,
    )
    log = (
        '(module (import "rotifer" "log" (func $log (param i32 i32 i32))) (memory (export "memory") 1)'
        ' (func (export "express") (param i32 i32) (result i32)'
        " (loop $ever (call $log (i32.const 1) (i32.const 0) (i32.const 0)) (br $ever)) i32.const 0))"
    )
    yield Vector(
        "a host function that has no -4 to answer with ends the run when fuel is used up",
        ABI("Imports"),
        [run_module(OWNER, log, 0, {"status": "limit", "code": "FUEL_EXHAUSTED"}, limits={"fuel": 1_000_000})],
        needs=["fuel", "modules"],
    )


def _costly() -> Json:
    """Ask six times what costs 675,000 fuel and is refused: 64 KiB that are not JSON."""
    return call("readMemory", "", length=65_536, cap=0, repeat=6, fails=exhausted())


def _host_time() -> Iterator[Vector]:
    """4 MiB in base64 are not copied, joined and checked within a millisecond."""
    large = [entry(f"large{number}", times(349_000, "abc")) for number in range(4)]
    yield Vector(
        "with the host time of a run used up a call is -4, out untouched, and the gene goes on",
        _CITES,
        [
            run(
                OWNER,
                query_keys({}, ["large3", "large2", "large1", "large0"], cap=0x80_0000),
                read("k", cap=64, fails=exhausted()),
                delete("k", cap=64, fails=exhausted()),
                limits={"hostTimeMs": 1},
            )
        ],
        large,
        needs=["host-time"],
    )


def _deadline() -> Iterator[Vector]:
    kept = entry("kept", "x", at=NOW)
    yield Vector(
        "a gene that runs past the deadline is stopped, and what it wrote before stays",
        API("From a WASM module"),
        [
            run(
                OWNER,
                write(kept),
                limits={"deadlineMs": 500},
                ends={"status": "limit", "code": "DEADLINE_EXCEEDED"},
            )
        ],
        after=[kept],
        audit=[line("create", kept, OWNER)],
        needs=["deadline"],
    )
    start = '(module (memory (export "memory") 1) (start 0) (func (loop $ever (br $ever)))'
    express = ' (func (export "express") (param i32 i32) (result i32) i32.const 0))'
    yield Vector(
        "the start function runs under the deadline too",
        ABI("Modules"),
        [
            run_module(
                OWNER, start + express, 0, {"status": "limit", "code": "DEADLINE_EXCEEDED"}, limits={"deadlineMs": 200}
            )
        ],
        needs=["deadline", "modules"],
    )
