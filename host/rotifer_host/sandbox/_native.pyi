"""The C extension behind `calls/native.py`; every address is an integer."""

from array import array
from collections.abc import Callable

from rotifer_host.sandbox import guest_memory
from rotifer_host.sandbox.calls.registry import HostFunction
from rotifer_host.sandbox.capi import Failure
from rotifer_host.sandbox.run import Run

ENGINE_FUNCTIONS: tuple[str, ...]
"""The functions of the engine that `bind` needs the addresses of."""
ERROR_KINDS: int
"""So many different results below zero are counted for a function; more are lost."""

class Function:
    """One host function as the engine's callback needs it; must outlive the linker it is defined on."""

    def __init__(
        self,
        *,
        function: HostFunction,
        handler: Callable[..., object],
        guard: Callable[[Run], None] | None,
        unchanged_until: Callable[[Run], int | None] | None,
        shortcut: object,
        index: int,
        params: str,
        result: str,
    ) -> None: ...
    @property
    def address(self) -> int: ...

class GuestMemory(guest_memory.GuestMemory):
    """A guest's linear memory. It is its store that attaches and detaches it."""

class Store:
    """One guest's store, and its run as the callbacks see it."""

    fuel: int

    def __init__(self, engine: int, memory_bytes: int, table_elements: int) -> None: ...
    @property
    def memory(self) -> GuestMemory: ...
    def instantiate(self, linked: int, /) -> Failure | None: ...
    def call(self, name: str, /, *arguments: int) -> int | Failure: ...
    def start(self, name: str, /) -> Failure | None: ...
    def close(self) -> None: ...
    def enter(
        self,
        run: Run,
        services: object,
        functions: int,
        deadline_ns: int,
        cancelled: bytearray,
        host_limit_ns: int,
        host_used_ns: array[int],
        version: memoryview | None,
        /,
    ) -> None: ...
    def admit(self, response_length: int, out_cap: int, /) -> None: ...
    def forget(self) -> None: ...
    def stats(self) -> list[tuple[int, int, dict[int, int], int, int, int, int]]: ...
    def leave(self) -> None: ...

class Ticker:
    """Calls `increment(subject)` every tick, and when a deadline passes, while there are runs."""

    def __init__(self, *, increment: int, subject: int, tick_s: float) -> None: ...
    @property
    def runs(self) -> int: ...
    def add(self, expiry: float, /) -> float: ...
    def remove(self, mark: float, /) -> None: ...
    def reset(self) -> None: ...

def bind(
    *,
    addresses: dict[str, int],
    base_fuel: int,
    fuel_per_byte: int,
    largest_request: int,
    most_tables: int,
    answer: Callable[..., int],
    explain: Callable[[Run, BaseException, int, int], int],
    keep: Callable[[Run, BaseException], None],
    unfit: Callable[[int, int], None],
    exhausted: Callable[..., int | None],
    go_on: Callable[[Run], bool],
    failure: Callable[[int, int], Failure | None],
) -> tuple[int, int]: ...
