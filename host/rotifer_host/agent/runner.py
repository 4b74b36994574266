"""What runs a gene: the seam between the composition of genes and the ways to run one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rotifer_host.agent.memory_calls import MemoryAccess, NoMemory
    from rotifer_host.limits import Limits
    from rotifer_host.sandbox import Deadline, GuestResult, HostTime, Module, Sandbox

__all__ = ["Runner", "WasmRunner"]


class Runner(Protocol):
    """One gene, loaded and checked, for the length of one run."""

    @property
    def compiled(self) -> bool:
        """Whether it is WebAssembly; otherwise it runs under Node.js, one after another with the others."""
        ...

    def run(  # noqa: PLR0913 - a run has this many parts
        self,
        text: bytes,
        *,
        limits: Limits,
        deadline: Deadline,
        host_time: HostTime,
        services: MemoryAccess | NoMemory,
        context: Mapping[str, object],
        logical_ms: int,
        version: memoryview | None,
    ) -> GuestResult:
        """Run once on `text`, compact JSON in UTF-8, as `Sandbox.run` does.

        Host calls are made on the thread that calls this; compiled genes of a `Par` are
        run on several at once, the same gene too.
        """
        ...

    def close(self) -> None:
        """End what was kept warm for the run; called when the run has ended, whatever came of it, and perhaps again."""
        ...


class WasmRunner:
    """A gene's module in the sandbox that loaded it."""

    __slots__ = ("run",)

    compiled = True

    def __init__(self, sandbox: Sandbox, module: Module) -> None:
        self.run = partial(sandbox.run, module)

    def close(self) -> None:
        """Nothing is kept: each run has an instance of its own."""
