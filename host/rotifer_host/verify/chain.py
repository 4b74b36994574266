"""The chain of an agent's audit lines, walked back from what its memory knows.

A change's line holds the hash of the change before it, and the memory holds the hash
of the last one, saved in the same transaction. So the lines that became changes are
those on the one way back; a line beside it was written before a change that was then
not saved, and the next change went on from where the memory stood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from rotifer_host.verify.log import OwnLine
from rotifer_host.verify.order import Place

if TYPE_CHECKING:
    from rotifer_host.store.protocol import Chain

__all__ = ["END", "Gap", "Proof", "prove"]

_ABORT: Final = "memory.abort"
_BEGIN: Final = Place(0, 0)
END: Final = Place(1 << 62, 0)
"""Below all places."""


class Gap(NamedTuple):
    """Numbers of changes of which the log has no line."""

    first: int
    last: int


@dataclass
class Proof:
    """What the log says of one agent's memory; it proves it when there are no `problems`."""

    lines: int = 0
    """The agent's lines in the log."""
    changes: list[OwnLine] = field(default_factory=list)
    """Those that became a change, in order."""
    taken_back: list[Place] = field(default_factory=list)
    """Changes that could not be saved, as a `memory.abort` says."""
    never: list[Place] = field(default_factory=list)
    """Changes that never came to be, without a word: a crash, or a run that is still going on."""
    lost: list[Place] = field(default_factory=list)
    """Changes of a memory that was there before this one was made, and is gone."""
    earlier: list[Place] = field(default_factory=list)
    """The same where the agent was imported since: then it was to begin anew."""
    missing: list[Gap] = field(default_factory=list)
    changed: list[Place] = field(default_factory=list)
    """Lines that are not what the lines after them, or the memory, go on from."""
    reordered: list[Place] = field(default_factory=list)
    """Lines that stand where they were not written, or twice."""
    unfounded: list[Place] = field(default_factory=list)
    """Lines that name a line before them which is not there."""
    contradictions: list[str] = field(default_factory=list)
    """Where what the lines say and what the memory holds differ, in sentences."""

    def problems(self, name: Callable[[Place], str]) -> list[str]:
        """Return a sentence for everything that keeps the log from proving the memory; `name` names places."""
        found = [
            f"change {gap.first} is missing"
            if gap.first == gap.last
            else f"changes {gap.first} to {gap.last} are missing"
            for gap in self.missing
        ]
        if self.lost:
            first, last = (name(place) for place in (self.lost[0], self.lost[-1]))
            which = f"{first} is" if len(self.lost) == 1 else f"{len(self.lost)} changes, {first} to {last}, are"
            found.append(f"the memory that was here is lost: {which} in none that is here now")
        found += [f"{name(place)} was changed, or another one is missing that stood for it" for place in self.changed]
        found += [f"{name(place)} is out of order: it was not written there" for place in self.reordered]
        found += [f"{name(place)} goes on from a line that is not there" for place in self.unfounded]
        return found + self.contradictions


def prove(lines: Sequence[OwnLine], chain: Chain, begun_below: Place = _BEGIN) -> Proof:
    """Follow the chain through an agent's lines, in the order they stand in.

    `begun_below` is the last place there was when the memory was made, `END` where there is none. A memory is made
    before the first line of a change of it is written, so a crash explains none up to there.
    """
    proof = Proof(lines=len(lines))
    by_hash: dict[str | None, list[OwnLine]] = {}  # refusals, and what is tried again at once, may be alike
    by_number: dict[int, list[OwnLine]] = {}
    for line in lines:
        by_hash.setdefault(line.hash, []).append(line)
        if line.seq is not None:
            by_number.setdefault(line.seq, []).append(line)
    _walk_back(proof, by_hash, by_number, chain)
    on_chain = {line.place for line in proof.changes}
    saved_at = {line.seq: line.place for line in proof.changes}
    taken_back = {line.prev for line in lines if line.action == _ABORT}
    for line in lines:
        is_change = line.place in on_chain
        if line.seq is not None and not is_change:
            _judge_unsaved(proof, line, saved_at, taken_back, begun_below)
        if line.prev is None:
            continue
        before = by_hash.get(line.prev)
        if before is None and not is_change:
            proof.unfounded.append(line.place)
        elif before is not None and before[0].place >= line.place:
            proof.reordered.append(line.place)
    return proof


def _walk_back(
    proof: Proof, by_hash: dict[str | None, list[OwnLine]], by_number: dict[int, list[OwnLine]], chain: Chain
) -> None:
    """Collect the changes; where the way is broken, go on from the line that claims to be the next."""
    wanted: str | None = chain.head.hex()
    end = END
    missing: list[int] = []
    for number in range(chain.length, 0, -1):
        line = _last_before(end, [line for line in by_hash.get(wanted, ()) if line.seq == number])
        if line is None:
            line = _last_before(end, by_number.get(number, ()))
            # After a gap nobody knows which hash to look for: only then a claim is as good as any.
            if line is not None and wanted is not None:
                proof.changed.append(line.place)
        if line is None:
            missing.append(number)
            wanted = None
            continue
        proof.changes.append(line)
        wanted, end = line.prev, line.place
        if number == 1 and wanted is not None:
            proof.unfounded.append(line.place)
    proof.changes.reverse()
    for number in reversed(missing):
        if proof.missing and proof.missing[-1].last == number - 1:
            proof.missing[-1] = Gap(proof.missing[-1].first, number)
        else:
            proof.missing.append(Gap(number, number))


def _judge_unsaved(
    proof: Proof,
    line: OwnLine,
    saved_at: dict[int | None, Place],
    taken_back: set[str | None],
    begun_below: Place,
) -> None:
    saved = saved_at.get(line.seq)
    if saved is not None and saved < line.place:
        proof.reordered.append(line.place)  # nobody goes on from where the memory no longer stands
    elif line.hash in taken_back:
        proof.taken_back.append(line.place)
    elif line.place > begun_below:
        proof.never.append(line.place)
    elif not (proof.changes and _is_imported(proof.changes[0])):
        proof.lost.append(line.place)
    elif _is_imported(line):
        proof.never.append(line.place)  # an import that was killed, before the one that was not
    else:
        proof.earlier.append(line.place)


def _is_imported(line: OwnLine) -> bool:
    return line.created_by is not None


def _last_before(end: Place, lines: Sequence[OwnLine]) -> OwnLine | None:
    """Return the last line that stands before `end`; when all stand behind it, which is another fault, the last."""
    return next((line for line in reversed(lines) if line.place < end), lines[-1] if lines else None)
