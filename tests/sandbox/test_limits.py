"""Fuel, deadline, host time, memory and tables, wherever a guest meets them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from rotifer_host.errors import BudgetExhaustedError
from rotifer_host.limits import Limits
from rotifer_host.sandbox import (
    Deadline,
    ExchangeFunction,
    GuestResult,
    HostTime,
    PlainFunction,
    Run,
    Sandbox,
    assemble,
)

RunGuest = Callable[..., GuestResult]
MakeSandbox = Callable[..., Sandbox]
Writer = Callable[..., str]

ENDLESS = "(loop (br 0))"
FOREVER = Limits(fuel=1 << 60)
CALLS = '(import "test" "note" (func $note (param i32)))'
PLACES = {
    "start function": ("", f"(func $go {ENDLESS}) (start $go)"),
    "_initialize": ("", f'(func (export "_initialize") {ENDLESS})'),
    "alloc": ("", f'(func (export "alloc") (param i32) (result i32) {ENDLESS} (unreachable))'),
    "express": (ENDLESS, ""),
}


def code(result: GuestResult) -> tuple[str, str | None]:
    """Return what a result is told apart by."""
    return result.status, None if result.error is None else result.error.code


@pytest.mark.parametrize("place", PLACES)
def test_fuel(run_guest: RunGuest, gene: Writer, place: str) -> None:
    """Fuel ends a guest in every part of its run, and all of it counts as used."""
    body, extra = PLACES[place]
    result = run_guest(gene(body, extra=extra), limits=Limits(fuel=100_000))
    assert (code(result), result.fuel) == (("limit", "FUEL_EXHAUSTED"), 100_000)


@pytest.mark.parametrize("place", PLACES)
def test_deadline(run_guest: RunGuest, gene: Writer, place: str) -> None:
    """The deadline ends a guest in every part of its run, never before its time."""
    body, extra = PLACES[place]
    deadline = Deadline(30)
    result = run_guest(gene(body, extra=extra), limits=FOREVER, deadline=deadline)
    assert code(result) == ("limit", "DEADLINE_EXCEEDED")
    assert deadline.passed


def test_deadline_in_a_loop_of_host_calls(run_guest: RunGuest, gene: Writer) -> None:
    """A guest that does nothing but host calls ends at the deadline too."""
    body = "(loop (call $note (i32.const 1)) (br 0))"
    result = run_guest(gene(body, imports=CALLS), limits=FOREVER, deadline=Deadline(30))
    assert code(result) == ("limit", "DEADLINE_EXCEEDED")


@pytest.mark.parametrize("ms", [1 << 58, (1 << 63) - 1])
def test_limits_beyond_all_time(run_guest: RunGuest, gene: Writer, ms: int) -> None:
    """A deadline and a host time that no clock reaches in nanoseconds are as good as none."""
    limits = Limits(deadline_ms=ms, host_time_ms=ms)
    services: list[int] = []
    result = run_guest(gene("(call $note (i32.const 1))", imports=CALLS), limits=limits, services=services)
    assert (code(result), services) == (("ok", None), [1])


def test_deadline_passed_before_the_run(run_guest: RunGuest, gene: Writer) -> None:
    """A run whose time is up at the start does not run at all."""
    deadline = Deadline(1)
    deadline.expiry = time.monotonic()
    result = run_guest(gene(), deadline=deadline)
    assert (code(result), result.fuel) == (("limit", "DEADLINE_EXCEEDED"), 0)


def test_deadline_during_a_host_call(run_guest: RunGuest, gene: Writer) -> None:
    """A host call that comes back late ends the run, whether the guest then returns or panics."""

    def late(run: Run) -> None:
        run.deadline.expiry = time.monotonic()

    imports = '(import "test" "late" (func $late))'
    functions = (PlainFunction("test", "late", (), (), late),)
    for body in ("(call $late)", "(call $late) (unreachable)"):
        result = run_guest(gene(body, imports=imports), functions=functions)
        assert code(result) == ("limit", "DEADLINE_EXCEEDED")


def test_host_time(run_guest: RunGuest, gene: Writer) -> None:
    """Host time that is used up makes exchanges answer -4, and ends the run at a call that has no such answer."""

    def slow(run: Run, _request: bytes, _capacity: int) -> bytes:
        run.host_time.add(10)
        return b""

    exchange = ExchangeFunction("test", "slow", lambda _run: None, slow)
    imports = CALLS + '(import "test" "slow" (func $slow (param i32 i32 i32 i32) (result i32)))'
    call = "(call $slow (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"
    services: list[int] = []
    body = f"(drop {call}) (i32.store (i32.const 512) {call}) (call $note (i32.load (i32.const 512)))"
    result = run_guest(gene(body, imports=imports), functions=(exchange,), services=services, host_time=HostTime(5_000))
    assert (code(result), services) == (("limit", "HOST_TIME_EXCEEDED"), [])
    assert result.host_calls["test.slow"].errors == {-4: 1}


def test_host_time_is_shared(run_guest: RunGuest, gene: Writer) -> None:
    """Two genes with the same host time spend it together."""
    host_time = HostTime(1_000)
    host_time.add(0.5)
    run_guest(gene("(call $note (i32.const 1))", imports=CALLS), host_time=host_time)
    assert host_time.spent_s > 0.5


GROW = "(if (i32.eq (memory.grow (i32.const {})) (i32.const -1)) (then {}))"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (GROW.format(3, "(unreachable)"), ("ok", None)),
        (GROW.format(4, ""), ("ok", None)),
        (GROW.format(3, "") + GROW.format(1, "(unreachable)"), ("limit", "MEMORY_EXCEEDED")),
        (GROW.format(3, "") + "(drop (i32.load (i32.const 262144)))", ("limit", "MEMORY_EXCEEDED")),
        (GROW.format(3, "") + "(drop (i32.div_u (i32.const 1) (i32.const 0)))", ("failed", "TRAP")),
        (GROW.format(9, "(unreachable)"), ("failed", "TRAP")),
    ],
)
def test_memory(run_guest: RunGuest, gene: Writer, body: str, expected: tuple[str, str | None]) -> None:
    """A guest that traps with its memory at the limit met the limit; elsewhere a refused growth is not known."""
    assert code(run_guest(gene(body), limits=Limits(memory_bytes=4 * 65536 + 100))) == expected


def test_memory_at_the_start(run_guest: RunGuest, gene: Writer) -> None:
    """A module that starts above the limit is not started."""
    assert code(run_guest(gene(pages="5"), limits=Limits(memory_bytes=4 * 65536))) == ("limit", "MEMORY_EXCEEDED")
    assert code(run_guest(gene(pages="4"), limits=Limits(memory_bytes=4 * 65536))) == ("ok", None)


@pytest.mark.parametrize(("elements", "status"), [(10_000, "ok"), (10_001, "failed")])
def test_table_at_the_start(run_guest: RunGuest, gene: Writer, elements: int, status: str) -> None:
    """A table has at most 10,000 elements."""
    result = run_guest(gene(extra=f"(table {elements} funcref)"))
    assert result.status == status
    assert result.error is None or (result.error.code == "BAD_MODULE" and "table" in result.error.message)


def test_table_growth(run_guest: RunGuest, gene: Writer) -> None:
    """A table does not grow beyond 10,000 elements."""
    services: list[int] = []
    grow = "(call $note (table.grow $t (ref.null func) (i32.const {})))"
    body = grow.format(9_999) + grow.format(1)
    run_guest(gene(body, imports=CALLS, extra="(table $t 1 funcref)"), services=services)
    assert services == [1, -1]


def test_cancel_from_another_thread(run_guest: RunGuest, gene: Writer) -> None:
    """Cancelling a deadline ends the run that has it."""
    deadline = Deadline(60_000)
    threading.Timer(0.03, deadline.cancel).start()
    assert code(run_guest(gene(ENDLESS), limits=FOREVER, deadline=deadline)) == ("failed", "INTERRUPTED")


def test_cancelled_before_the_run(run_guest: RunGuest, gene: Writer) -> None:
    """The next gene of a cancelled run does not start."""
    deadline = Deadline(60_000)
    deadline.cancel()
    result = run_guest(gene(), deadline=deadline)
    assert (code(result), result.fuel) == (("failed", "INTERRUPTED"), 0)
    with pytest.raises(BudgetExhaustedError):
        deadline.remaining_s()


def run_in_threads(sandbox: Sandbox, jobs: list[tuple[str, Deadline]]) -> list[GuestResult]:
    """Run all jobs at once, each in a thread of its own."""
    results: dict[int, GuestResult] = {}
    together = threading.Barrier(len(jobs))

    def work(number: int, wat: str, deadline: Deadline) -> None:
        module = sandbox.load(assemble(wat), name="guest")
        together.wait()
        results[number] = sandbox.run(
            module,
            str(number).encode(),
            limits=FOREVER,
            deadline=deadline,
            host_time=HostTime(60_000),
            services=[],
            context={},
            logical_ms=0,
        )

    threads = [threading.Thread(target=work, args=(number, *job)) for number, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[number] for number in range(len(jobs))]


ECHO_SLOWLY = """(module (import "test" "note" (func $note (param i32))) (memory (export "memory") 1)
    (func (export "alloc") (param i32) (result i32) (i32.const 64))
    (func (export "express") (param i32 i32) (result i32) (local $n i32)
        (loop (call $note (i32.const 1)) (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br_if 0 (i32.lt_u (local.get $n) (i32.const 2000))))
        (local.get 0)))"""


def test_deadlines_side_by_side(sandbox: MakeSandbox, gene: Writer) -> None:
    """Short deadlines of other threads neither end a long run nor spoil its result."""
    short = [(gene(ENDLESS), Deadline(ms)) for ms in (1, 5, 20, 60)]
    long = [(ECHO_SLOWLY, Deadline(60_000)) for _ in range(3)]
    results = run_in_threads(sandbox(), [*short, *long])
    assert [code(result) for result in results[:4]] == [("limit", "DEADLINE_EXCEEDED")] * 4
    assert all(deadline.passed for _, deadline in short)
    assert [result.output for result in results[4:]] == [4, 5, 6]


def test_cancel_ends_one_run_only(sandbox: MakeSandbox, gene: Writer) -> None:
    """Of two spinning guests the cancelled one is interrupted, the other runs to its own deadline."""
    cancelled, other = Deadline(60_000), Deadline(150)
    threading.Timer(0.03, cancelled.cancel).start()
    results = run_in_threads(sandbox(), [(gene(ENDLESS), cancelled), (gene(ENDLESS), other)])
    assert [code(result) for result in results] == [("failed", "INTERRUPTED"), ("limit", "DEADLINE_EXCEEDED")]
    assert other.passed


def test_traps_side_by_side(sandbox: MakeSandbox, gene: Writer) -> None:
    """Guests ended by their host functions at the same moment each get their own ending."""
    exits = '(import "env" "abort" (func $abort (param i32 i32 i32 i32)))'
    body = """(local $n i32) (loop (call $note (i32.const 1)) (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if 0 (i32.lt_u (local.get $n) (i32.const 300))))
        (call $abort (i32.const 0) (i32.const 0) (i32.const {}) (i32.const 0))"""
    jobs = [(gene(body.format(line), imports=CALLS + exits), Deadline(60_000)) for line in range(8)]
    for _ in range(3):
        results = run_in_threads(sandbox(), jobs)
        assert [result.error and result.error.message for result in results] == [
            f"no message (unknown file:{line}:0)" for line in range(8)
        ]


def test_nested_run(sandbox: MakeSandbox, gene: Writer) -> None:
    """A host function may run another guest, which has its own limits and leaves the outer run as it was."""
    box: list[Sandbox] = []

    def nested(run: Run) -> None:
        inner = box[0].run(
            box[0].load(assemble(gene(ENDLESS)), name="inner"),
            b"1",
            limits=FOREVER,
            deadline=Deadline(20),
            host_time=HostTime(1000),
            services=[],
            context={},
            logical_ms=0,
        )
        assert isinstance(run.services, list)
        run.services.append(code(inner))

    imports = CALLS + '(import "test" "nested" (func $nested))'
    box.append(sandbox(PlainFunction("test", "nested", (), (), nested)))
    services: list[object] = []
    body = "(call $nested) (call $note (i32.const 5))"
    outer = box[0].run(
        box[0].load(assemble(gene(body, imports=imports)), name="outer"),
        b"1",
        limits=Limits(),
        deadline=Deadline(60_000),
        host_time=HostTime(60_000),
        services=services,
        context={},
        logical_ms=0,
    )
    assert (outer.status, services) == ("ok", [("limit", "DEADLINE_EXCEEDED"), 5])
