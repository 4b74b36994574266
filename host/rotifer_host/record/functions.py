"""Which host functions are recorded: all exchanges, and those whose answers are the machine's.

Whatever is not here follows from the module, its input, the run's time and context,
and the answers that are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, NoReturn

from rotifer_host import contract
from rotifer_host.sandbox import ExchangeFunction, HostFunction, Run
from rotifer_host.sandbox.binary import read_binary

__all__ = ["SYSTEM", "System", "extension_functions", "full_name"]

_SUBSCRIPTION_BYTES: Final = 48
_EVENT_BYTES: Final = 32
_TIMESTAMP_BYTES: Final = 8
_COUNT_BYTES: Final = 4


class System(NamedTuple):
    """What a function whose answer is the machine's does when it succeeds."""

    writes: Callable[..., list[tuple[int, int]]]
    """Takes its arguments and returns the ranges it writes, as address and length."""
    charges: Callable[..., int]
    """Takes its arguments and returns the bytes the guest is charged for."""


SYSTEM: Final = {
    ("rotifer", "remainingBudget"): System(list, lambda: 0),
    ("wasi_snapshot_preview1", "clock_time_get"): System(
        lambda _clock, _precision, out: [(out, _TIMESTAMP_BYTES)], lambda *_arguments: 0
    ),
    ("wasi_snapshot_preview1", "random_get"): System(
        lambda address, length: [(address, length)], lambda _address, length: length
    ),
    ("wasi_snapshot_preview1", "poll_oneoff"): System(
        lambda _subscriptions, events, count, count_at: [(events, count * _EVENT_BYTES), (count_at, _COUNT_BYTES)],
        lambda _subscriptions, _events, count, _count_at: count * _SUBSCRIPTION_BYTES,
    ),
}
"""By module and name."""


def full_name(function: HostFunction) -> str:
    """Return the name a recording uses: `rotifer.readMemory`."""
    return f"{function.module}.{function.name}"


def extension_functions(modules: Iterable[bytes]) -> tuple[ExchangeFunction, ...]:
    """Return the functions of host modules that these modules import, to be replaced by their recorded answers.

    So a run can be run again where no such host module is. Raises `BadModuleError`.
    """
    names = dict.fromkeys(
        (item.module, item.name)
        for wasm in modules
        for item in read_binary(wasm).imports
        if item.module.startswith(contract.EXTENSION_PREFIX)
    )
    return tuple(ExchangeFunction(module, name, _never, _never) for module, name in names)


def _never(_run: Run, *_call: object) -> NoReturn:
    message = "the recorded answer stands for this function"
    raise RuntimeError(message)
