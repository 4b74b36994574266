"""Everybody who can be compared on this machine, set up side by side in two places: memory and disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.peers import Missing, Peer, Runner
from bench.peers.bare import Bare
from bench.peers.extism_sdk import Extism
from bench.peers.floor import FLOOR, FLOOR_HELD, Floor, build_floor
from bench.peers.host import Host, HostMemory, available_call_paths, held
from bench.peers.json_memory import JsonMemory
from bench.peers.ordinary import Ordinary
from bench.work import Case

__all__ = ["BARE", "EXTISM", "FLOOR", "FLOOR_HELD", "ORDINARY", "Contest", "held", "open_contest"]

ORDINARY: Final = Ordinary.name
EXTISM: Final = Extism.name
BARE: Final = Bare.name
_HELD_CASES: Final = ("write100", "run")
"""Cases in which a run's writes may be one transaction."""


@dataclass
class Contest:
    """The peers of one place, ready to be timed."""

    peers: list[Peer] = field(default_factory=list)
    holding: list[Peer] = field(default_factory=list)
    """Those that make the writes of a run one transaction: timed only where that is allowed."""
    missing: dict[str, str] = field(default_factory=dict)
    """Peers that cannot be timed here, and why."""

    @contextmanager
    def runners(self, case: Case) -> Iterator[dict[str, Runner]]:
        """Prepare a case with everybody who has it."""
        with ExitStack() as stack:
            runners = {}
            for peer in self.peers + (self.holding if case.name in _HELD_CASES else []):
                try:
                    runners[peer.name] = stack.enter_context(peer.runner(case))
                except Missing:
                    continue
            yield runners


@contextmanager
def open_contest(folder: Path) -> Iterator[Contest]:
    """Fill a memory for each peer under `folder`."""
    contest = Contest()
    with ExitStack() as stack:

        def extism() -> Extism:
            return Extism(stack.enter_context(JsonMemory(folder / "extism")))

        def floor(place: str, *, hold: bool) -> Floor:
            return stack.enter_context(Floor(build_floor(), folder / place, hold=hold))

        def add(peers: list[Peer], name: str, make: Callable[[], Peer]) -> None:
            try:
                peers.append(make())
            except Missing as missing:
                contest.missing[name] = str(missing)

        contest.peers.append(Ordinary(stack.enter_context(JsonMemory(folder / "wasmtime-py"))))
        add(contest.peers, EXTISM, extism)
        memory = stack.enter_context(HostMemory(folder / "host"))
        for path in available_call_paths():
            contest.peers.append(Host(memory, path))
            contest.holding.append(Host(memory, path, "run"))
        contest.holding.append(stack.enter_context(Bare(folder / "bare")))
        add(contest.peers, FLOOR, lambda: floor("floor", hold=False))
        add(contest.holding, FLOOR_HELD, lambda: floor("floor-held", hold=True))
        yield contest
