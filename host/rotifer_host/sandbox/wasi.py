"""WASI preview 1 for genes: standard streams, clocks, randomness, sleep and exit; nothing else.

There are no arguments, no environment, no files and no sockets: those functions can
be imported, as language runtimes do, and answer "bad descriptor". The real-time clock
stands at the run's logical time; the monotonic one starts with the run; randomness is
the operating system's. Layouts and error numbers are those of `wasi_snapshot_preview1`.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from time import monotonic
from typing import Final

from rotifer_host import contract
from rotifer_host.sandbox.calls.registry import HostFunction, PlainFunction, ValueType
from rotifer_host.sandbox.execution import EXITED
from rotifer_host.sandbox.output import output_too_large
from rotifer_host.sandbox.result import Ending
from rotifer_host.sandbox.run import Run
from rotifer_host.sandbox.streams import Streams

__all__ = ["wasi_functions"]

_MODULE: Final = "wasi_snapshot_preview1"

_SUCCESS: Final = 0
_BADF: Final = 8
_FAULT: Final = 21
_INVAL: Final = 28
_NOSYS: Final = 52
_SPIPE: Final = 70

_CHARACTER_DEVICE: Final = 2
_RIGHT_READ: Final = 1 << 1
_RIGHT_WRITE: Final = 1 << 6
_REALTIME: Final = 0
_MONOTONIC: Final = 1
_CLOCK_RESOLUTION_NS: Final = {_REALTIME: 1_000_000, _MONOTONIC: 1}

_MAX_BUFFERS: Final = 1024
_LARGEST_U32: Final = 0xFFFF_FFFF
_MAX_SUBSCRIPTIONS: Final = 1024
_RANDOM_CHUNK: Final = 65_536
_SLEEP_STEP_S: Final = 0.010

_SUBSCRIPTION: Final = struct.Struct("<QB7xIxxxxQQH6x")
_EVENT: Final = struct.Struct("<QHBxxxxxQHxxxxxx")
_CLOCK_EVENT: Final = 0
_READ_EVENT: Final = 1
_WRITE_EVENT: Final = 2
_ABSOLUTE: Final = 1

_Handler = Callable[..., int | None]


def _nothing(_run: Run, *_arguments: int) -> int:
    return _SUCCESS


def _bad_descriptor(_run: Run, *_arguments: int) -> int:
    return _BADF


def _no_signals(_run: Run, _signal: int) -> int:
    return _NOSYS


def _no_strings(run: Run, count_at: int, size_at: int) -> int:
    """Say that there are no arguments, or no environment."""
    if not run.memory.fits(count_at, 4) or not run.memory.fits(size_at, 4):
        return _FAULT
    run.memory.write(count_at, bytes(4))
    run.memory.write(size_at, bytes(4))
    return _SUCCESS


def _proc_exit(run: Run, status: int) -> None:
    run.stop(Ending("failed", "EXIT_STATUS", f"exited with status {status}") if status else EXITED)


def _random_get(run: Run, address: int, length: int) -> int:
    if not run.memory.fits(address, length):
        return _FAULT
    run.charge(length)
    for at in range(address, address + length, _RANDOM_CHUNK):
        run.memory.write(at, os.urandom(min(_RANDOM_CHUNK, address + length - at)))
    return _SUCCESS


# Clocks and sleep.


def _clock_res_get(run: Run, clock: int, out: int) -> int:
    resolution = _CLOCK_RESOLUTION_NS.get(clock)
    if resolution is None:
        return _INVAL
    return _put(run, out, resolution.to_bytes(8, "little"))


def _clock_time_get(run: Run, clock: int, _precision: int, out: int) -> int:
    now = _now_ns(run, clock)
    return _INVAL if now is None else _put(run, out, now.to_bytes(8, "little"))


def _now_ns(run: Run, clock: int) -> int | None:
    if clock == _REALTIME:
        return run.logical_ms * 1_000_000
    if clock == _MONOTONIC:
        return int((monotonic() - run.started) * 1_000_000_000)
    return None


def _poll_oneoff(run: Run, subscriptions_at: int, events_at: int, count: int, count_at: int) -> int:
    """Wait for the first of some events: streams are always ready, clocks when their time comes."""
    if not 0 < count <= _MAX_SUBSCRIPTIONS:
        return _INVAL
    data = run.memory.read(subscriptions_at, count * _SUBSCRIPTION.size)
    if data is None or not run.memory.fits(events_at, count * _EVENT.size) or not run.memory.fits(count_at, 4):
        return _FAULT
    run.charge(len(data))
    ready, sleepers = [], []
    for userdata, kind, number, timeout, _precision, flags in _SUBSCRIPTION.iter_unpack(data):
        now = _now_ns(run, number) if kind == _CLOCK_EVENT else None
        if now is not None:
            wait_ns = timeout - now if flags & _ABSOLUTE else timeout
            sleepers.append((max(wait_ns, 0) / 1_000_000_000, _EVENT.pack(userdata, _SUCCESS, kind, 0, 0)))
        elif kind in (_READ_EVENT, _WRITE_EVENT) and _open(run, number):
            available = len(run.streams.input) - run.streams.position if kind == _READ_EVENT else 0
            ready.append(_EVENT.pack(userdata, _SUCCESS, kind, available, 0))
        else:
            ready.append(_EVENT.pack(userdata, _INVAL if kind == _CLOCK_EVENT else _BADF, kind, 0, 0))
    if not ready:
        nap_s = min(seconds for seconds, _ in sleepers)
        _sleep(run, nap_s)
        ready = [event for seconds, event in sleepers if seconds <= nap_s]
    run.memory.write(events_at, b"".join(ready))
    return _put(run, count_at, len(ready).to_bytes(4, "little"))


def _sleep(run: Run, seconds: float) -> None:
    """Sleep in small steps; ends the run when its deadline or host time is over first."""
    started = monotonic()
    while (left := started + seconds - monotonic()) > 0:
        host_time = run.host_time.remaining_s - (monotonic() - started)
        if host_time <= 0 or run.overdue() is not None:
            run.stop(run.overdue() or run.out_of_host_time())
        time.sleep(min(left, host_time, _SLEEP_STEP_S, max(run.deadline.expiry - monotonic(), 0)))


# Streams.


def _open(run: Run, descriptor: int) -> bool:
    return descriptor <= Streams.STDERR and descriptor not in run.streams.closed


def _on_stream(answer: int) -> Callable[..., int]:
    """Return a function that answers this for an open stream, "bad descriptor" for anything else."""

    def handler(run: Run, descriptor: int, *_arguments: int) -> int:
        return answer if _open(run, descriptor) else _BADF

    return handler


def _fd_close(run: Run, descriptor: int) -> int:
    if not _open(run, descriptor):
        return _BADF
    run.streams.closed.add(descriptor)
    return _SUCCESS


def _fd_fdstat_get(run: Run, descriptor: int, out: int) -> int:
    if not _open(run, descriptor):
        return _BADF
    rights = _RIGHT_READ if descriptor == Streams.STDIN else _RIGHT_WRITE
    return _put(run, out, struct.pack("<BxHxxxxQQ", _CHARACTER_DEVICE, 0, rights, 0))


def _fd_filestat_get(run: Run, descriptor: int, out: int) -> int:
    if not _open(run, descriptor):
        return _BADF
    return _put(run, out, struct.pack("<QQB7xQQQQQ", 0, 0, _CHARACTER_DEVICE, 1, 0, 0, 0, 0))


def _fd_read(run: Run, descriptor: int, buffers_at: int, count: int, read_at: int) -> int:
    if descriptor != Streams.STDIN or not _open(run, descriptor):
        return _BADF
    buffers = _buffers(run, buffers_at, count, read_at)
    if isinstance(buffers, int):
        return buffers
    streams = run.streams
    available = len(streams.input) - streams.position
    total = min(sum(length for _, length in buffers), available)
    run.charge(total)
    for address, length in buffers:
        chunk = streams.input[streams.position : streams.position + length]
        run.memory.write(address, chunk)
        streams.position += len(chunk)
    return _put(run, read_at, total.to_bytes(4, "little"))


def _fd_write(run: Run, descriptor: int, buffers_at: int, count: int, written_at: int) -> int:
    if descriptor not in (Streams.STDOUT, Streams.STDERR) or not _open(run, descriptor):
        return _BADF
    buffers = _buffers(run, buffers_at, count, written_at)
    if isinstance(buffers, int):
        return buffers
    total = sum(length for _, length in buffers)
    if total > _LARGEST_U32:
        return _INVAL
    run.charge(total)
    streams = run.streams
    if descriptor == Streams.STDOUT and streams.output is not None:
        if len(streams.output) + total > contract.MAX_OUTPUT_BYTES:
            run.stop(output_too_large())
        for address, length in buffers:
            streams.output += run.memory.read(address, length) or b""
    else:
        text = streams.stderr if descriptor == Streams.STDERR else streams.log
        for address, length in buffers:
            kept = run.memory.read(address, min(length, text.room)) or b""
            text.add(kept)
            text.dropped += length - len(kept)
    return _put(run, written_at, total.to_bytes(4, "little"))


def _buffers(run: Run, buffers_at: int, count: int, result_at: int) -> list[tuple[int, int]] | int:
    """Return the (address, length) pairs of a scatter list that lies inside memory as a whole, else an error number."""
    if count > _MAX_BUFFERS:
        return _INVAL
    data = run.memory.read(buffers_at, count * 8)
    if data is None or not run.memory.fits(result_at, 4):
        return _FAULT
    buffers = list(struct.iter_unpack("<II", data))
    if not all(run.memory.fits(address, length) for address, length in buffers):
        return _FAULT
    return buffers


def _put(run: Run, address: int, data: bytes) -> int:
    return _SUCCESS if run.memory.write(address, data) else _FAULT


# The table: parameters are `i` for i32 and `I` for i64.

_WORKING: Final[dict[str, tuple[str, _Handler]]] = {
    "args_get": ("i i", _nothing),
    "args_sizes_get": ("i i", _no_strings),
    "environ_get": ("i i", _nothing),
    "environ_sizes_get": ("i i", _no_strings),
    "clock_res_get": ("i i", _clock_res_get),
    "clock_time_get": ("i I i", _clock_time_get),
    "fd_close": ("i", _fd_close),
    "fd_fdstat_get": ("i i", _fd_fdstat_get),
    "fd_fdstat_set_flags": ("i i", _on_stream(_SUCCESS)),
    "fd_filestat_get": ("i i", _fd_filestat_get),
    "fd_read": ("i i i i", _fd_read),
    "fd_seek": ("i I i i", _on_stream(_SPIPE)),
    "fd_tell": ("i i", _on_stream(_SPIPE)),
    "fd_write": ("i i i i", _fd_write),
    "poll_oneoff": ("i i i i", _poll_oneoff),
    "proc_exit": ("i", _proc_exit),
    "proc_raise": ("i", _no_signals),
    "random_get": ("i i", _random_get),
    "sched_yield": ("", _nothing),
}

_FILES_AND_SOCKETS: Final = {
    "fd_advise": "i I I i",
    "fd_allocate": "i I I",
    "fd_datasync": "i",
    "fd_fdstat_set_rights": "i I I",
    "fd_filestat_set_size": "i I",
    "fd_filestat_set_times": "i I I i",
    "fd_pread": "i i i I i",
    "fd_prestat_dir_name": "i i i",
    "fd_prestat_get": "i i",
    "fd_pwrite": "i i i I i",
    "fd_readdir": "i i i I i",
    "fd_renumber": "i i",
    "fd_sync": "i",
    "path_create_directory": "i i i",
    "path_filestat_get": "i i i i i",
    "path_filestat_set_times": "i i i i I I i",
    "path_link": "i i i i i i i",
    "path_open": "i i i i i I I i i",
    "path_readlink": "i i i i i i",
    "path_remove_directory": "i i i",
    "path_rename": "i i i i i i",
    "path_symlink": "i i i i i",
    "path_unlink_file": "i i i",
    "sock_accept": "i i i",
    "sock_recv": "i i i i i i",
    "sock_send": "i i i i i",
    "sock_shutdown": "i i",
}


def wasi_functions() -> tuple[HostFunction, ...]:
    """Return all 46 functions of `wasi_snapshot_preview1`."""
    table = {name: (params, _bad_descriptor) for name, params in _FILES_AND_SOCKETS.items()} | _WORKING
    return tuple(_function(name, params, handler) for name, (params, handler) in sorted(table.items()))


def _function(name: str, params: str, handler: _Handler) -> PlainFunction:
    types: tuple[ValueType, ...] = tuple("i64" if letter == "I" else "i32" for letter in params.split())
    return PlainFunction(_MODULE, name, types, () if name == "proc_exit" else ("i32",), handler)
