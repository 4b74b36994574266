"""Traps in words."""

from __future__ import annotations

from typing import Final

from wasmtime import TrapCode

from rotifer_host.limits import format_size
from rotifer_host.sandbox.capi import Failure
from rotifer_host.sandbox.guest_memory import PAGE_BYTES
from rotifer_host.sandbox.result import Ending
from rotifer_host.sandbox.run import Run

__all__ = ["at_memory_limit", "ending_of"]

_WORDS: Final = {
    TrapCode.MEMORY_OUT_OF_BOUNDS: "memory access out of bounds",
    TrapCode.TABLE_OUT_OF_BOUNDS: "table access out of bounds",
    TrapCode.INDIRECT_CALL_TO_NULL: "indirect call to a null table entry",
    TrapCode.BAD_SIGNATURE: "indirect call with the wrong signature",
    TrapCode.INTEGER_OVERFLOW: "integer overflow",
    TrapCode.INTEGER_DIVISION_BY_ZERO: "integer division by zero",
    TrapCode.BAD_CONVERSION_TO_INTEGER: "float that no integer can hold",
    TrapCode.UNREACHABLE: "unreachable instruction executed",
    TrapCode.NULL_REFERENCE: "null reference",
}
_SIGNS_OF_REFUSED_GROWTH: Final = (TrapCode.UNREACHABLE, TrapCode.MEMORY_OUT_OF_BOUNDS)


def ending_of(run: Run, failure: Failure) -> Ending:
    """Return how a run ended whose guest did not return: as the host decided, else as the trap says."""
    ending = run.ending or run.overdue() or _meaning(run, failure)
    return ending._replace(backtrace=(*ending.backtrace, *failure.backtrace))


def at_memory_limit(run: Run) -> bool:
    """Tell whether the guest's memory cannot grow by another page: the engine does not report a refused growth."""
    return run.memory.size + PAGE_BYTES > run.limits.memory_bytes


def _meaning(run: Run, failure: Failure) -> Ending:
    trap = failure.trap
    if trap is None:
        return Ending("failed", "BAD_MODULE", f"the engine refused it: {' '.join(failure.message.split())}")
    if trap is TrapCode.OUT_OF_FUEL:
        return run.out_of_fuel()
    if trap is TrapCode.STACK_OVERFLOW:
        return Ending("failed", "STACK_OVERFLOW", "call stack exhausted")
    words = _WORDS.get(trap, trap.name.lower().replace("_", " "))
    if trap in _SIGNS_OF_REFUSED_GROWTH and at_memory_limit(run):
        limit = format_size(run.limits.memory_bytes)
        return Ending("limit", "MEMORY_EXCEEDED", f"trapped with its memory at the limit of {limit}: {words}")
    return Ending("failed", "TRAP", words)
