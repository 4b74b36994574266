"""Guests in WebAssembly text, and one way to run them on every call path."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from rotifer_host.limits import Limits
from rotifer_host.sandbox import (
    Deadline,
    GuestResult,
    HostFunction,
    HostFunctions,
    HostTime,
    PlainFunction,
    Run,
    Sandbox,
    assemble,
    available_call_paths,
    core_functions,
    wasi_functions,
)


@pytest.fixture(params=available_call_paths())
def call_path(request: pytest.FixtureRequest) -> str:
    """Name each call path that works here."""
    return str(request.param)


def _note(run: Run, value: int) -> None:
    assert isinstance(run.services, list)
    run.services.append(value - (value >> 31 << 32))


def _peek(run: Run, address: int, length: int) -> None:
    assert isinstance(run.services, list)
    run.services.append(run.memory.read(address, length))


NOTES = (
    PlainFunction("test", "note", ("i32",), (), _note),
    PlainFunction("test", "peek", ("i32", "i32"), (), _peek),
)
"""`test.note(i32)` and `test.peek(address, length)` append what they are given to the list in `services`."""


@pytest.fixture
def sandbox(call_path: str) -> Callable[..., Sandbox]:
    """Return a maker of sandboxes with every core function and the given ones."""

    def make(*functions: HostFunction) -> Sandbox:
        return Sandbox(HostFunctions(core_functions(), wasi_functions(), NOTES, functions), call_path=call_path)

    return make


@pytest.fixture
def run_guest(sandbox: Callable[..., Sandbox]) -> Callable[..., GuestResult]:
    """Return a function that runs a module in WebAssembly text once."""

    def run(  # noqa: PLR0913 - what a run can be given
        wat: str,
        document: bytes = b"{}",
        *,
        functions: tuple[HostFunction, ...] = (),
        services: object = None,
        limits: Limits | None = None,
        deadline: Deadline | None = None,
        host_time: HostTime | None = None,
        context: Mapping[str, object] | None = None,
        logical_ms: int = 0,
        version: memoryview | None = None,
    ) -> GuestResult:
        box = sandbox(*functions)
        allowed = limits or Limits()
        return box.run(
            box.load(assemble(wat), name="guest"),
            document,
            limits=allowed,
            deadline=deadline or Deadline(allowed.deadline_ms),
            host_time=host_time or HostTime(allowed.host_time_ms),
            services=[] if services is None else services,
            context=context or {},
            logical_ms=logical_ms,
            version=version,
        )

    return run


@pytest.fixture
def tickers() -> Callable[[], set[int | None]]:
    """Return a function that returns the threads of all tickers, by the system's number."""
    name = "rotifer-ticker"

    def find() -> set[int | None]:
        found = {thread.native_id for thread in threading.enumerate() if thread.name == name}
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError):  # it has just ended
                if (task / "comm").read_text(encoding="utf-8").strip() == name:
                    found.add(int(task.name))
        return found

    return find


@pytest.fixture
def gene() -> Callable[..., str]:
    """Return a writer of direct-mode genes: `express` runs `body` and returns the text `output` at address 1024."""

    def write(body: str = "", *, imports: str = "", extra: str = "", pages: str = "1", output: str = "1") -> str:
        text = output.replace("\\", "\\\\").replace('"', '\\"')
        return f"""(module {imports}
            (memory (export "memory") {pages})
            (data (i32.const 1024) "{text}\\00")
            {extra}
            (func (export "express") (param $in i32) (param $len i32) (result i32) {body} (i32.const 1024)))"""

    return write


@pytest.fixture
def program() -> Callable[..., str]:
    """Return a writer of WASI programs: `_start` runs `body`; `$write(fd, address, length)` is there."""

    def write(body: str = "", *, imports: str = "", extra: str = "", pages: str = "1") -> str:
        return f"""(module {imports}
            (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (memory (export "memory") {pages})
            {extra}
            (func $write (param i32 i32 i32)
                (i32.store (i32.const 0) (local.get 1)) (i32.store (i32.const 4) (local.get 2))
                (drop (call $fd_write (local.get 0) (i32.const 0) (i32.const 1) (i32.const 8))))
            (func (export "_start") {body}))"""

    return write
