"""Calls of the request-and-response shape: pointers, order of checks, error payloads, bugs."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from rotifer_host.contract import MAX_REQUEST_BYTES
from rotifer_host.errors import (
    AccessDeniedError,
    BudgetExhaustedError,
    BufferTooSmallError,
    HostCallError,
    InvalidInputError,
    NotFoundError,
    QuotaExceededError,
    StorageError,
)
from rotifer_host.limits import Limits
from rotifer_host.sandbox import ExchangeFunction, GuestResult, Run

RunGuest = Callable[..., GuestResult]
Writer = Callable[..., str]

PAGE = 65536
IMPORTS = """(import "rotifer" "call" (func $call (param i32 i32 i32 i32) (result i32)))
    (import "test" "note" (func $note (param i32))) (import "test" "peek" (func $peek (param i32 i32)))"""
FILL = "(memory.fill (i32.const 4096) (i32.const 0x2e) (i32.const 4096))"


def allow(_run: Run) -> None:
    """Let every caller call."""


def function(
    handler: Callable[[Run, bytes, int], bytes], guard: Callable[[Run], None] = allow
) -> tuple[ExchangeFunction, ...]:
    """Make `rotifer.call`."""
    return (ExchangeFunction("rotifer", "call", guard, handler),)


def echo(_run: Run, request: bytes, _capacity: int) -> bytes:
    """Answer the request itself."""
    return request


def never(_run: Run, _request: bytes, _capacity: int) -> bytes:
    """Fail a test in which the handler must not be reached."""
    raise AssertionError


def refuse(error: HostCallError) -> Callable[[Run, bytes, int], bytes]:
    """Make a handler that refuses."""

    def handler(_run: Run, _request: bytes, _capacity: int) -> bytes:
        raise error

    return handler


def one_call(gene: Writer, arguments: tuple[int, int, int, int], *, pages: str = "1 2", before: str = FILL) -> str:
    """Write a gene that calls once, notes the result and shows 4096 bytes at 4096."""
    values = " ".join(f"(i32.const {value})" for value in arguments)
    body = f"{before} (call $note (call $call {values})) (call $peek (i32.const 4096) (i32.const 4096))"
    return gene(body, imports=IMPORTS, pages=pages, extra='(data (i32.const 64) "request!")')


def test_round_trip(run_guest: RunGuest, gene: Writer) -> None:
    """The request goes to the handler, the response and nothing else into out, its length to the guest."""
    services: list[object] = []
    result = run_guest(one_call(gene, (64, 8, 4100, 20)), functions=function(echo), services=services)
    assert services == [8, b"...." + b"request!" + b"." * 4084]
    calls = result.host_calls["call"]
    assert (calls.count, calls.errors, calls.bytes_in, calls.bytes_out) == (1, {}, 8, 8)
    assert calls.micros >= 0


def test_request_and_response_may_overlap(run_guest: RunGuest, gene: Writer) -> None:
    """The request is copied before the response is written."""
    services: list[object] = []

    def shout(_run: Run, request: bytes, _capacity: int) -> bytes:
        return request.upper() + request

    run_guest(one_call(gene, (4096, 4, 4098, 8)), functions=function(shout), services=services)
    assert services == [8, b".." + b"." * 4094]


RANGES = [
    ("whole memory", (0, PAGE, 0, PAGE), True),
    ("last byte", (PAGE - 1, 1, PAGE - 1, 1), True),
    ("empty at the end", (PAGE, 0, PAGE, 0), True),
    ("request past the end", (PAGE - 1, 2, 4096, 200), False),
    ("request starts past the end", (PAGE + 1, 0, 4096, 200), False),
    ("request at -16", (0xFFFF_FFF0, 8, 4096, 200), False),
    ("request of 4 GiB", (0, 0xFFFF_FFFF, 4096, 200), False),
    ("request wraps around", (0xFFFF_FFFF, 1, 4096, 200), False),
    ("request wraps to zero", (0x8000_0000, 0x8000_0000, 4096, 200), False),
    ("empty request at -1", (0xFFFF_FFFF, 0, 4096, 200), False),
    ("out past the end", (0, 0, PAGE - 1, 2), False),
    ("empty out past the end", (0, 0, PAGE + 1, 0), False),
    ("out at -16", (0, 0, 0xFFFF_FFF0, 8), False),
    ("out of 4 GiB", (0, 0, 4096, 0xFFFF_FFFF), False),
    ("out wraps around", (0, 0, 0xFFFF_FFFF, 2), False),
]


@pytest.mark.parametrize(("arguments", "inside"), [row[1:] for row in RANGES], ids=[row[0] for row in RANGES])
def test_ranges(run_guest: RunGuest, gene: Writer, arguments: tuple[int, int, int, int], *, inside: bool) -> None:
    """Pointers are unsigned, and both ranges must lie inside memory, also when they are empty."""
    services: list[int] = []
    wat = one_call(gene, arguments)
    result = run_guest(wat, functions=function(lambda _run, _request, _capacity: b""), services=services)
    assert result.status == "ok"
    assert services[0] == (0 if inside else -10)


def test_nothing_is_written_when_out_is_not_inside_memory(run_guest: RunGuest, gene: Writer) -> None:
    """An error about out leaves memory as it was, also the part of out that exists."""
    services: list[object] = []
    before = "(memory.fill (i32.const 0) (i32.const 0x2e) (i32.const 65536))"
    wat = one_call(gene, (0, 0, 4096, PAGE), before=before)
    run_guest(wat, functions=function(never), services=services)
    assert services == [-10, b"." * 4096]


def test_ranges_are_checked_against_memory_as_it_is(run_guest: RunGuest, gene: Writer) -> None:
    """A range in pages the guest has just grown is inside memory."""
    services: list[object] = []
    wat = one_call(gene, (PAGE, 8, 2 * PAGE - 8, 8), before="(drop (memory.grow (i32.const 1)))")
    run_guest(wat, functions=function(echo), services=services)
    assert services[0] == 8


def test_largest_request(run_guest: RunGuest, gene: Writer) -> None:
    """A request has at most 2 MiB: the handler never sees a larger one."""
    for size, expected in ((MAX_REQUEST_BYTES, 0), (MAX_REQUEST_BYTES + 1, -10)):
        services: list[object] = []
        functions = function(lambda _run, _request, _capacity: b"")
        run_guest(one_call(gene, (0, size, 4096, 0), pages="40"), functions=functions, services=services)
        assert services[0] == expected


ORDER = [
    # what is wrong with the call, in the order of checks: each row has all faults below it too
    ("budget", -4),
    ("guard", -2),
    ("pointers", -10),
    ("request fuel", -4),
    ("handler", -12),
    ("response size", -1),
    ("response fuel", -4),
    ("nothing", 5),
]


@pytest.mark.parametrize("first", range(len(ORDER)), ids=[name for name, _ in ORDER])
def test_order_of_checks(run_guest: RunGuest, gene: Writer, first: int) -> None:
    """Of several things wrong with a call, the one that comes first in the contract is answered."""
    wrong = {name for name, _ in ORDER[first:]}

    def guard(_run: Run) -> None:
        if "guard" in wrong:
            raise AccessDeniedError("no agent")

    def handler(run: Run, _request: bytes, _capacity: int) -> bytes:
        if "handler" in wrong:
            raise NotFoundError("no such entry")
        if "response fuel" in wrong:
            run.fuel.charge(run.fuel.remaining() - 49)
        return b"12345"

    fuel = 1_000_000
    if "budget" in wrong:
        fuel = 10_000
    elif "request fuel" in wrong:
        fuel = 25_000
    elif "response fuel" in wrong:
        fuel = 60_000
    request_at = 65536 if "pointers" in wrong else 0
    capacity = 4 if "response size" in wrong else 5
    arguments = f"(i32.const {request_at}) (i32.const 1000) (i32.const 4096) (i32.const {capacity})"
    wat = gene(f"(drop (call $call {arguments}))", imports=IMPORTS)
    result = run_guest(wat, functions=function(handler, guard), limits=Limits(fuel=fuel))
    calls = result.host_calls["call"]
    expected = ORDER[first][1]
    assert calls.count == 1
    assert calls.errors == ({expected: 1} if expected < 0 else {})


ERRORS = [
    (BufferTooSmallError("m"), -1, "MEMORY_BUFFER_TOO_SMALL"),
    (AccessDeniedError("m"), -2, "MEMORY_ACCESS_DENIED"),
    (QuotaExceededError("m"), -8, "MEMORY_QUOTA_EXCEEDED"),
    (InvalidInputError("m"), -10, "MEMORY_INVALID_INPUT"),
    (NotFoundError("m"), -12, "MEMORY_NOT_FOUND"),
    (StorageError("m"), -13, "MEMORY_STORAGE_ERROR"),
]


@pytest.mark.parametrize(("error", "number", "code"), ERRORS, ids=[row[2] for row in ERRORS])
def test_errors(run_guest: RunGuest, gene: Writer, error: HostCallError, number: int, code: str) -> None:
    """A refusal is a negative result, with its code and message in out, ended by a NUL."""
    services: list[object] = []
    result = run_guest(one_call(gene, (0, 0, 4096, 4096)), functions=function(refuse(error)), services=services)
    payload = json.dumps({"__rotifer_error": {"code": code, "message": "m"}}, separators=(",", ":")).encode()
    assert services == [number, (payload + b"\0").ljust(4096, b".")]
    assert result.host_calls["call"].errors == {number: 1}
    assert result.host_calls["call"].bytes_out == 0


def test_budget_leaves_out_alone(run_guest: RunGuest, gene: Writer) -> None:
    """A -4 has no payload."""
    services: list[object] = []
    wat = one_call(gene, (0, 0, 4096, 4096))
    run_guest(wat, functions=function(refuse(BudgetExhaustedError("late"))), services=services)
    assert services == [-4, b"." * 4096]


FULL = b'{"__rotifer_error":{"code":"MEMORY_NOT_FOUND","message":"n\xc3\xa4"}}'
EMPTY = b'{"__rotifer_error":{"code":"MEMORY_NOT_FOUND","message":""}}'
ROOM = [
    (len(FULL) + 2, FULL + b"\0."),
    (len(FULL) + 1, FULL + b"\0"),
    (len(FULL), FULL),
    (len(FULL) - 1, EMPTY + b"\0" + b"." * (len(FULL) - len(EMPTY) - 2)),
    (len(EMPTY) + 1, EMPTY + b"\0"),
    (len(EMPTY), EMPTY),
    (len(EMPTY) - 1, b""),
    (1, b""),
    (0, b""),
]


@pytest.mark.parametrize(("capacity", "written"), ROOM)
def test_room_for_the_error(run_guest: RunGuest, gene: Writer, capacity: int, written: bytes) -> None:
    """The payload is whole, without its message, or absent, as out has room; a NUL follows when it fits."""
    services: list[object] = []
    wat = one_call(gene, (0, 0, 4096, capacity))
    run_guest(wat, functions=function(refuse(NotFoundError("nä"))), services=services)
    assert services == [-12, written.ljust(4096, b".")]


def test_guest_may_return_the_error(run_guest: RunGuest, gene: Writer) -> None:
    """A gene that returns out after an error rejects its input with that error."""
    body = "(drop (call $call (i32.const 0) (i32.const 0) (i32.const 8192) (i32.const 500))) (return (i32.const 8192))"
    wat = gene(body, imports=IMPORTS)
    result = run_guest(wat, functions=function(refuse(NotFoundError('no entry "a"'))))
    assert result.status == "rejected"
    assert result.error is not None
    assert result.error.message == 'no entry "a"'


def test_response_that_does_not_fit(run_guest: RunGuest, gene: Writer) -> None:
    """The message of -1 tells both sizes."""
    services: list[object] = []
    wat = one_call(gene, (0, 0, 4096, 200))
    run_guest(wat, functions=function(lambda _run, _request, _capacity: b"x" * 201), services=services)
    assert services[0] == -1
    assert isinstance(services[1], bytes)
    assert b"response needs 201 bytes, out_cap is 200" in services[1]


def test_admit(run_guest: RunGuest, gene: Writer) -> None:
    """A handler that changes something learns before it does so that the response will not be taken."""
    changes: list[int] = []

    def change(run: Run, _request: bytes, capacity: int) -> bytes:
        run.admit(8, capacity)
        changes.append(capacity)
        return b"12345678"

    for capacity, expected in ((7, -1), (8, 8)):
        services: list[object] = []
        run_guest(one_call(gene, (0, 0, 4096, capacity)), functions=function(change), services=services)
        assert services[0] == expected
    assert changes == [8]


def test_fuel_is_charged_by_call_and_byte(run_guest: RunGuest, gene: Writer) -> None:
    """A call costs at least 20,000 fuel and 10 for each byte of request and response."""

    def cost(request: int, response: int) -> int:
        functions = function(lambda _run, _request, _capacity: b"x" * response)
        body = f"(drop (call $call (i32.const 0) (i32.const {request}) (i32.const 4096) (i32.const 4096)))"
        return run_guest(gene(body, imports=IMPORTS), functions=functions).fuel

    nothing = run_guest(gene(imports=IMPORTS), functions=function(echo)).fuel
    assert 20_000 <= cost(0, 0) - nothing < 20_100
    assert cost(1000, 0) - cost(0, 0) == 10_000
    assert cost(0, 1000) - cost(0, 0) == 10_000


def test_refused_fuel_is_not_taken(run_guest: RunGuest, gene: Writer) -> None:
    """After a -4 for fuel the guest goes on with what is left."""
    body = "(drop (call $call (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))" * 3
    result = run_guest(gene(body, imports=IMPORTS), functions=function(echo), limits=Limits(fuel=50_000))
    assert result.status == "ok"
    assert result.host_calls["call"].errors == {-4: 1}
    assert 40_000 < result.fuel < 50_000


@pytest.mark.parametrize("kind", [ValueError, MemoryError, KeyboardInterrupt, SystemExit, RecursionError])
def test_bug_in_a_handler(run_guest: RunGuest, gene: Writer, kind: type[BaseException]) -> None:
    """An exception that is no refusal ends the run and is raised as it is."""
    error = kind("bug")

    def broken(_run: Run, _request: bytes, _capacity: int) -> bytes:
        raise error

    with pytest.raises(kind) as caught:
        run_guest(one_call(gene, (0, 0, 0, 0)), functions=function(broken))
    assert caught.value is error


def test_response_that_was_not_admitted(run_guest: RunGuest, gene: Writer) -> None:
    """A handler that returns another length than it admitted is a bug, and is not written."""

    def broken(run: Run, _request: bytes, capacity: int) -> bytes:
        run.admit(2, capacity)
        return b"123"

    with pytest.raises(RuntimeError, match="3 bytes after 2"):
        run_guest(one_call(gene, (0, 0, 4096, 4096)), functions=function(broken))


def test_response_admitted_for_a_larger_out(run_guest: RunGuest, gene: Writer) -> None:
    """A handler that has its response admitted for more room than there is is a bug, and nothing is written."""
    services: list[object] = []

    def broken(run: Run, _request: bytes, capacity: int) -> bytes:
        run.admit(capacity + 1, capacity + 1)
        run.services.append(run.memory.read(4096, 3))
        return bytes(capacity + 1)

    with pytest.raises(RuntimeError, match="3 bytes after 3"):
        run_guest(one_call(gene, (0, 0, 4096, 2)), functions=function(broken), services=services)
    with pytest.raises(RuntimeError, match="65537 bytes after 65537"):
        run_guest(one_call(gene, (0, 0, 0, PAGE), pages="1 1"), functions=function(broken), services=services)
    assert services == [b"..."] * 2


def test_call_from_the_start_function(run_guest: RunGuest, gene: Writer) -> None:
    """A start function's calls reach its memory, before there is an instance."""
    services: list[object] = []
    start = """(func $go (call $note (call $call (i32.const 64) (i32.const 3) (i32.const 80) (i32.const 3)))
        (call $peek (i32.const 80) (i32.const 4))) (start $go) (data (i32.const 64) "abc")"""
    run_guest(gene(imports=IMPORTS, extra=start), functions=function(echo), services=services)
    assert services == [3, b"abc\0"]
