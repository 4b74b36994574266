"""Does a call path work here? Answered by a guest that runs on it.

`auto` takes the fastest path that passes. The guest makes a call that answers, one
that is refused, and one with its own signature, and outputs what it saw.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Final

from rotifer_host.errors import InvalidInputError, RotiferError, UsageError
from rotifer_host.limits import Limits
from rotifer_host.sandbox.assembling import assemble
from rotifer_host.sandbox.calls import available_call_paths
from rotifer_host.sandbox.calls.registry import ExchangeFunction, HostFunctions, PlainFunction
from rotifer_host.sandbox.deadline import Deadline, HostTime

if TYPE_CHECKING:
    from pathlib import Path

    from rotifer_host.sandbox.run import Run

__all__ = ["fastest_working_path"]

_GUEST: Final = """(module
    (import "check" "exchange" (func $exchange (param i32 i32 i32 i32) (result i32)))
    (import "check" "plain" (func $plain (param i32 i64) (result i64)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "[1,2]")
    (func (export "express") (param i32 i32) (result i32)
        (if (i32.ne (call $exchange (i32.const 1024) (i32.const 5) (i32.const 2048) (i32.const 5)) (i32.const 5))
            (then (return (i32.const -1))))
        (if (i32.ne (call $exchange (i32.const 1024) (i32.const 4) (i32.const 4096) (i32.const 99)) (i32.const -10))
            (then (return (i32.const -2))))
        (if (i64.ne (call $plain (i32.const -1) (i64.const -1)) (i64.const 4294967294))
            (then (return (i32.const -3))))
        (i32.const 2048)))"""
_OUTPUT: Final = [1, 2]
_FUEL: Final = 10_000_000
_DEADLINE_MS: Final = 10_000


@functools.cache
def fastest_working_path(cache_dir: Path | None) -> str:
    """Return the name of the fastest call path that passes; the slowest one is the last resort.

    What the guest of the check is compiled to is kept in `cache_dir`, unless that is None.

    Raises `UsageError` where no guest may run.
    """
    *faster, last = available_call_paths()
    return next((name for name in faster if _works(name, cache_dir)), last)


def _works(name: str, cache_dir: Path | None) -> bool:
    from rotifer_host.sandbox.sandbox import Sandbox  # noqa: PLC0415 - which asks for the path

    functions = (
        ExchangeFunction("check", "exchange", _let_in, _echo),
        PlainFunction("check", "plain", ("i32", "i64"), ("i64",), lambda _run, small, large: small + large),
    )
    try:
        sandbox = Sandbox(HostFunctions(functions), call_path=name, cache_dir=cache_dir)
        result = sandbox.run(
            sandbox.load(assemble(_GUEST), name="self-check"),
            b"null",
            limits=Limits(fuel=_FUEL),
            deadline=Deadline(_DEADLINE_MS),
            host_time=HostTime(_DEADLINE_MS),
            services=None,
            context={},
            logical_ms=0,
        )
    except UsageError:  # no guest may run here, on any path
        raise
    except (RotiferError, ArithmeticError, TypeError, ValueError, RuntimeError) as error:
        return _fails(name, str(error))
    return result.output == _OUTPUT or _fails(name, f"its guest answered {result.output!r}, {result.error}")


def _fails(name: str, reason: str) -> bool:
    warnings.warn(f"the {name} call path is not used: {reason}", RuntimeWarning, stacklevel=2)
    return False


def _let_in(_run: Run) -> None:
    """Let every caller call."""


def _echo(_run: Run, request: bytes, _out_cap: int) -> bytes:
    if request != b"[1,2]":
        raise InvalidInputError("expected")
    return request
