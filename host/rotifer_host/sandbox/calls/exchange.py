"""What a host call does, whichever way it reached Python.

Rules from memory-api.en.md, "From a WASM module"; the order of checks is part of
the guest ABI (`abi/README.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import NoReturn

from rotifer_host import contract
from rotifer_host.errors import BudgetExhaustedError, HostCallError, InvalidInputError
from rotifer_host.sandbox.calls.registry import ExchangeFunction, PlainFunction
from rotifer_host.sandbox.documents import encode_document
from rotifer_host.sandbox.result import CallStats
from rotifer_host.sandbox.run import NOT_ADMITTED, Run, RunStopped

__all__ = ["call_plain", "exchange"]


def exchange(  # noqa: PLR0913, PLR0917 - the guest ABI has four
    run: Run, function: ExchangeFunction, request_at: int, request_size: int, out: int, capacity: int
) -> int:
    """Answer a call of the one request-and-response shape; the four numbers are unsigned.

    Returns the length of the response written at `out`, or a negative result. Raises
    `RunStopped` and nothing else: an exception that is no answer is a bug, ends the
    run and is raised by `Sandbox.run`.
    """
    started = monotonic()
    result, received = contract.BUDGET_EXHAUSTED, 0
    try:
        if run.begin_call(started):
            result, received = answer(run, function, request_at, request_size, out, capacity)
    finally:
        seconds = monotonic() - started
        run.host_time.left -= seconds
        stats = run.calls.get(function.label)
        if stats is None:
            stats = run.calls[function.label] = CallStats()
        stats.add(result, received, seconds)
    return result


def answer(  # noqa: PLR0913, PLR0917 - the four numbers of the call
    run: Run, function: ExchangeFunction, request_at: int, request_size: int, out: int, capacity: int
) -> tuple[int, int]:
    """Answer a call whose base is charged; returns its result and the request bytes taken.

    Raises `RunStopped` and nothing else.
    """
    received = 0
    try:
        if function.label not in run.let_in:
            function.guard(run)
            run.let_in.add(function.label)
        memory = run.memory
        request = memory.read(request_at, request_size) if request_size <= contract.MAX_REQUEST_BYTES else None
        charge = request_size * contract.CALL_FUEL_PER_BYTE
        if request is None or not memory.fits(out, capacity) or not run.fuel.charge(charge):
            _refuse_request(run, request_at, request_size, out, capacity)
        received = request_size
        kept = None if function.unchanged_until is None else run.kept
        response = None if kept is None else kept.find(function, request)
        if response is not None:
            run.admit(len(response), capacity)
            memory.write(out, response)
            return len(response), received
        run.admitted = NOT_ADMITTED
        response = function.handler(run, request, capacity)
        if run.admitted == NOT_ADMITTED:
            run.admit(len(response), capacity)
        if kept is not None:
            kept.keep(run, function, request, response)
        if len(response) != run.admitted or len(response) > capacity or not memory.write(out, response):
            message = f"a handler returned {len(response)} bytes after {run.admitted} were admitted"
            raise RuntimeError(message)  # noqa: TRY301 - a bug, told as one below
    except BaseException as error:  # noqa: BLE001 - what is no refusal ends the run
        return explain(run, error, out, capacity), received
    return len(response), received


def explain(run: Run, error: BaseException, out: int, capacity: int) -> int:
    """Answer with a refusal: write its payload and return its result.

    Anything else that a handler raised is a bug: kept for `Sandbox.run` to raise, and
    `RunStopped` is raised here.
    """
    if isinstance(error, BudgetExhaustedError):
        return contract.BUDGET_EXHAUSTED
    if isinstance(error, HostCallError):
        _put_payload(run, error, out, capacity)
        return error.result
    if not isinstance(error, RunStopped):
        run.keep(error)
    raise RunStopped from None


def call_plain(run: Run, function: PlainFunction, arguments: Sequence[float]) -> int | None:
    """Call a function with its own signature; i32 arguments are unsigned.

    A budget that is used up gives `function.exhausted`, or ends the run. Raises
    `RunStopped` and nothing else.
    """
    started = monotonic()
    try:
        if run.begin_call(started):
            return function.handler(run, *arguments)
        return exhausted(run, function, None)
    except BaseException as error:  # noqa: BLE001 - what is no budget ends the run
        return exhausted(run, function, error)
    finally:
        seconds = monotonic() - started
        run.host_time.left -= seconds


def exhausted(run: Run, function: PlainFunction, error: BaseException | None) -> int | None:
    """Return what a function answers whose budget is used up: None, or what the handler raised, says so.

    Raises `RunStopped` where there is no such answer, and for every other error, which is
    kept for `Sandbox.run` to raise.
    """
    if error is None or isinstance(error, BudgetExhaustedError):
        if function.exhausted is None:
            run.stop(run.exhausted())
        return function.exhausted
    if not isinstance(error, RunStopped):
        run.keep(error)
    raise RunStopped from None


def _refuse_request(run: Run, request_at: int, request_size: int, out: int, capacity: int) -> NoReturn:
    """Raise the first reason there is not to take a request; one that is too large is charged, and never copied."""
    if not run.memory.fits(request_at, request_size):
        raise InvalidInputError(f"the request, {request_size} bytes at {request_at}, is not inside memory")
    if not run.memory.fits(out, capacity):
        raise InvalidInputError(f"out, {capacity} bytes at {out}, is not inside memory")
    run.charge(request_size)
    raise InvalidInputError(f"a request has at most {contract.MAX_REQUEST_BYTES} bytes, not {request_size}")


def _put_payload(run: Run, refusal: HostCallError, out: int, capacity: int) -> None:
    """Write the error payload as far as `out` has room; nothing when it is not inside memory."""
    if not run.memory.fits(out, capacity):
        return
    for message in (refusal.message, ""):
        payload = encode_document({contract.ERROR_KEY: {"code": refusal.code, "message": message}})
        if len(payload) <= capacity:
            # A gene may return `out` as its output, which ends at a NUL.
            run.memory.write(out, payload + b"\0" if len(payload) < capacity else payload)
            return
