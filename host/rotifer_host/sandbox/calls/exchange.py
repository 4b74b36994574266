"""What a host call does, whichever way it reached Python.

Rules from memory-api.en.md, "From a WASM module"; the order of checks is part of
the guest ABI (`abi/README.md`).
"""

from __future__ import annotations

from time import monotonic_ns

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
    started = monotonic_ns()
    result, received = contract.BUDGET_EXHAUSTED, 0
    try:
        if run.begin_call(started):
            result, received = answer(run, function, request_at, request_size, out, capacity)
    finally:
        nanos = monotonic_ns() - started
        run.host_time.cell[0] += nanos
        stats = run.calls.get(function.label)
        if stats is None:
            stats = run.calls[function.label] = CallStats()
        stats.add(result, received, nanos / 1e9)
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
        request = _take_request(run, request_at, request_size, out, capacity)
        received = request_size
        run.admitted = NOT_ADMITTED
        kept = None if function.unchanged_until is None else run.kept
        again, version = (None, 0) if kept is None else kept.find(function, request)
        response = function.handler(run, request, capacity) if again is None else again
        if run.admitted == NOT_ADMITTED:
            run.admit(len(response), capacity)
        if kept is not None and again is None:
            kept.keep(run, function, request, response, version)
        if len(response) != run.admitted or len(response) > capacity or not run.memory.write(out, response):
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


def call_plain(run: Run, function: PlainFunction, *arguments: float) -> int | None:
    """Call a function with its own signature; i32 arguments are unsigned.

    A budget that is used up gives `function.exhausted`, or ends the run. Raises
    `RunStopped` and nothing else.
    """
    started = monotonic_ns()
    try:
        if run.begin_call(started):
            return function.handler(run, *arguments)
        return exhausted(run, function, None)
    except BaseException as error:  # noqa: BLE001 - what is no budget ends the run
        return exhausted(run, function, error)
    finally:
        run.host_time.cell[0] += monotonic_ns() - started


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


def _take_request(run: Run, request_at: int, request_size: int, out: int, capacity: int) -> bytes:
    memory, too_large = run.memory, request_size > contract.MAX_REQUEST_BYTES
    if too_large:  # refused further down, and never copied
        request = b"" if memory.fits(request_at, request_size) else None
    else:
        request = memory.read(request_at, request_size)
    if request is None:
        raise InvalidInputError(f"the request, {request_size} bytes at {request_at}, is not inside memory")
    if not memory.fits(out, capacity):
        raise InvalidInputError(f"out, {capacity} bytes at {out}, is not inside memory")
    if not run.fuel.charge(request_size * contract.CALL_FUEL_PER_BYTE):
        raise BudgetExhaustedError("the run's fuel is used up")
    if too_large:
        raise InvalidInputError(f"a request has at most {contract.MAX_REQUEST_BYTES} bytes, not {request_size}")
    return request


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
