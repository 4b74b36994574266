"""WASI preview 1: streams, clocks, randomness, sleep, exit, and everything that is not there."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

import pytest

from rotifer_host.contract import MAX_LOG_BYTES, MAX_OUTPUT_BYTES
from rotifer_host.limits import Limits
from rotifer_host.sandbox import Deadline, GuestResult, HostTime, wasi_functions

RunGuest = Callable[..., GuestResult]
Writer = Callable[..., str]

NAMES = [
    "args_get",
    "args_sizes_get",
    "clock_res_get",
    "clock_time_get",
    "environ_get",
    "environ_sizes_get",
    "fd_advise",
    "fd_allocate",
    "fd_close",
    "fd_datasync",
    "fd_fdstat_get",
    "fd_fdstat_set_flags",
    "fd_fdstat_set_rights",
    "fd_filestat_get",
    "fd_filestat_set_size",
    "fd_filestat_set_times",
    "fd_pread",
    "fd_prestat_dir_name",
    "fd_prestat_get",
    "fd_pwrite",
    "fd_read",
    "fd_readdir",
    "fd_renumber",
    "fd_seek",
    "fd_sync",
    "fd_tell",
    "fd_write",
    "path_create_directory",
    "path_filestat_get",
    "path_filestat_set_times",
    "path_link",
    "path_open",
    "path_readlink",
    "path_remove_directory",
    "path_rename",
    "path_symlink",
    "path_unlink_file",
    "poll_oneoff",
    "proc_exit",
    "proc_raise",
    "random_get",
    "sched_yield",
    "sock_accept",
    "sock_recv",
    "sock_send",
    "sock_shutdown",
]
SIGNATURES = {function.name: function for function in wasi_functions()}
NOTES = '(import "test" "note" (func $note (param i32))) (import "test" "peek" (func $peek (param i32 i32)))'


def imports(*names: str) -> str:
    """Import WASI functions under their own names, besides the test's."""
    lines = [NOTES]
    for name in names:
        function = SIGNATURES[name]
        params, results = " ".join(function.params), " ".join(function.results)
        lines.append(f'(import "wasi_snapshot_preview1" "{name}" (func ${name} (param {params}) (result {results})))')
    return "\n".join(lines)


def call(name: str, *arguments: int) -> str:
    """Write a call that notes its result."""
    values = " ".join(f"({kind}.const {value})" for kind, value in zip(SIGNATURES[name].params, arguments, strict=True))
    return f"(call $note (call ${name} {values}))"


def test_all_functions_are_there(run_guest: RunGuest, gene: Writer) -> None:
    """All 46 functions of preview 1 can be imported, also by a direct-mode gene."""
    assert sorted(SIGNATURES) == sorted(NAMES)
    assert len(NAMES) == 46
    assert run_guest(gene(imports=imports(*NAMES))).status == "ok"


BAD_DESCRIPTOR = 8
REFUSED = [name for name in NAMES if name.startswith(("path_", "sock_"))] + ["fd_prestat_get", "fd_prestat_dir_name"]


@pytest.mark.parametrize("name", REFUSED)
def test_no_files_and_no_sockets(run_guest: RunGuest, gene: Writer, name: str) -> None:
    """File and socket functions answer "bad descriptor", for a preopened folder as for anything else."""
    services: list[int] = []
    arguments = (3,) + (0,) * (len(SIGNATURES[name].params) - 1)
    run_guest(gene(call(name, *arguments), imports=imports(name)), services=services)
    assert services == [BAD_DESCRIPTOR]


CALLS = [
    # function, arguments, error number, bytes at 4096 afterwards
    ("args_sizes_get", (4096, 4100), 0, bytes(8)),
    ("environ_sizes_get", (4096, 4100), 0, bytes(8)),
    ("args_sizes_get", (4096, 65533), 21, b"........"),
    ("args_get", (0, 0), 0, b"........"),
    ("environ_get", (0, 0), 0, b"........"),
    ("clock_res_get", (0, 4096), 0, struct.pack("<Q", 1_000_000)),
    ("clock_res_get", (1, 4096), 0, struct.pack("<Q", 1)),
    ("clock_res_get", (2, 4096), 28, b"........"),
    ("clock_res_get", (0, 65529), 21, b"........"),
    ("clock_time_get", (0, 0, 4096), 0, struct.pack("<Q", 1_700_000_000_123_000_000)),
    ("clock_time_get", (3, 0, 4096), 28, b"........"),
    ("clock_time_get", (0, 0, -1), 21, b"........"),
    ("fd_fdstat_get", (0, 4096), 0, b"\x02\0\0\0\0\0\0\0\x02" + bytes(15)),
    ("fd_fdstat_get", (1, 4096), 0, b"\x02\0\0\0\0\0\0\0\x40" + bytes(15)),
    ("fd_fdstat_get", (3, 4096), 8, b"........"),
    ("fd_fdstat_get", (1, 65513), 21, b"........"),
    ("fd_filestat_get", (2, 4096), 0, bytes(16) + b"\x02" + bytes(7) + b"\x01" + bytes(39)),
    ("fd_filestat_get", (3, 4096), 8, b"........"),
    ("fd_fdstat_set_flags", (1, 4), 0, b"........"),
    ("fd_fdstat_set_flags", (9, 4), 8, b"........"),
    ("fd_seek", (1, 0, 1, 4096), 70, b"........"),
    ("fd_seek", (4, 0, 1, 4096), 8, b"........"),
    ("fd_tell", (0, 4096), 70, b"........"),
    ("fd_close", (3,), 8, b"........"),
    ("fd_close", (-1,), 8, b"........"),
    ("proc_raise", (9,), 52, b"........"),
    ("sched_yield", (), 0, b"........"),
    ("random_get", (4096, 0), 0, b"........"),
    ("random_get", (65536, 1), 21, b"........"),
    ("random_get", (0, -1), 21, b"........"),
    ("fd_read", (1, 0, 0, 4096), 8, b"........"),
    ("fd_read", (0, 0, 0, 4096), 0, bytes(4)),
    ("fd_read", (0, 65529, 1, 4096), 21, b"........"),
    ("fd_read", (0, 0, 0, 65533), 21, b"........"),
    ("fd_read", (0, 0, 1025, 4096), 28, b"........"),
    ("fd_read", (0, 0, -1, 4096), 28, b"........"),
    ("fd_write", (0, 0, 0, 4096), 8, b"........"),
    ("fd_write", (3, 0, 0, 4096), 8, b"........"),
    ("fd_write", (1, 0, 0, 4096), 0, bytes(4)),
    ("fd_write", (1, 65529, 1, 4096), 21, b"........"),
    ("fd_write", (1, 2048, 1, 4096), 21, b"........"),
    ("fd_write", (1, 2056, 1, 4096), 21, b"........"),
    ("poll_oneoff", (0, 0, 0, 4096), 28, b"........"),
    ("poll_oneoff", (0, 0, 1025, 4096), 28, b"........"),
    ("poll_oneoff", (65500, 0, 1, 4096), 21, b"........"),
    ("poll_oneoff", (0, 65510, 1, 4096), 21, b"........"),
    ("poll_oneoff", (0, 0, 1, 65534), 21, b"........"),
]


@pytest.mark.parametrize(("name", "arguments", "number", "written"), CALLS, ids=[f"{row[0]}{row[1]}" for row in CALLS])
def test_calls(  # noqa: PLR0913, PLR0917 - a row of the table
    run_guest: RunGuest, gene: Writer, name: str, arguments: tuple[int, ...], number: int, written: bytes
) -> None:
    """Each function answers with its error number, and writes only what it should."""
    services: list[object] = []
    body = f"(memory.fill (i32.const 4096) (i32.const 0x2e) (i32.const 64)) {call(name, *arguments)}"
    outside = '(data (i32.const 2048) "\\ff\\ff\\00\\00\\02\\00\\00\\00" "\\f0\\ff\\ff\\ff\\08\\00\\00\\00")'
    wat = gene(f"{body} (call $peek (i32.const 4096) (i32.const 64))", imports=imports(name), extra=outside)
    result = run_guest(wat, services=services, logical_ms=1_700_000_000_123)
    assert result.status == "ok"
    assert services[0] == number
    assert services[1] == written.ljust(64, b".")


def test_closed_stream(run_guest: RunGuest, gene: Writer) -> None:
    """A stream that was closed is a bad descriptor."""
    services: list[int] = []
    body = call("fd_close", 1) + call("fd_close", 1) + call("fd_write", 1, 0, 0, 64) + call("fd_fdstat_get", 1, 64)
    run_guest(gene(body, imports=imports("fd_close", "fd_write", "fd_fdstat_get")), services=services)
    assert services == [0, 8, 8, 8]


CAT = """(module (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1) {iovecs}
    (func (export "_start") (local $n i32) (local $left i32)
        (loop $more
            (drop (call $read (i32.const 0) (i32.const 0) (i32.const {count}) (i32.const 1000)))
            (local.set $left (i32.load (i32.const 1000)))
            (if (local.get $left) (then
                (i32.store (i32.const 1008) (i32.const 2000)) (i32.store (i32.const 1012) (local.get $left))
                (drop (call $write (i32.const 1) (i32.const 1008) (i32.const 1) (i32.const 1000)))
                (br $more))))))"""


@pytest.mark.parametrize("sizes", [(1000,), (1,), (7,), (0, 3, 0, 2), (5, 0, 100), (1,) * 100])
def test_input_through_many_buffers(run_guest: RunGuest, sizes: tuple[int, ...]) -> None:
    """Input is handed out piece by piece into whatever buffers the guest offers, and nothing is lost."""
    document = b'{"text":"' + bytes(range(48, 123)).replace(b"\\", b"") + b'"}'
    data, at = b"", 2000
    for size in sizes:
        data += struct.pack("<II", at, size)
        at += size
    iovecs = '(data (i32.const 0) "' + "".join(f"\\{byte:02x}" for byte in data) + '")'
    result = run_guest(CAT.format(iovecs=iovecs, count=len(sizes)), document)
    assert (result.status, result.output_json) == ("ok", document)


def test_output_in_pieces(run_guest: RunGuest, program: Writer) -> None:
    """Standard output is one document, whatever calls and white space it came in."""
    body = "".join(f"(call $write (i32.const 1) (i32.const {address}) (i32.const 2))" for address in (100, 102, 104))
    assert run_guest(program(body, extra='(data (i32.const 100) " [1]\\0a\\0a")')).output == [1]


OUTPUTS = [
    ("", "BAD_OUTPUT", "nothing was written"),
    ("(call $exit (i32.const 0))", "BAD_OUTPUT", "nothing was written"),
    ("(call $write (i32.const 1) (i32.const 100) (i32.const 1))", "BAD_OUTPUT", "not one JSON document"),
    ("(call $exit (i32.const 3))", "EXIT_STATUS", "exited with status 3"),
    ("(call $exit (i32.const -1))", "EXIT_STATUS", "exited with status 4294967295"),
    ("(unreachable)", "TRAP", "unreachable"),
]


@pytest.mark.parametrize(("body", "code", "words"), OUTPUTS)
def test_failed_programs(run_guest: RunGuest, program: Writer, body: str, code: str, words: str) -> None:
    """A program fails by its exit status, by a trap, or by writing no document."""
    result = run_guest(program(body, extra='(data (i32.const 100) "[")'))
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", code)
    assert words in result.error.message


@pytest.mark.parametrize("status", [0, 1])
def test_exit_stops_the_guest(run_guest: RunGuest, program: Writer, status: int) -> None:
    """Nothing runs after `proc_exit`; with status 0 the output written so far is the output."""
    body = f"""(call $write (i32.const 1) (i32.const 100) (i32.const 1)) (call $exit (i32.const {status}))
        (call $write (i32.const 1) (i32.const 100) (i32.const 1)) (unreachable)"""
    result = run_guest(program(body, extra='(data (i32.const 100) "7")'))
    assert (result.status, result.output) == (("ok", 7) if status == 0 else ("failed", None))


def test_exit_of_a_direct_gene(run_guest: RunGuest, gene: Writer) -> None:
    """A direct-mode gene that exits has no output, whatever its status."""
    wat = gene("(call $proc_exit (i32.const 0))", imports=imports("proc_exit").replace("(result )", ""))
    result = run_guest(wat)
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "BAD_OUTPUT")


def test_streams_of_a_direct_gene(run_guest: RunGuest, gene: Writer) -> None:
    """In direct mode standard input is empty, what is printed goes to the log, stderr to stderr."""
    services: list[object] = []
    body = (
        call("fd_read", 0, 2048, 1, 4096)
        + "(call $peek (i32.const 4096) (i32.const 4))"
        + call("fd_write", 1, 2048, 1, 4096)
        + call("fd_write", 2, 2048, 1, 4096)
    )
    extra = '(data (i32.const 2048) "\\64\\00\\00\\00\\03\\00\\00\\00") (data (i32.const 100) "hi\\0a")'
    result = run_guest(gene(body, imports=imports("fd_read", "fd_write"), extra=extra), services=services)
    assert services == [0, bytes(4), 0, 0]
    assert (result.output, result.log, result.stderr) == (1, "hi\n", "hi\n")


def test_output_limit(run_guest: RunGuest, program: Writer) -> None:
    """A program that writes more than 16 MiB is stopped at once, before anything is copied."""
    write = "(call $write (i32.const 1) (i32.const 100) (i32.const {}))"
    fits = write.format(1) + f"(memory.fill (i32.const 100) (i32.const 0x20) (i32.const {MAX_OUTPUT_BYTES - 1}))"
    body = fits + write.format(MAX_OUTPUT_BYTES - 1)
    extra = '(data (i32.const 100) "7")'
    assert run_guest(program(body, extra=extra, pages="300")).output == 7
    result = run_guest(program(body + write.format(1) + "(unreachable)", extra=extra, pages="300"))
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "OUTPUT_TOO_LARGE")


def test_stderr_limit(run_guest: RunGuest, program: Writer) -> None:
    """64 KiB of stderr are kept, the rest is counted."""
    body = "(call $write (i32.const 2) (i32.const 100) (i32.const 50000))" * 3
    result = run_guest(program(body + "(unreachable)"))
    assert (len(result.stderr), result.stderr_dropped) == (MAX_LOG_BYTES, 150_000 - MAX_LOG_BYTES)


def test_random_bytes(run_guest: RunGuest, gene: Writer) -> None:
    """Randomness fills the whole range, across the host's chunks, and differs each time."""
    services: list[bytes] = []
    body = (call("random_get", 65536, 100_000) + "(call $peek (i32.const 65536) (i32.const 100001))") * 2
    run_guest(gene(body, imports=imports("random_get"), pages="4"), services=services)
    first, second = services[1], services[3]
    assert first != second
    assert first[:64] != bytes(64) != first[99_936:100_000]
    assert first[100_000] == 0


def test_monotonic_clock(run_guest: RunGuest, gene: Writer) -> None:
    """The monotonic clock starts near zero with the run and does not go back."""
    services: list[object] = []
    body = (call("clock_time_get", 1, 0, 4096) + "(call $peek (i32.const 4096) (i32.const 8))") * 2
    run_guest(gene(body, imports=imports("clock_time_get")), services=services)
    first, second = (int.from_bytes(data, "little") for data in services if isinstance(data, bytes))
    assert 0 < first <= second < 60 * 10**9


def subscription(userdata: int, kind: int, number: int, timeout_ns: int = 0, flags: int = 0) -> bytes:
    """Pack a subscription."""
    return struct.pack("<QB7xI4xQQH6x", userdata, kind, number, timeout_ns, 0, flags)


def poll(gene: Writer, *subscriptions: bytes) -> str:
    """Write a gene that polls once and shows count and events."""
    data = "".join(f"\\{byte:02x}" for byte in b"".join(subscriptions))
    body = call("poll_oneoff", 2048, 4096, len(subscriptions), 4000)
    shown = "(call $peek (i32.const 4000) (i32.const 4)) (call $peek (i32.const 4096) (i32.const 128))"
    return gene(body + shown, imports=imports("poll_oneoff"), extra=f'(data (i32.const 2048) "{data}")')


def events(services: list[object]) -> list[tuple[int, int, int]]:
    """Unpack userdata, error number and kind of the events."""
    number, count, data = services
    assert number == 0
    assert isinstance(count, bytes)
    assert isinstance(data, bytes)
    return [struct.unpack_from("<QHB", data, 32 * at) for at in range(int.from_bytes(count, "little"))]


POLLS = [
    ([subscription(1, 0, 1, 5_000_000)], [(1, 0, 0)]),
    ([subscription(1, 0, 1, 10**15), subscription(2, 0, 1, 1_000_000)], [(2, 0, 0)]),
    ([subscription(1, 0, 1, 10**15), subscription(2, 2, 1)], [(2, 0, 2)]),
    ([subscription(1, 1, 0), subscription(2, 2, 2)], [(1, 0, 1), (2, 0, 2)]),
    ([subscription(1, 1, 5)], [(1, 8, 1)]),
    ([subscription(1, 0, 2, 1)], [(1, 28, 0)]),
    ([subscription(1, 7, 0)], [(1, 8, 7)]),
    ([subscription(1, 0, 0, 1_700_000_000_124_000_000, 1)], [(1, 0, 0)]),
    ([subscription(1, 0, 1, 0, 1)], [(1, 0, 0)]),
    ([subscription(1, 0, 0, 5, 1)], [(1, 0, 0)]),
]


@pytest.mark.parametrize(("subscriptions", "expected"), POLLS)
def test_poll(
    run_guest: RunGuest, gene: Writer, subscriptions: list[bytes], expected: list[tuple[int, int, int]]
) -> None:
    """Streams are ready at once; clocks when their time comes; what cannot happen is told."""
    services: list[object] = []
    run_guest(poll(gene, *subscriptions), services=services, logical_ms=1_700_000_000_123)
    assert events(services) == expected


def test_sleep_lasts(run_guest: RunGuest, gene: Writer) -> None:
    """A sleep takes at least as long as asked for, and counts as host time."""
    host_time = HostTime(1_000)  # so little that it is counted by the precise clock
    started = time.monotonic()
    run_guest(poll(gene, subscription(1, 0, 1, 30_000_000)), host_time=host_time)
    assert time.monotonic() - started >= 0.03
    assert host_time.spent_s >= 0.03


def test_sleep_ends_with_the_deadline(run_guest: RunGuest, gene: Writer) -> None:
    """No sleep outlives the deadline."""
    deadline = Deadline(30)
    result = run_guest(poll(gene, subscription(1, 0, 1, 10**15)), deadline=deadline)
    assert result.error is not None
    assert (result.status, result.error.code) == ("limit", "DEADLINE_EXCEEDED")
    assert deadline.passed


def test_sleep_ends_with_host_time(run_guest: RunGuest, gene: Writer) -> None:
    """A sleep ends when the run's host time is used up."""
    result = run_guest(poll(gene, subscription(1, 0, 1, 10**15)), host_time=HostTime(30))
    assert result.error is not None
    assert (result.status, result.error.code) == ("limit", "HOST_TIME_EXCEEDED")


def test_writes_are_paid_for(run_guest: RunGuest, program: Writer) -> None:
    """Bytes written cost fuel; a program that cannot pay for them is out of fuel."""
    body = "(call $write (i32.const 2) (i32.const 0) (i32.const 60000))"
    result = run_guest(program(body), limits=Limits(fuel=100_000))
    assert result.error is not None
    assert (result.status, result.error.code) == ("limit", "FUEL_EXHAUSTED")
