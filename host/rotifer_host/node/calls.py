"""The memory calls of a gene on Node.js: the rules, codes and order of checks of the guest ABI (`abi/README.md`)."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from rotifer_host import contract
from rotifer_host.agent.memory_calls import MemoryAccess, NoMemory
from rotifer_host.errors import BudgetExhaustedError, HostCallError, InvalidInputError
from rotifer_host.memory import decode_delete, decode_query, decode_read, decode_write
from rotifer_host.node import messages
from rotifer_host.node.child import ChildStopped
from rotifer_host.sandbox import CallStats, Deadline, Ending, HostTime, out_of_host_time, overdue

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Calls"]


def _read(access: MemoryAccess, request: bytes) -> bytes:
    return access.memory.read(access.caller, decode_read(request))


def _write(access: MemoryAccess, request: bytes) -> bytes:
    return access.memory.write(access.caller, decode_write(request))


def _query(access: MemoryAccess, request: bytes) -> bytes:
    return access.memory.query(access.caller, decode_query(request))


def _delete(access: MemoryAccess, request: bytes) -> bytes:
    return access.memory.delete(access.caller, decode_delete(request))


_HANDLERS: Final[dict[str, Callable[[MemoryAccess, bytes], bytes]]] = dict(
    zip(contract.MEMORY_CALLS, (_read, _write, _query, _delete), strict=True)
)


class Calls:
    """The calls of one run of one gene."""

    def __init__(self, services: MemoryAccess | NoMemory, deadline: Deadline, host_time: HostTime) -> None:
        self.stats: dict[str, CallStats] = {}
        self._services = services
        self._deadline = deadline
        self._host_time = host_time

    def answer(self, call: messages.Call) -> bytes:
        """Return the message that answers a call.

        Raises `ChildStopped` when the run's deadline or host time is used up: no code of
        the Memory API says that, so the gene is not asked what to do. Any other exception
        is a bug.
        """
        if call.name not in _HANDLERS:
            raise ChildStopped(Ending("failed", "BAD_MESSAGE", f"there is no call {call.name[:60]!r}"))
        started = monotonic()
        request = call.request or b""
        result = contract.BUDGET_EXHAUSTED
        try:
            response = self._respond(call.name, request, call.problem)
            result = len(response)
            return messages.done(response)
        except BudgetExhaustedError:
            raise ChildStopped(overdue(self._deadline) or out_of_host_time(self._host_time)) from None
        except HostCallError as error:
            result = error.result
            return messages.refused(error.code, error.message)
        finally:
            seconds = monotonic() - started
            self._host_time.add(seconds)
            self.stats.setdefault(call.name, CallStats()).add(result, len(request), seconds)

    def _respond(self, name: str, request: bytes, problem: str | None) -> bytes:
        if self._deadline.cancelled or self._deadline.passed or self._host_time.remaining_s <= 0:
            raise BudgetExhaustedError("the run's budget is used up")
        services = self._services
        if isinstance(services, NoMemory):
            raise services.refuse(name)
        if problem is not None:
            raise InvalidInputError(problem)
        return _HANDLERS[name](services, request)
