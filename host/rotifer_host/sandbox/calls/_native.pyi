"""The C extension behind `native.py`; every address is an integer."""

from array import array
from collections.abc import Callable

from rotifer_host.sandbox.calls.registry import HostFunction
from rotifer_host.sandbox.run import Run

class Function:
    """One host function as the engine's callback needs it; must outlive the linker it is defined on."""

    def __init__(
        self,
        *,
        function: HostFunction,
        handler: Callable[..., object],
        guard: Callable[[Run], None] | None,
        unchanged_until: Callable[[Run], int | None] | None,
        index: int,
        params: str,
        result: str,
    ) -> None: ...
    @property
    def address(self) -> int: ...

class Session:
    """One gene's run as the callbacks see it."""

    def __init__(
        self,
        *,
        run: Run,
        context: int,
        functions: int,
        deadline_ns: int,
        cancelled: array[int],
        host_limit_ns: int,
        host_used_ns: array[int],
    ) -> None: ...
    @property
    def address(self) -> int: ...
    def admit(self, response_length: int, out_cap: int, /) -> None: ...
    def close(self) -> None: ...
    def forget(self) -> None: ...
    def stats(self) -> list[tuple[int, int, dict[int, int], int, int, int]]: ...
    def watch(self, version: memoryview, /) -> None: ...

def bind(
    addresses: dict[str, int],
    base_fuel: int,
    fuel_per_byte: int,
    largest_request: int,
    attach: Callable[[Run, int, bytes], None],
    answer: Callable[..., int],
    explain: Callable[[Run, BaseException, int, int], int],
    keep: Callable[[Run, BaseException], None],
    unfit: Callable[[int, int], None],
    exhausted: Callable[..., int | None],
    /,
) -> tuple[int, int]: ...
