"""Running a recorded run again: the same modules, input, time and limits, and the recorded answers.

Nothing is stored, read from an agent's memory or written to an audit log, and sleeps
are not slept again. Each gene of the run starts with the input it was recorded with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rotifer_host.errors import RecordingError
from rotifer_host.record.difference import Difference, compare_call, compare_outcome, left_over
from rotifer_host.record.functions import extension_functions
from rotifer_host.record.player import Event, Player
from rotifer_host.record.recorder import outcome_of
from rotifer_host.record.recording import Part, Recording, to_bytes
from rotifer_host.sandbox import Deadline, HostFunctions, HostTime, Sandbox
from rotifer_host.sandbox.result import Ending

__all__ = ["PartReplay", "Replay", "modules_of", "replay"]

_UNKNOWN_END: Final = Ending("failed", "REPLAY_ENDED", "the recording does not say how the run ended")


@dataclass(frozen=True, slots=True)
class PartReplay:
    """One gene run again."""

    gene: str
    calls: int
    """How many of its recorded host calls it made again."""
    fuel_recorded: int | None
    fuel: int | None
    """Told, not compared: another version of the engine counts other figures. None where none is metered."""
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Replay:
    """A run run again over one call path or on one host, as far as the first difference."""

    call_path: str
    """The call path, or what another host calls itself."""
    parts: tuple[PartReplay, ...]

    @property
    def difference(self) -> Difference | None:
        """The first difference; None when everything was the same."""
        return self.parts[-1].difference if self.parts else None

    @property
    def same(self) -> bool:
        """Tell whether every gene did what it did when it was recorded."""
        return self.difference is None


def replay(
    recording: Recording,
    functions: HostFunctions,
    *,
    call_path: str = "auto",
    cache_dir: Path | None = None,
    modules: Sequence[bytes] = (),
) -> Replay:
    """Run a recording again over one call path.

    `functions` are those of the host: their handlers are not called, except where an
    answer follows from the run itself. `modules` are taken for those the recording left
    out. Raises `RecordingError` when a module is missing or damaged, `ModuleError` when
    one cannot run here, `UsageError` for an unknown call path.
    """
    player = _Comparing()
    bytes_of = modules_of(recording, modules)
    replaying = player.replaying(HostFunctions(tuple(functions), extension_functions(bytes_of.values())))
    sandbox = Sandbox(replaying, call_path=call_path, cache_dir=cache_dir)
    parts: list[PartReplay] = []
    for number, part in enumerate(recording.parts, 1):
        parts.append(_replay_part(recording, part, number, sandbox, player, bytes_of))
        if parts[-1].difference is not None:
            break
    return Replay(sandbox.call_path, tuple(parts))


def modules_of(recording: Recording, given: Sequence[bytes]) -> dict[str, bytes]:
    """Return the modules of a recording by their digest, those it left out from `given`. Raises `RecordingError`."""
    found = {hashlib.sha256(wasm).hexdigest(): wasm for wasm in given}
    others = ", ".join(found)
    for module in recording.modules:
        wasm = module.unpack() or found.get(module.sha256)
        if wasm is None:
            genes = ", ".join(dict.fromkeys(part.gene for part in recording.parts if part.module == module.sha256))
            message = f"the recording does not hold the module of {genes}, {module.sha256}"
            if given:
                message += f"; what is given is {'another one' if len(given) == 1 else 'others'}, {others}"
            raise RecordingError(
                message, code="RECORDING_NO_MODULE", help="give the file that ran, gene.ir.wasm, with --wasm FILE"
            )
        found[module.sha256] = wasm
    return found


def _replay_part(  # noqa: PLR0913, PLR0917 - what a part needs
    recording: Recording, part: Part, number: int, sandbox: Sandbox, player: _Comparing, modules: Mapping[str, bytes]
) -> PartReplay:
    player.begin(part, number)
    limits = recording.limits.limits()
    result = sandbox.run(
        sandbox.load(modules[part.module], name=part.gene),
        to_bytes(part.input),
        limits=limits,
        deadline=Deadline(limits.deadline_ms),
        host_time=HostTime(limits.host_time_ms),
        services=None,
        context=part.context,
        logical_ms=part.logicalMs,
    )
    now = outcome_of(result)
    difference = player.difference or left_over(part, number, player.made)
    if difference is None and part.outcome is not None:
        difference = compare_outcome(part.gene, number, part.outcome, now)
    return PartReplay(
        gene=part.gene,
        calls=player.made,
        fuel_recorded=None if part.outcome is None else part.outcome.fuel,
        fuel=now.fuel,
        difference=difference,
    )


class _Comparing(Player):
    """Lets the guest go on as long as it asks what it asked."""

    def begin(self, part: Part, number: int) -> None:
        """Begin a part."""
        self._part, self._number = part, number
        self.difference: Difference | None = None
        outcome = part.outcome
        self.start(
            part.events,
            _UNKNOWN_END
            if outcome is None or outcome.error is None
            else Ending(outcome.status, outcome.error.code, outcome.error.message),
        )

    def matches(self, event: Event | None, asked: Event) -> bool:
        """Compare, and keep the first difference."""
        found = compare_call(self._part.gene, self._number, self.made + 1, event, asked)
        self.difference = self.difference or found
        return found is None
