"""Host functions with their own signature: what their handlers get, and what a guest gets back."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from functools import partial
from typing import Any

import pytest

from rotifer_host.limits import Limits
from rotifer_host.sandbox import GuestResult, HostTime, PlainFunction, Run
from rotifer_host.sandbox.calls.registry import ValueType

RunGuest = Callable[..., GuestResult]
Writer = Callable[..., str]

PEEK = '(import "test" "peek" (func $peek (param i32 i32)))'


def imported(function: PlainFunction) -> str:
    """Return the import of a function, as `$call`."""
    params = f"(param {' '.join(function.params)})" if function.params else ""
    results = f"(result {function.results[0]})" if function.results else ""
    return f'{PEEK} (import "{function.module}" "{function.name}" (func $call {params} {results}))'


@pytest.mark.parametrize("count", range(7))
def test_integers_are_unsigned(run_guest: RunGuest, gene: Writer, count: int) -> None:
    """A handler gets as many i32s as it has parameters, in their order and unsigned."""
    got: list[tuple[int, ...]] = []

    def handler(_run: Run, *numbers: int) -> int:
        got.append(numbers)
        return 0

    i32: ValueType = "i32"
    function = PlainFunction("test", "call", (i32,) * count, (i32,), handler)
    numbers = [-1 - number for number in range(count)]
    body = f"(drop (call $call {' '.join(f'(i32.const {number})' for number in numbers)}))"
    assert run_guest(gene(body * 2, imports=imported(function)), functions=(function,)).status == "ok"
    assert got == [tuple(number + (1 << 32) for number in numbers)] * 2


def test_all_types(run_guest: RunGuest, gene: Writer) -> None:
    """Numbers of every type arrive as they are; those of 64 bits are signed."""
    got: list[tuple[float, ...]] = []
    function = PlainFunction(
        "test", "call", ("i32", "i64", "f32", "f64"), (), lambda _run, *numbers: got.append(numbers)
    )
    body = "(call $call (i32.const -1) (i64.const -2) (f32.const 0.5) (f64.const 0.1))"
    assert run_guest(gene(body, imports=imported(function)), functions=(function,)).status == "ok"
    assert got == [(0xFFFF_FFFF, -2, 0.5, 0.1)]


@pytest.mark.parametrize("params", [(), ("i32",), ("i32",) * 4])
@pytest.mark.parametrize(
    ("kind", "result", "stored"),
    [
        ("i32", 7, "07000000"),
        ("i32", -2, "feffffff"),
        ("i32", -(1 << 31), "00000080"),
        ("i32", 0xFFFF_FFFF, "ffffffff"),
        ("i64", -2, "feffffffffffffff"),
        ("f32", 0.5, "0000003f"),
        ("f64", 0.5, "000000000000e03f"),
    ],
)
def test_results(  # noqa: PLR0913, PLR0917 - a row of the table
    run_guest: RunGuest, gene: Writer, params: tuple[ValueType, ...], kind: ValueType, result: Any, stored: str
) -> None:
    """A guest gets the number that a handler returns, a negative one as it is."""
    function = PlainFunction("test", "call", params, (kind,), lambda _run, *_numbers: result)
    call = f"(call $call {'(i32.const 1)' * len(params)})"
    body = f"({kind}.store (i32.const 64) {call}) (call $peek (i32.const 64) (i32.const {len(stored) // 2}))"
    services: list[bytes] = []
    run_guest(gene(body, imports=imported(function)), functions=(function,), services=services)
    assert services == [bytes.fromhex(stored)]


@pytest.mark.parametrize("params", [(), ("i32",), ("i32",) * 4])
@pytest.mark.parametrize("kind", ["i32", "i64", "f32", "f64"])
@pytest.mark.parametrize("result", [None, "1"])
def test_result_that_is_no_number(
    run_guest: RunGuest, gene: Writer, params: tuple[ValueType, ...], kind: ValueType, result: Any
) -> None:
    """A handler that must return a number and does not is a bug, which is raised."""
    function = PlainFunction("test", "call", params, (kind,), lambda _run, *_numbers: result)
    body = f"(drop (call $call {'(i32.const 1)' * len(params)}))"
    with pytest.raises(TypeError):
        run_guest(gene(body, imports=imported(function)), functions=(function,))


@pytest.mark.parametrize("params", [(), ("i32",), ("i32",) * 4])
@pytest.mark.parametrize(
    ("used_up", "code"),
    [("fuel", None), ("host time", None), ("cancelled", "INTERRUPTED")],
)
def test_budgets(
    run_guest: RunGuest, gene: Writer, params: tuple[ValueType, ...], used_up: str, code: str | None
) -> None:
    """A call that finds a budget used up gets the function's answer to that, and its handler is not asked."""
    called: list[int] = []

    def handler(run: Run, *_numbers: int) -> int:
        called.append(1)
        if used_up == "cancelled":
            run.deadline.cancel()
        elif used_up == "host time":
            run.host_time.add(10)
        return 5

    function = PlainFunction("test", "call", params, ("i32",), handler, exhausted=-4)
    call = f"(call $call {'(i32.const 1)' * len(params)})"
    body = f"(drop {call}) (if (i32.ne {call} (i32.const -4)) (then (unreachable)))"
    result = run_guest(
        gene(body, imports=imported(function)),
        functions=(function,),
        limits=Limits(fuel=30_000 if used_up == "fuel" else 1_000_000),
        host_time=HostTime(5_000),
    )
    assert (result.error.code if result.error else None) == code
    assert called == [1]


@pytest.mark.parametrize("params", [(), ("i32",), ("i32",) * 4])
def test_time_is_counted(run_guest: RunGuest, gene: Writer, params: tuple[ValueType, ...]) -> None:
    """What a handler takes is host time, whether it answers or raises."""
    for error in (None, ValueError("bug")):

        def handler(_run: Run, *_numbers: int, error: Exception | None = error) -> None:
            time.sleep(0.01)
            if error is not None:
                raise error

        function = PlainFunction("test", "call", params, (), handler)
        body = f"(call $call {'(i32.const 1)' * len(params)})"
        host_time = HostTime(900)  # so little that it is counted by the precise clock
        try:
            run_guest(gene(body, imports=imported(function)), functions=(function,), host_time=host_time)
        except ValueError as raised:
            assert raised is error  # noqa: PT017 - one of the two cases
        assert host_time.spent_s >= 0.01


def in_a_thread(run: Callable[[], object]) -> object:
    """Call `run` in another thread, and wait for it."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


NESTINGS: dict[str, Callable[[Callable[[], object]], object]] = {
    "as it is": lambda run: run(),
    "in a copy of the context": lambda run: copy_context().run(run),
    "in a context of its own": lambda run: Context().run(run),
    "in a thread": in_a_thread,
    "in a thread with a copy of the context": lambda run: in_a_thread(partial(copy_context().run, run)),
}


@pytest.mark.parametrize("nesting", NESTINGS.values(), ids=NESTINGS.keys())
def test_guests_inside_host_calls(
    run_guest: RunGuest, gene: Writer, nesting: Callable[[Callable[[], object]], object]
) -> None:
    """A handler that runs another guest finds its own run again, and so does every other call of both guests."""
    seen: list[object] = []

    def handler(run: Run) -> None:
        seen.append(run.services)
        if run.services == "outer" and len(seen) == 1:
            nesting(lambda: run_guest(wat, functions=(function,), services="inner"))

    function = PlainFunction("test", "call", (), (), handler)
    wat = gene("(call $call)" * 2, imports=imported(function))
    run_guest(wat, functions=(function,), services="outer")
    assert seen == ["outer", "inner", "inner", "outer"]
