"""One instance, called as often as a test wants: for this tool only, since a gene's instance lives for one run."""

from __future__ import annotations

from typing import NamedTuple

from rotifer_host.sandbox import Run, Sandbox
from rotifer_host.sandbox.calls import Store
from rotifer_host.sandbox.execution import execute, express, start, take_output
from rotifer_host.sandbox.module import ModuleInfo

__all__ = ["Call", "ObservedSandbox"]


class Call(NamedTuple):
    """What one call of `express` left."""

    memory_bytes: int
    output: bytes
    ended: bool
    """Whether the output ended at a NUL, not at the end of memory."""


class ObservedSandbox(Sandbox):
    """A sandbox that calls `express` `times` times in each run, always with the same input.

    Fuel, memory and deadline count for all calls of a run together. A WASI program runs once.
    """

    times = 1
    calls: list[Call]
    """Those of the last run."""

    def _execute(self, run: Run, store: Store, linked: int, info: ModuleInfo, document: bytes) -> bytes:
        self.calls = []
        if info.mode == "wasi":
            return execute(run, store, linked, info, document)
        start(run, store, linked, info, document)
        for _ in range(self.times):
            address = express(run, store, info, document)
            output = take_output(run, address)
            ended = run.memory.fits(address, len(output) + 1)
            self.calls.append(Call(run.memory.size, output, ended))
        return output
