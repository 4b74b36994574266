"""log, readContext, remainingBudget, logicalTimestamp and env.log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rotifer_host.contract import MAX_LOG_BYTES
from rotifer_host.limits import Limits
from rotifer_host.sandbox import GuestResult

RunGuest = Callable[..., GuestResult]
Writer = Callable[..., str]

IMPORTS = """(import "rotifer" "log" (func $log (param i32 i32 i32)))
    (import "env" "log" (func $env_log (param i32 i32)))
    (import "rotifer" "readContext" (func $context (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "remainingBudget" (func $budget (result i64)))
    (import "rotifer" "logicalTimestamp" (func $time (result i64)))
    (import "test" "note" (func $note (param i32))) (import "test" "peek" (func $peek (param i32 i32)))"""
TEXT = '(data (i32.const 64) "hello\\c3\\a4\\ff")'


@pytest.mark.parametrize(
    ("level", "word"), [(0, "debug"), (1, "info"), (2, "warn"), (3, "error"), (4, "error"), (-1, "error")]
)
def test_log_levels(run_guest: RunGuest, gene: Writer, level: int, word: str) -> None:
    """Each line starts with its level in words; anything above 2 is an error."""
    wat = gene(f"(call $log (i32.const {level}) (i32.const 64) (i32.const 5))", imports=IMPORTS, extra=TEXT)
    assert run_guest(wat).log == f"{word}: hello\n"


def test_env_log(run_guest: RunGuest, gene: Writer) -> None:
    """The older log has no level; bytes that are not UTF-8 are replaced."""
    wat = gene("(call $env_log (i32.const 64) (i32.const 8))", imports=IMPORTS, extra=TEXT)
    assert run_guest(wat).log == "info: helloä\ufffd\n"


@pytest.mark.parametrize(("address", "length"), [(65536, 1), (-1, 1), (0, -1), (65537, 0)])
def test_log_outside_memory(run_guest: RunGuest, gene: Writer, address: int, length: int) -> None:
    """A log call with a bad range is itself logged, and ends nothing."""
    wat = gene(f"(call $log (i32.const 1) (i32.const {address}) (i32.const {length}))", imports=IMPORTS)
    result = run_guest(wat)
    assert result.status == "ok"
    assert result.log.startswith("error: log called with ")


def test_log_is_cut_and_counted(run_guest: RunGuest, gene: Writer) -> None:
    """64 KiB of log are kept, the rest is counted, however large it is."""
    loop = """(local $n i32) (loop (call $log (i32.const 1) (i32.const 0) (i32.const 60000))
        (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $n) (i32.const 10))))"""
    result = run_guest(gene(loop, imports=IMPORTS))
    assert len(result.log) == MAX_LOG_BYTES
    assert len(result.log) + result.log_dropped == 10 * (60_000 + len("info: \n"))


CONTEXT = {"agent_id": "a-1", "permissions": [], "timestamp": 5, "trace_id": "é"}
READS = [
    ("agent_id", 100, 5, b'"a-1"'),
    ("timestamp", 1, 1, b"5"),
    ("permissions", 2, 2, b"[]"),
    ("trace_id", 100, 4, '"é"'.encode()),
    ("agent_id", 5, 5, b'"a-1"'),
    ("agent_id", 4, -1, b""),
    ("agent_id", 0, -1, b""),
    ("nothing", 100, 0, b""),
    ("agent_id\\00", 100, 0, b""),
    ("\\ff", 100, 0, b""),
    ("", 100, 0, b""),
]


@pytest.mark.parametrize(("key", "capacity", "result", "written"), READS)
def test_read_context(  # noqa: PLR0913, PLR0917 - a row of the table
    run_guest: RunGuest, gene: Writer, key: str, capacity: int, result: int, written: bytes
) -> None:
    """A context value is JSON; 0 for an unknown key, -1 when it does not fit."""
    length = len(key.encode()) - 2 * key.count("\\")
    body = f"""(call $note (call $context (i32.const 64) (i32.const {length}) (i32.const 4096) (i32.const {capacity})))
        (call $peek (i32.const 4096) (i32.const 8))"""
    services: list[object] = []
    wat = gene(body, imports=IMPORTS, extra=f'(data (i32.const 64) "{key}")')
    run_guest(wat, services=services, context=CONTEXT)
    assert services == [result, written.ljust(8, b"\0")]


@pytest.mark.parametrize(
    "arguments", [(65536, 1, 0, 1), (-1, 1, 0, 1), (0, -1, 0, 1), (64, 8, -1, 1), (64, 8, 65536, 1), (64, 8, 0, -1)]
)
def test_read_context_outside_memory(run_guest: RunGuest, gene: Writer, arguments: tuple[int, ...]) -> None:
    """Ranges outside memory are -10."""
    values = " ".join(f"(i32.const {value})" for value in arguments)
    services: list[object] = []
    wat = gene(f"(call $note (call $context {values}))", imports=IMPORTS)
    run_guest(wat, services=services, context=CONTEXT)
    assert services == [-10]


def test_read_context_without_fuel(run_guest: RunGuest, gene: Writer) -> None:
    """A context that cannot be paid for is -4, and the run goes on."""
    body = "(drop (call $context (i32.const 0) (i32.const 65000) (i32.const 0) (i32.const 0)))"
    assert run_guest(gene(body, imports=IMPORTS), limits=Limits(fuel=30_000)).status == "ok"


def test_log_without_fuel(run_guest: RunGuest, gene: Writer) -> None:
    """A call that has no way to say so ends a run without fuel."""
    body = "(call $log (i32.const 1) (i32.const 0) (i32.const 60000))"
    result = run_guest(gene(body, imports=IMPORTS), limits=Limits(fuel=30_000))
    assert result.error is not None
    assert (result.status, result.error.code) == ("limit", "FUEL_EXHAUSTED")


def test_remaining_budget(run_guest: RunGuest, gene: Writer) -> None:
    """The budget left is fuel, and shrinks by what the guest does and calls."""
    body = "(call $note (i32.wrap_i64 (call $budget)))" * 2
    services: list[int] = []
    run_guest(gene(body, imports=IMPORTS), services=services, limits=Limits(fuel=1_000_000))
    assert 1_000_000 > services[0] > services[1] > 800_000


def test_logical_timestamp(run_guest: RunGuest, gene: Writer) -> None:
    """The logical time of a run is a number of milliseconds that fits no 32 bits."""
    body = "(i64.store (i32.const 64) (call $time)) (call $peek (i32.const 64) (i32.const 8))"
    services: list[bytes] = []
    run_guest(gene(body, imports=IMPORTS), services=services, logical_ms=1_700_000_000_123)
    assert int.from_bytes(services[0], "little") == 1_700_000_000_123
