"""The host functions every gene may import besides the memory calls: log, context, budget, time, abort."""

from __future__ import annotations

from typing import Final

from rotifer_host import contract
from rotifer_host.sandbox.calls.registry import HostFunction, PlainFunction
from rotifer_host.sandbox.documents import encode_document
from rotifer_host.sandbox.result import Ending
from rotifer_host.sandbox.run import Run

__all__ = ["core_functions"]

_LEVELS: Final = ("debug", "info", "warn", "error")
_INFO: Final = 1
_MAX_CONTEXT_KEY_BYTES: Final = 1024
_MAX_ABORT_BYTES: Final = 4096
_LENGTH_BYTES: Final = 4
_UNKNOWN_KEY: Final = 0


def core_functions() -> tuple[HostFunction, ...]:
    """Return `rotifer.log`, `readContext`, `remainingBudget`, `logicalTimestamp`, `env.log` and `env.abort`."""
    return (
        PlainFunction("rotifer", "log", ("i32", "i32", "i32"), (), _log),
        PlainFunction(
            "rotifer", "readContext", ("i32", "i32", "i32", "i32"), ("i32",), _read_context, contract.BUDGET_EXHAUSTED
        ),
        PlainFunction("rotifer", "remainingBudget", (), ("i64",), _remaining_budget),
        PlainFunction("rotifer", "logicalTimestamp", (), ("i64",), _logical_timestamp),
        PlainFunction("env", "log", ("i32", "i32"), (), _env_log),
        PlainFunction("env", "abort", ("i32", "i32", "i32", "i32"), (), _abort),
    )


def _log(run: Run, level: int, address: int, length: int) -> None:
    log = run.streams.log
    word = _LEVELS[min(level, len(_LEVELS) - 1)]
    if not run.memory.fits(address, length):
        log.add(f"error: log called with {length} bytes at {address}, which is not inside memory\n".encode())
        return
    run.charge(length)
    text = run.memory.read(address, min(length, log.room)) or b""
    log.add(b"%b: %b" % (word.encode(), text))
    log.dropped += length - len(text)
    log.add(b"\n")


def _env_log(run: Run, address: int, length: int) -> None:
    _log(run, _INFO, address, length)


def _read_context(run: Run, key_at: int, key_length: int, out: int, capacity: int) -> int:
    if not run.memory.fits(key_at, key_length) or not run.memory.fits(out, capacity):
        return contract.INVALID_INPUT
    run.charge(key_length)
    key = (run.memory.read(key_at, min(key_length, _MAX_CONTEXT_KEY_BYTES + 1)) or b"").decode("utf-8", "replace")
    if key not in run.context:
        return _UNKNOWN_KEY
    value = encode_document(run.context[key])
    if len(value) > capacity:
        return contract.BUFFER_TOO_SMALL
    run.charge(len(value))
    run.memory.write(out, value)
    return len(value)


def _remaining_budget(run: Run) -> int:
    return run.fuel.remaining()


def _logical_timestamp(run: Run) -> int:
    return run.logical_ms


def _abort(run: Run, message_at: int, file_at: int, line: int, column: int) -> None:
    message = _utf16(run, message_at) or "no message"
    file = _utf16(run, file_at) or "unknown file"
    run.stop(Ending("failed", "ABORTED", f"{message} ({file}:{line}:{column})"))


def _utf16(run: Run, address: int) -> str:
    """Return an AssemblyScript string: UTF-16 after its length in bytes; empty when there is none."""
    if address < _LENGTH_BYTES:
        return ""
    length = run.memory.read_u32(address - _LENGTH_BYTES) or 0
    text = run.memory.read(address, min(length, _MAX_ABORT_BYTES) & ~1)
    return "" if text is None else text.decode("utf-16-le", "replace")
