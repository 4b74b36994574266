"""The host functions a guest may import, independent of how a call reaches Python.

There are two shapes. An *exchange* is what the memory calls and every
`rotifer.ext.<name>` function are: `(req_ptr, req_len, out_ptr, out_cap: i32) -> i32`,
JSON bytes in and JSON bytes out; its handler never sees a pointer, so a call path
may do the copying wherever it is fastest. Everything else (`log`, `readContext`,
WASI) is a *plain* function: its handler gets the run and the raw arguments, and
reaches linear memory through `run.memory` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rotifer_host.sandbox.run import Run

__all__ = ["ExchangeFunction", "HostFunction", "HostFunctions", "PlainFunction"]

ValueType = Literal["i32", "i64", "f32", "f64"]


@dataclass(frozen=True, slots=True)
class PlainFunction:
    """A host function with its own signature.

    `handler(run, *arguments)` gets i32 arguments as unsigned integers and returns an
    integer, or None when `results` is empty. It ends the run by `run.stop(...)` and
    charges bytes by `run.charge(...)`. When the run's deadline, host time or fuel is
    used up, the guest gets `exhausted`; where that is None the run ends.
    """

    module: str
    name: str
    params: tuple[ValueType, ...]
    results: tuple[ValueType, ...]
    handler: Callable[..., int | None]
    exhausted: int | None = None


@dataclass(frozen=True, slots=True)
class ExchangeFunction:
    """A host function of the one request-and-response shape.

    `guard(run)` is asked before pointers are looked at and raises the refusal of a
    caller that may not call at all, whatever the request. `handler(run, request, out_cap)`
    returns the response, at most `out_cap` bytes; both refuse by raising
    `HostCallError`. A handler that changes something must first have its response
    admitted by `run.admit(response_length, out_cap)`, which raises
    `BufferTooSmallError` or `BudgetExhaustedError`; for the others the call path does.

    A guard that has let a caller in need not be asked again in the same run.
    `unchanged_until(run)` says, after a response, until which second since 1970 the same
    request may be given the same response without asking the handler, while the
    version that `Sandbox.run` was given stays what it is and nobody calls `run.forget()`;
    None for not at all. A call path may use it or not.

    `shortcut` is what answers some of the requests in C, in the handler's place and with
    the same bytes: a capsule as `native/shortcut.h` describes, which only a call path in
    C can use.
    """

    module: str
    name: str
    guard: Callable[[Run], None]
    handler: Callable[[Run, bytes, int], bytes]
    unchanged_until: Callable[[Run], int | None] | None = None
    shortcut: object = None

    params: tuple[ValueType, ...] = ("i32", "i32", "i32", "i32")
    results: tuple[ValueType, ...] = ("i32",)
    label: str = field(init=False)
    """What reports call it: the name, with its module unless that is `rotifer`."""

    def __post_init__(self) -> None:
        label = self.name if self.module == "rotifer" else f"{self.module}.{self.name}"
        object.__setattr__(self, "label", label)


HostFunction = PlainFunction | ExchangeFunction


class HostFunctions:
    """A set of host functions, by module and name."""

    def __init__(self, *groups: tuple[HostFunction, ...]) -> None:
        self._functions = {(function.module, function.name): function for group in groups for function in group}
        if len(self._functions) != sum(map(len, groups)):
            message = "two host functions have the same module and name"
            raise ValueError(message)

    def __iter__(self) -> Iterator[HostFunction]:
        return iter(self._functions.values())

    def find(self, module: str, name: str) -> HostFunction | None:
        """Return the function a guest imports as `module.name`."""
        return self._functions.get((module, name))

    def names(self, module: str) -> list[str]:
        """Return the sorted names offered in `module`; empty for an unknown module."""
        return sorted(name for owner, name in self._functions if owner == module)
