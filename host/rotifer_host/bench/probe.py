"""What crossing into the host costs on a call path: a guest whose calls carry bytes and ask for nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Final, Literal, NamedTuple

from rotifer_host import contract
from rotifer_host.errors import ModuleError
from rotifer_host.limits import Limits
from rotifer_host.sandbox import (
    Deadline,
    ExchangeFunction,
    HostFunctions,
    HostTime,
    Module,
    Run,
    Sandbox,
    assemble,
)

try:
    from rotifer_host.bench._shortcuts import fill
except ImportError:  # not built: there was no C compiler, and no function has a shortcut
    fill = None

__all__ = ["Crossing", "Probe", "Sample", "Shape", "Way"]

_MODULE: Final = "rotifer.ext.bench"
_SAMPLE_NANOS: Final = 200_000
"""What the calls of a sample take: so long that the clock and the start of a run do not matter, and shorter than the
time after which a busy machine lets another process go first."""
_FEWEST_CALLS: Final = 4
_MOST_CALLS: Final = 4096
_WARMUP: Final = 3
_PAGE: Final = 65_536
_REQUEST_AT: Final = 1024
_LIMITS: Final = Limits(fuel=1 << 60, memory_bytes=contract.GIB, deadline_ms=600_000, host_time_ms=600_000)
_FOR_EVER: Final = 1 << 40


Way = Literal["handler", "shortcut", "again"]
"""What answers a call: the function's handler, its shortcut, or nobody, since the response is one given before."""


class Shape(NamedTuple):
    """What a call carries, in bytes, and what answers it."""

    request: int = 0
    response: int = 0
    way: Way = "handler"


class Sample(NamedTuple):
    """One run of a probe's guest and one that makes no calls, in nanoseconds."""

    calls: int
    busy: float
    idle: float
    seen: float
    """What the host's own clock saw of the calls."""


class Crossing(NamedTuple):
    """Nanoseconds of one call."""

    whole: float
    """As the guest waits for it."""
    unseen: float
    """The part before the host's own clock starts and after it stops."""

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Crossing:
        """Summarise samples of one shape: medians of busy and idle runs, and what lies between them."""
        calls = samples[0].calls
        busy, idle, seen = (
            statistics.median(values) for values in zip(*(sample[1:] for sample in samples), strict=True)
        )
        whole = max(0.0, (busy - idle) / calls)
        return cls(whole, max(0.0, whole - seen / calls))


class Probe:
    """Times the way to a handler or a shortcut that does nothing and back, on one call path."""

    def __init__(self, call_path: str) -> None:
        self._response = b""
        functions = HostFunctions(
            (
                ExchangeFunction(_MODULE, "handler", _let_in, self._answer),
                ExchangeFunction(_MODULE, "shortcut", _let_in, self._answer, shortcut=fill),
                ExchangeFunction(_MODULE, "again", _let_in, self._answer, _unchanged_for_ever),
            )
        )
        self._sandbox = Sandbox(functions, call_path=call_path)
        self._guests: dict[Shape, tuple[Module, Module, int]] = {}
        self._version = memoryview(bytes(8))

    def sample(self, shape: Shape) -> Sample:
        """Time one run of many calls and one of none."""
        self._response = b" " * shape.response
        if shape not in self._guests:
            self._guests[shape] = self._prepare(shape)
        busy, idle, calls = self._guests[shape]
        whole, seen = self._run(busy)
        start, _ = self._run(idle)
        return Sample(calls, whole, start, seen)

    def _prepare(self, shape: Shape) -> tuple[Module, Module, int]:
        """Find out how many calls fill a sample; what is made for it is warm then."""
        idle = self._guest(shape, 0)
        calls = _FEWEST_CALLS
        while True:
            busy = self._guest(shape, calls)
            spent = min(self._run(busy)[0] for _ in range(_WARMUP)) - min(self._run(idle)[0] for _ in range(_WARMUP))
            if spent >= _SAMPLE_NANOS / 2 or calls >= _MOST_CALLS:
                return busy, idle, calls
            calls *= 4 if spent < _SAMPLE_NANOS / 8 else 2

    def _run(self, guest: Module) -> tuple[float, float]:
        """Return the nanoseconds of a run, and those of its calls by the host's clock."""
        started = perf_counter_ns()
        result = self._sandbox.run(
            guest,
            b"null",
            limits=_LIMITS,
            deadline=Deadline(_LIMITS.deadline_ms),
            host_time=HostTime(_LIMITS.host_time_ms),
            services=None,
            context={},
            logical_ms=0,
            version=self._version,
        )
        nanos = perf_counter_ns() - started
        if result.output != "done":
            message = f"the probe of call path {self._sandbox.call_path} ended {result.status}: {result.error}"
            raise ModuleError(message)
        return nanos, sum(stats.seconds for stats in result.host_calls.values()) * 1e9

    def _answer(self, _run: Run, _request: bytes, _out_cap: int) -> bytes:
        return self._response

    def _guest(self, shape: Shape, calls: int) -> Module:
        out = _REQUEST_AT + shape.request
        pages = -(-(out + shape.response) // _PAGE)
        text = f"""(module
          (import "{_MODULE}" "{shape.way}" (func $call (param i32 i32 i32 i32) (result i32)))
          (memory (export "memory") {pages})
          (data (i32.const 8) "\\"done\\"\\00\\"wrong\\"")
          (func (export "express") (param i32 i32) (result i32) (local $left i32)
            (local.set $left (i32.const {calls}))
            (block $done (loop $next
              (br_if $done (i32.eqz (local.get $left)))
              (local.set $left (i32.sub (local.get $left) (i32.const 1)))
              (br_if $next (i32.eq (i32.const {shape.response}) (call $call
                (i32.const {_REQUEST_AT}) (i32.const {shape.request}) (i32.const {out}) (i32.const {shape.response}))))
              (return (i32.const 15))))
            (i32.const 8)))"""
        return self._sandbox.load(assemble(text.encode()), name="probe")


def _let_in(_run: Run) -> None:
    """Every caller may call."""


def _unchanged_for_ever(_run: Run) -> int:
    return _FOR_EVER
