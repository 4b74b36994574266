"""The state of one run, as host functions see it."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from rotifer_host import contract
from rotifer_host.errors import BudgetExhaustedError, BufferTooSmallError
from rotifer_host.limits import Limits
from rotifer_host.sandbox.calls.kept import KeptResponses
from rotifer_host.sandbox.deadline import Deadline, HostTime, out_of_host_time, overdue
from rotifer_host.sandbox.fuel import FuelMeter
from rotifer_host.sandbox.result import CallStats, Ending
from rotifer_host.sandbox.streams import Streams

if TYPE_CHECKING:
    from rotifer_host.sandbox.calls import Store

__all__ = ["Run", "RunStopped"]

NOT_ADMITTED = -1


def refuse_response(length: int, capacity: int) -> NoReturn:
    """Raise why a response cannot be had: it is larger than `out`, or the fuel for its bytes is not there."""
    if length > capacity:
        raise BufferTooSmallError(f"response needs {length} bytes, out_cap is {capacity}")
    raise BudgetExhaustedError("the run's fuel is used up")


class RunStopped(BaseException):
    """Unwinds the host to end a guest; the reason lies on the run, not here.

    Not an `Exception`, so that no handler swallows it by accident.
    """


class Run:
    """One guest on its way from input to output.

    What ends a run is kept here (`ending`, or `error` for an exception that must be
    raised) and looked at before anything the engine reports.
    """

    __slots__ = (
        "admitted",
        "calls",
        "context",
        "deadline",
        "ending",
        "error",
        "fuel",
        "host_time",
        "kept",
        "let_in",
        "limits",
        "logical_ms",
        "memory",
        "services",
        "started",
        "streams",
        "version",
    )

    keeps_responses: ClassVar[bool] = True
    """Whether responses that may be given again are kept here; else the store keeps them."""

    def __init__(  # noqa: PLR0913, PLR0917 - a run has this many parts, and begins sooner without their names
        self,
        store: Store,
        streams: Streams,
        limits: Limits,
        deadline: Deadline,
        host_time: HostTime,
        services: Any,  # noqa: ANN401 - for host functions of the caller, whatever they need
        context: Mapping[str, object],
        logical_ms: int,
        version: memoryview | None,
    ) -> None:
        self.started = monotonic()
        self.memory = store.memory
        self.fuel = FuelMeter(store, limits.fuel)
        self.streams = streams
        self.limits = limits
        self.deadline = deadline
        self.host_time = host_time
        self.services = services
        """What the caller of `Sandbox.run` gave for its own host functions."""
        self.context = context
        self.logical_ms = logical_ms
        self.version = version
        self.calls: dict[str, CallStats] = {}
        self.kept = KeptResponses(version) if self.keeps_responses and version is not None else None
        self.let_in: set[str] = set()
        """Labels of the functions whose guard has let the caller in."""
        self.admitted = NOT_ADMITTED
        """Length of the response the present call has admitted."""
        self.ending: Ending | None = None
        self.error: BaseException | None = None

    # Ending the run.

    def stop(self, ending: Ending) -> NoReturn:
        """End the run for this reason, unless it is ending already."""
        if self.ending is None:
            self.ending = ending
        raise RunStopped

    def keep(self, error: BaseException) -> None:
        """Let `Sandbox.run` raise this error, unless it has one already."""
        if self.error is None:
            self.error = error

    def may_go_on(self) -> bool:
        """Tell whether the guest may run on; notes the ending when its time is up."""
        if self.ending is None:
            self.ending = overdue(self.deadline)
        return self.ending is None and self.error is None

    def overdue(self) -> Ending | None:
        """Return the ending of a run that was cancelled or whose deadline has passed."""
        return overdue(self.deadline)

    def exhausted(self) -> Ending:
        """Return the ending for a call that must have a budget and found one used up."""
        late = self.overdue()
        if late is not None:
            return late
        return self.out_of_host_time() if self.host_time.remaining_s <= 0 else self.out_of_fuel()

    def out_of_host_time(self) -> Ending:
        """Return the ending of a run whose host calls took too long."""
        return out_of_host_time(self.host_time)

    def out_of_fuel(self) -> Ending:
        """Return the ending of a run that used up its fuel."""
        return Ending("limit", "FUEL_EXHAUSTED", f"used up its fuel of {self.limits.fuel}")

    # What a host call costs.

    def begin_call(self, started: float) -> bool:
        """Charge a host call that starts at this second of the monotonic clock; False when a budget is used up."""
        if started >= self.deadline.stop or self.host_time.left <= 0.0:
            return False
        return self.fuel.charge(contract.CALL_BASE_FUEL)

    def charge(self, length: int) -> None:
        """Charge bytes that cross the border. Raises `BudgetExhaustedError` and takes nothing when fuel is short."""
        if not self.fuel.charge(length * contract.CALL_FUEL_PER_BYTE):
            raise BudgetExhaustedError("the run's fuel is used up")

    def admit(self, response_length: int, capacity: int) -> None:
        """Check and charge the response of the present exchange, once, before anything changes.

        Raises `BufferTooSmallError` or `BudgetExhaustedError`.
        """
        if response_length > capacity or not self.fuel.charge(response_length * contract.CALL_FUEL_PER_BYTE):
            refuse_response(response_length, capacity)
        self.admitted = response_length

    def forget(self) -> None:
        """Give no response again that was given so far."""
        if self.kept is not None:
            self.kept.forget()
