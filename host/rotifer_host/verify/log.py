"""An audit log as evidence: each agent's lines with their hashes, and what is no line at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from rotifer_host.audit import is_begin, is_line, line_hash, scan
from rotifer_host.verify.order import Order, Place

__all__ = ["SEAL", "OwnLine", "ReadLog", "read_log"]

SEAL: Final = "audit.seal"


class OwnLine(NamedTuple):
    """What a line of an agent says, as far as checking needs it; members of the wrong kind are None."""

    place: Place
    hash: str
    """Hex SHA-256 of the line's bytes."""
    seq: int | None
    """The number of a change; None for refusals and taken-back changes."""
    prev: str | None
    action: str | None
    entry_id: str | None
    key: str | None
    category: str | None
    size: int | None
    ts: str | None
    gene_id: str | None
    created_by: str | None
    """Of an imported entry, as is the next."""
    updated_at: str | None


@dataclass
class ReadLog:
    """All lines of a log, or of several files that were one."""

    paths: tuple[Path, ...]
    by_agent: dict[str, list[OwnLine]] = field(default_factory=lambda: defaultdict(list))
    names: dict[str, str] = field(default_factory=dict)
    """The name each agent id goes by in its lines."""
    outside: int = 0
    """Lines of genes that ran outside an agent; they have no chain."""
    sealed: list[Place] = field(default_factory=list)
    """Lines that hold what a crash left of a line."""
    torn: Place | None = None
    """A last line without a line end that is the begin of one: a crash, or a write going on."""
    broken: list[Place] = field(default_factory=list)
    """Lines that are no JSON object of this format; no host writes such."""
    order: Order = field(default_factory=Order)

    def problems(self) -> list[str]:
        """Return a sentence for every line that cannot be read or does not stand where it was written."""
        found = [f"{self.name(place)} is not an audit line" for place in self.broken]
        found += [f"what stood above {self.name(place)} is missing or was changed" for place in self.order.unlinked()]
        found += [
            f"{self.name(place)} does not stand below the line it was written below" for place in self.order.displaced()
        ]
        return found

    @property
    def torn_at(self) -> str | None:
        """How a report names the torn last line."""
        return None if self.torn is None else self.name(self.torn)

    def name(self, place: Place) -> str:
        """Return how a report names a place."""
        return f"line {place.number}" if len(self.paths) == 1 else f"line {place.number} of {self.paths[place.file]}"


def read_log(paths: Sequence[Path]) -> ReadLog:
    """Read the files of a log, the oldest first; missing ones are empty. Raises `AuditError`."""
    log = ReadLog(tuple(paths))
    for file, path in enumerate(paths):
        for line in scan(path):
            place = Place(file, line.number)
            if is_begin(line):
                log.torn = place
                continue
            hashed = line_hash(line.text).hexdigest()
            log.order.take(place, hashed, line.document)
            if line.document is None or not is_line(line.document):
                log.broken.append(place)
            else:
                _take(log, place, hashed, line.document)
    return log


def _take(log: ReadLog, place: Place, hashed: str, document: dict[str, Any]) -> None:
    agent_id = document.get("agentId")
    if document.get("action") == SEAL:
        log.sealed.append(place)
    elif isinstance(agent_id, str):
        log.by_agent[agent_id].append(_own(place, hashed, document))
        if isinstance(document.get("agent"), str):
            log.names[agent_id] = document["agent"]
    elif agent_id is None and "agentId" in document:
        log.outside += 1
    else:
        log.broken.append(place)


def _own(place: Place, hashed: str, document: dict[str, Any]) -> OwnLine:
    def member(name: str, kind: type) -> Any:  # noqa: ANN401 - what the member holds
        value = document.get(name)
        return value if type(value) is kind else None

    return OwnLine(
        place=place,
        hash=hashed,
        seq=member("seq", int),
        prev=member("prev", str),
        action=member("action", str),
        entry_id=member("entryId", str),
        key=member("key", str),
        category=member("category", str),
        size=member("bytes", int),
        ts=member("ts", str),
        gene_id=member("geneId", str),
        created_by=member("createdBy", str),
        updated_at=member("updatedAt", str),
    )
