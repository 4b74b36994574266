"""What a run of one gene comes to."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

__all__ = ["CallStats", "Ending", "GuestError", "GuestResult", "Status"]

Status = Literal["ok", "rejected", "failed", "limit"]


class Ending(NamedTuple):
    """Why a run ended before its output was taken."""

    status: Status
    code: str
    message: str
    backtrace: tuple[str, ...] = ()


class GuestError(msgspec.Struct, frozen=True):
    """Why a run is not `ok`.

    | code                 | status   |                                                          |
    |----------------------|----------|----------------------------------------------------------|
    | `INVALID_INPUT`      | rejected | the gene refused its input                               |
    | `FUEL_EXHAUSTED`     | limit    | fuel used up, by instructions or host calls              |
    | `DEADLINE_EXCEEDED`  | limit    | the run's time is up, host calls included                |
    | `HOST_TIME_EXCEEDED` | limit    | a call without a result found the host time used up      |
    | `MEMORY_EXCEEDED`    | limit    | starts above the limit, or trapped or did not fit at it  |
    | `TRAP`               | failed   | any other trap; the message names its kind               |
    | `STACK_OVERFLOW`     | failed   | the guest's call stack is exhausted                      |
    | `ABORTED`            | failed   | `env.abort`; the message is the guest's                  |
    | `EXIT_STATUS`        | failed   | `proc_exit`, or `process.exit`, with a status other than 0 |
    | `GENE_ERROR`         | failed   | `express` returned a negative number; on Node.js it threw |
    | `BAD_ALLOC`          | failed   | `alloc` returned a range outside memory                  |
    | `INPUT_TOO_LARGE`    | failed   | above 16 MiB, or larger than the memory of a gene without `alloc` |
    | `BAD_OUTPUT`         | failed   | not one JSON document                                    |
    | `OUTPUT_TOO_LARGE`   | failed   | above 16 MiB                                             |
    | `BAD_MODULE`         | failed   | the engine could not make an instance; a script cannot be loaded |
    | `HOST_MODULE_FAILED` | failed   | a bug in a host module; its frames come first            |
    | `INTERRUPTED`        | failed   | cancelled, or a signal came                              |

    A gene on Node.js has two more, both `failed`: `CRASHED`, a signal ended its process, and
    `BAD_MESSAGE`, it wrote into the pipe to the host what the runtime never does.

    Messages and backtraces hold the guest's own text: escape it before a terminal sees it.
    """

    code: str
    message: str
    backtrace: list[str]
    """`function at 0xOFFSET`, innermost first; empty when no guest function was running."""


class CallStats(msgspec.Struct):
    """What one host function did in a run."""

    count: int = 0
    errors: dict[int, int] = msgspec.field(default_factory=dict)
    """How often each negative result was answered."""
    bytes_in: int = 0
    """Request bytes copied from the guest."""
    bytes_out: int = 0
    """Response bytes copied to the guest; error payloads are not counted."""
    seconds: float = 0.0
    shortcuts: int = 0
    """Calls that the function's shortcut answered (`ExchangeFunction`)."""

    def add(self, result: int, received: int, seconds: float) -> None:
        """Count one call: its result, its request bytes, and its time in the host."""
        self.count += 1
        self.bytes_in += received
        self.seconds += seconds
        if result < 0:
            self.errors[result] = self.errors.get(result, 0) + 1
        else:
            self.bytes_out += result

    @property
    def micros(self) -> int:
        """Microseconds spent in the host."""
        return round(self.seconds * 1_000_000)


class GuestResult(msgspec.Struct):
    """The outcome of one run of one gene, whatever the outcome is."""

    status: Status
    output: object
    """The decoded output; None unless `status` is `ok`."""
    output_json: bytes
    """The output as compact JSON; `null` unless `status` is `ok`."""
    error: GuestError | None
    duration_ms: float
    fuel: int
    """Fuel consumed, charges for host calls included."""
    peak_memory_bytes: int
    """Linear memory at the end, which is its peak: it never shrinks."""
    host_calls: dict[str, CallStats]
    """By name, the calls of request and response shape: `readMemory`, `rotifer.ext.NAME.FUNCTION`."""
    log: str
    """What the guest logged, at most 64 KiB of it; the guest's own text."""
    log_dropped: int
    """Bytes of log that were not kept."""
    stderr: str
    """What the guest wrote to stderr, at most 64 KiB of it."""
    stderr_dropped: int
    """Bytes of stderr that were not kept."""
