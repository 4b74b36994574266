"""Callers, entries and audit lines as the vectors name them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

from rotifer_host.conformance.vectors.notation import Bytes, expand, times

__all__ = [
    "AGENT_ID",
    "AGENT_NAME",
    "DEFAULT_ACCESS",
    "NEIGHBOUR",
    "NOW",
    "OTHER",
    "OWNER",
    "STRANGER",
    "THEN",
    "Entry",
    "Many",
    "Who",
    "access",
    "compact",
    "encoded",
    "entry",
    "expand_entries",
    "line",
    "retention",
]

AGENT_ID: Final = "agent-1"
AGENT_NAME: Final = "formatter"
THEN: Final = "2026-03-01T08:00:00.000Z"
"""When the entries of a vector were written."""
NOW: Final = "2026-03-01T12:00:00.250Z"
"""The host's clock, unless a vector sets it."""


class Who(NamedTuple):
    """Who a call acts for; without a gene id, or outside an agent, it has no memory."""

    gene_id: str | None
    domain: str | None
    in_agent: bool = True

    def to_json(self) -> dict[str, object]:
        """Return the caller as vectors and messages write it."""
        return {"geneId": self.gene_id, "domain": self.domain, "inAgent": self.in_agent}


OWNER: Final = Who(f"v2:{'a' * 64}", "text.format")
NEIGHBOUR: Final = Who(f"v2:{'b' * 64}", "text.format")
STRANGER: Final = Who(f"v2:{'c' * 64}", "search")
OTHER: Final = Who(f"v2:{'d' * 64}", "text.formatter")


def access(read: str = "SAME_DOMAIN", write: str = "SAME_DOMAIN", share: str = "PRIVATE") -> dict[str, str]:
    """Return an access policy."""
    return {"readScope": read, "writeScope": write, "sharePolicy": share}


def retention(days: int | None, *, delete: bool = False, anonymous: bool = False) -> dict[str, object]:
    """Return a retention policy."""
    return {"maxRetentionDays": days, "autoDeleteOnTermination": delete, "anonymizationSupported": anonymous}


DEFAULT_ACCESS: Final = access()


@dataclass(frozen=True)
class Entry:
    """One entry, stored or in a response."""

    key: str
    value: Bytes
    category: str
    by: Who
    reader: Who | None
    """None in a state that leaves it open."""
    created: str
    updated: str
    access: Mapping[str, str]
    retention: Mapping[str, object] | None

    def but(self, **changed: Any) -> Self:  # noqa: ANN401 - any of the fields
        """Return the entry with other fields."""
        return replace(self, **changed)

    def read_by(self, who: Who) -> Self:
        """Return the entry after a read."""
        return replace(self, reader=who)

    @property
    def entry_id(self) -> str:
        """Hex SHA-256 of agent id, NUL and key."""
        return hashlib.sha256(f"{AGENT_ID}\0{self.key}".encode()).hexdigest()

    @property
    def size(self) -> int:
        """Raw bytes of the value."""
        return len(expand(self.value))

    def text(self) -> Bytes:
        """Return the entry as a response has it, to the byte."""
        head = {"entryId": self.entry_id, "category": self.category, "key": self.key}
        tail = {
            "createdBy": self.by.gene_id,
            "lastAccessedBy": None if self.reader is None else self.reader.gene_id,
            "createdAt": self.created,
            "updatedAt": self.updated,
            "accessPolicy": self.access,
            "retentionPolicy": self.retention,
        }
        parts = [f'{compact(head)[:-1]},"value":"', encoded(self.value), f'",{compact(tail)[1:]}']
        return "".join(parts) if all(isinstance(part, str) for part in parts) else parts

    def to_json(self) -> dict[str, object]:
        """Return the entry as the state of a vector has it."""
        return {
            "key": self.key,
            "category": self.category,
            "value": self.value,
            "createdBy": self.by.gene_id,
            "domain": self.by.domain,
            **({} if self.reader is None else {"lastAccessedBy": self.reader.gene_id}),
            "createdAt": self.created,
            "updatedAt": self.updated,
            "accessPolicy": self.access,
            "retentionPolicy": self.retention,
        }


def entry(  # noqa: PLR0913 - the fields of an entry, all but one with a default
    key: str,
    value: Bytes = "x",
    category: str = "CACHE",
    *,
    by: Who = OWNER,
    at: str = THEN,
    access: Mapping[str, str] = DEFAULT_ACCESS,
    retention: Mapping[str, object] | None = None,
) -> Entry:
    """Return an entry that was written once, by `by` at `at`."""
    return Entry(key, value, category, by, by, at, at, access, retention)


@dataclass(frozen=True)
class Many:
    """Entries that differ in key only: `{n}` in it is `first`, `first + 1`, …."""

    count: int
    of: Entry
    first: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the entries as the state of a vector has them, in a line."""
        return {"times": self.count, "first": self.first, "of": self.of.to_json()}


def expand_entries(state: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of a state one by one."""
    found: list[dict[str, Any]] = []
    for one in state:
        if "times" in one:
            numbers = range(one["first"], one["first"] + one["times"])
            found += [{**one["of"], "key": one["of"]["key"].replace("{n}", str(number))} for number in numbers]
        else:
            found.append(dict(one))
    return found


def line(  # noqa: PLR0913 - keywords, for what is not as usual
    action: str,
    concerned: Entry,
    who: Who | None,
    *,
    at: str = NOW,
    code: str | None = None,
    but: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return what an audit line must hold, its `reason` aside; `who` is None for the deployer."""
    changes = action not in ("deny", "reject")
    actor = "host" if action in ("evict", "expire") else "gene" if who is not None else "deployer"
    expected: dict[str, object] = {
        "v": 1,
        "ts": at,
        "agentId": AGENT_ID,
        "agent": AGENT_NAME,
        "actor": actor,
        "geneId": None if who is None else who.gene_id,
        "domain": None if who is None else who.domain,
        "action": f"memory.{action}",
        "key": concerned.key,
        "entryId": concerned.entry_id,
    }
    if changes:
        expected |= {"category": concerned.category, "bytes": concerned.size}
    if code is not None:
        expected["code"] = code
    return expected | dict(but or {})


def action_line(action: str, key: str, who: Who, *, at: str = NOW) -> dict[str, object]:
    """Return what the audit line of a host module's action must hold; what its `bytes` count is the host's."""
    changed = line("update", entry(key), who, at=at, but={"action": action, "entryId": None, "category": None})
    return {name: value for name, value in changed.items() if name != "bytes"}


def compact(value: object) -> str:
    """Return compact JSON with non-ASCII characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encoded(value: Bytes) -> Bytes:
    """Return a value in base64, a repetition as a repetition where threes allow it."""
    match value:
        case [*parts, last] if parts and all(len(expand(part)) % 3 == 0 for part in parts):
            return [encoded(part) for part in (*parts, last)]
        case {"times": int(count), "of": part} if len(expand(part)) % 3 == 0:
            return times(count, encoded(part))
    return base64.b64encode(expand(value)).decode()
