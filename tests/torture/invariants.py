"""What must hold for an agent's files whatever happened to the processes that used them.

I1 every committed change has its audit line before it; at most the lines of the last
transaction have no change. I2 every audit line parses. I3 the counters equal a
recount. I4 every index says what the entries say. I5 no expired entry is served or
counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from tests.torture.place import Place

from rotifer_host.audit import read_lines
from rotifer_host.memory import AgentMemory
from rotifer_host.memory.retention import is_expired
from rotifer_host.store import Store
from rotifer_host.store.check import problems
from rotifer_host.verify import check_agent

__all__ = ["CHANGES", "State", "audit_lines", "read_state", "state_of", "unsaved", "unsound", "unsound_in"]

State = dict[str, tuple[str, int]]
"""What the log says of each entry: key to category and raw bytes of the value."""

_ADDS: Final = ("memory.create", "memory.update")
CHANGES: Final = (*_ADDS, "memory.delete", "memory.evict", "memory.expire")


class _Path(NamedTuple):
    """One way to read the lines of a key: those left out were announced and not saved."""

    left_out: tuple[dict[str, Any], ...] = ()


_Ways = dict[tuple[str, int] | None, _Path]
"""The best way to each state of a key that its lines may have led to."""


def audit_lines(place: Place) -> list[dict[str, Any]]:
    """Return the agent's lines of the log; raises `AuditError` when a line does not parse (I2)."""
    return [line for line in read_lines(place.audit_path) if line.get("agentId") == place.agent_id]


def read_state(place: Place) -> State:
    """Return what the store holds, expired entries included."""
    with place.open() as (store, _):
        return state_of(store)


def unsaved(lines: Iterable[dict[str, Any]], before: State, after: State) -> list[dict[str, Any]] | None:
    """Return the fewest lines without a change and without an abort, or None when a change has no line (I1)."""
    by_key: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        own = by_key[str(line["key"])]
        if line["action"] in CHANGES:
            own.append(line)
        elif line["action"] == "memory.abort":
            taken_back = [
                number
                for number, other in enumerate(own)
                if line["reason"] == f"{other['action']} of {other['ts']} was not saved"
            ]
            if not taken_back:
                return None  # it takes back what was never announced
            del own[taken_back[-1]]
    found: list[dict[str, Any]] = []
    for key in by_key.keys() | before.keys() | after.keys():
        ways: _Ways = {before.get(key): _Path()}
        for line in by_key[key]:
            ways = _through(line, ways)
        if after.get(key) not in ways:
            return None
        found += ways[after.get(key)].left_out
    return found


def _through(line: dict[str, Any], ways: _Ways) -> _Ways:
    entry = (line["category"], line["bytes"])
    result: _Ways = {}
    for state, way in ways.items():
        options = [(state, _Path((*way.left_out, line)))]
        if (line["action"] == "memory.create" and state is None) or (
            line["action"] == "memory.update" and state is not None
        ):
            options.append((entry, way))
        elif line["action"] not in _ADDS and state == entry:
            options.append((None, way))
        for then, candidate in options:
            if then not in result or len(candidate.left_out) < len(result[then].left_out):
                result[then] = candidate
    return result


def unsound(place: Place) -> list[str]:
    """Return what does not hold of I2 to I5 now, opening the files anew; I1 needs a before and `unsaved`."""
    with place.open() as (store, memory):
        return unsound_in(place, store, memory)


def unsound_in(place: Place, store: Store, memory: AgentMemory) -> list[str]:
    """Return the same of an open store, and what the host's own check finds."""
    check = check_agent(
        store=store,
        memory=memory,
        agent_id=place.agent_id,
        logs=[place.audit_path],
        clock=place.clock,
        policy=place.policy,
    )
    audit_lines(place)
    now_ms = place.clock.now_ms()
    with store.snapshot() as snapshot:
        found = check.problems + problems(snapshot, place.agent_id)
        fresh = [record for _, record in snapshot.records() if not is_expired(record, now_ms // 1000, place.policy)]
    listing = memory.list()
    if {entry.key for entry in listing.entries} != {record.key for record in fresh}:
        found.append("the listing is not what has not expired")
    if listing.used != sum(record.weight for record in fresh):
        found.append(f"{listing.used} bytes are counted, {sum(record.weight for record in fresh)} are live")
    return found


def state_of(store: Store) -> State:
    """Return what a store holds, expired entries included."""
    with store.snapshot() as snapshot:
        return {record.key: (record.category, record.size) for _, record in snapshot.records()}
