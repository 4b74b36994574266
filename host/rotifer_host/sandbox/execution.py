"""From input to output: instantiate, feed, call, take.

The steps of both modes are part of the guest ABI (`abi/README.md`). Whatever goes
wrong ends the run through `run.stop`, as a host function would.
"""

from __future__ import annotations

from typing import Final, NoReturn

from rotifer_host import contract
from rotifer_host.limits import format_size
from rotifer_host.sandbox.calls import Store
from rotifer_host.sandbox.capi import Failure
from rotifer_host.sandbox.guest_memory import PAGE_BYTES
from rotifer_host.sandbox.module import ModuleInfo
from rotifer_host.sandbox.output import input_too_large, output_too_large
from rotifer_host.sandbox.result import Ending
from rotifer_host.sandbox.run import Run, RunStopped
from rotifer_host.sandbox.traps import at_memory_limit, ending_of

__all__ = ["EXITED", "execute", "express", "start", "take_output"]

EXITED: Final = Ending("ok", "EXITED", "exited with status 0")
"""`proc_exit(0)`: the normal end of a WASI program."""


def execute(run: Run, store: Store, linked: int, info: ModuleInfo, document: bytes) -> bytes:
    """Run a guest on a JSON document; returns the bytes of its output. Raises `RunStopped`."""
    start(run, store, linked, info, document)
    if info.mode == "wasi":
        _start(run, store, "_start")
        return written_output(run)
    return take_output(run, express(run, store, info, document))


def start(run: Run, store: Store, linked: int, info: ModuleInfo, document: bytes) -> None:
    """Make the instance, as far as it is ready for its first call. Raises `RunStopped`."""
    _check_limits(run, info, document)
    failure = store.instantiate(linked)
    if failure is not None:
        _fail(run, failure)
    if info.has_initialize:
        _start(run, store, "_initialize")


def express(run: Run, store: Store, info: ModuleInfo, document: bytes) -> int:
    """Give an instance in direct mode its input; returns the address of its output. Raises `RunStopped`."""
    address = _place_input(run, store, info, document)
    result = _call(run, store, "express", address, len(document))
    if result < 0:
        run.stop(Ending("failed", "GENE_ERROR", f"express returned {result}"))
    return result


def take_output(run: Run, address: int) -> bytes:
    """Return the output at `address`, up to its NUL or the end of memory. Raises `RunStopped`."""
    output = run.memory.read_until_nul(address, contract.MAX_OUTPUT_BYTES + 1)
    if output is None:
        run.stop(Ending("failed", "BAD_OUTPUT", f"express returned {address}, which is outside memory"))
    if len(output) > contract.MAX_OUTPUT_BYTES:
        run.stop(output_too_large())
    if not output:
        run.stop(Ending("failed", "BAD_OUTPUT", f"the output at {address} is empty"))
    return output


def written_output(run: Run) -> bytes:
    """Return what a WASI program wrote to standard output."""
    if not run.streams.output:
        run.stop(Ending("failed", "BAD_OUTPUT", "nothing was written to standard output"))
    return bytes(run.streams.output)


def _check_limits(run: Run, info: ModuleInfo, document: bytes) -> None:
    if not run.may_go_on():
        raise RunStopped
    if len(document) > contract.MAX_INPUT_BYTES:
        run.stop(input_too_large(len(document)))
    needed = info.memory_pages * PAGE_BYTES
    if needed > run.limits.memory_bytes:
        limit = format_size(run.limits.memory_bytes)
        run.stop(
            Ending("limit", "MEMORY_EXCEEDED", f"starts with {format_size(needed)} of memory; the limit is {limit}")
        )


def _place_input(run: Run, store: Store, info: ModuleInfo, document: bytes) -> int:
    """Write the input where the guest wants it, never growing its memory: its allocator may own what comes next."""
    address = _call(run, store, "alloc", len(document)) & 0xFFFF_FFFF if info.has_alloc else 0
    if run.memory.write(address, document):
        return address
    size, where = run.memory.size, f"the input, {len(document)} bytes at {address},"
    if at_memory_limit(run):
        limit = format_size(run.limits.memory_bytes)
        ending = Ending("limit", "MEMORY_EXCEEDED", f"{where} does not fit into memory at its limit of {limit}")
    elif info.has_alloc:
        ending = Ending("failed", "BAD_ALLOC", f"alloc returned {address}: {where} is not inside memory ({size} bytes)")
    else:
        ending = Ending("failed", "INPUT_TOO_LARGE", f"{where} does not fit into memory ({size} bytes) without alloc")
    return run.stop(ending)


def _call(run: Run, store: Store, name: str, *arguments: int) -> int:
    outcome = store.call(name, *arguments)
    if isinstance(outcome, Failure):
        _fail(run, outcome)
    if not run.may_go_on():  # the last host call may have come back late
        raise RunStopped
    return outcome


def _start(run: Run, store: Store, name: str) -> None:
    failure = store.start(name)
    if failure is not None:
        _fail(run, failure)
    if not run.may_go_on():
        raise RunStopped


def _fail(run: Run, failure: Failure) -> NoReturn:
    run.ending = ending_of(run, failure)
    raise RunStopped
