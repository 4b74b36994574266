"""Whether a memory file is sound: its counters and indexes against its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from rotifer_host import contract
from rotifer_host.errors import StoreError
from rotifer_host.memory.entry import AccessPolicy, DataPolicy, Record, entry_id
from rotifer_host.store.protocol import Expiry, Index, Totals

if TYPE_CHECKING:
    from rotifer_host.store.protocol import Snapshot

__all__ = ["problems"]

_FOR_EVER: Final = 1 << 62
_EVERYTHING: Final = 1 << 40
_POLICIES: Final = (DataPolicy(), DataPolicy(maxRetentionDays=1))


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    entryId: str  # noqa: N815 - the wire names
    category: str
    key: str
    value: bytes
    createdBy: str  # noqa: N815
    lastAccessedBy: str  # noqa: N815
    createdAt: str  # noqa: N815
    updatedAt: str  # noqa: N815
    accessPolicy: AccessPolicy  # noqa: N815
    retentionPolicy: object  # noqa: N815


def problems(snapshot: Snapshot, agent_id: str) -> list[str]:
    """Return a sentence for everything that does not hold in a snapshot; empty when it is sound.

    Checked are: every entry can be read, lies under the id of its agent and key, and
    its JSON says what its record says; the counters equal a recount; each index lists
    exactly the entries, in order. Raises `StoreError` where reading on is impossible.
    """
    records = dict(snapshot.records())
    found = [problem for identity, record in records.items() for problem in _in_record(identity, record, agent_id)]
    totals = snapshot.totals()
    recount = Totals()
    for record in records.values():
        recount = recount.after(None, record)
    if totals.categories != recount.categories:
        found.append(f"the counters are {totals.categories}, a recount gives {recount.categories}")
    if totals.sequence < recount.sequence:
        found.append(f"the sequence counter {totals.sequence} is behind entry number {recount.sequence}")
    if len({record.sequence for record in records.values()}) != len(records):
        found.append("two entries have the same sequence number")
    found += _in_walks(snapshot, records)
    for policy in _POLICIES:
        due = sorted(
            Expiry(second, identity)
            for identity, record in records.items()
            if (second := record.expires_at(policy)) is not None
        )
        if snapshot.expired(_FOR_EVER, policy, _EVERYTHING) != due:
            found.append("the index of expiries does not list the entries")
    return found


def _in_walks(snapshot: Snapshot, records: dict[bytes, Record]) -> list[str]:
    found = []
    indexes = sorted(Index(r.sequence, i, r.category, r.updated_ms) for i, r in records.items())
    walks = {"newest": (snapshot.newest(None), indexes[::-1]), "keys": (snapshot.with_prefix(""), indexes[::-1])}
    for category in contract.CATEGORIES:
        own = [index for index in indexes if index.category == category]
        walks[f"newest {category}"] = (snapshot.newest(category), own[::-1])
        walks[f"oldest {category}"] = (snapshot.oldest(category), own)
    for name, (walk, must) in walks.items():
        try:
            if list(walk) != must:
                found.append(f"the index {name} does not list the entries")
        except StoreError as error:
            found.append(f"the index {name} cannot be walked: {error.message}")
    return found


def _in_record(identity: bytes, record: Record, agent_id: str) -> list[str]:
    name = identity.hex()
    if identity != entry_id(agent_id, record.key):
        return [f"entry {name} does not lie under the id of its agent and key"]
    try:
        body = msgspec.json.decode(record.body, type=_Body)
    except msgspec.DecodeError as error:
        return [f"entry {name} holds no entry's JSON: {error}"]
    said = (body.entryId, body.category, body.key, len(body.value), body.createdBy, body.lastAccessedBy)
    kept = (name, record.category, record.key, record.size, record.created_by, record.reader)
    if said != kept or body.accessPolicy != record.access:
        return [f"entry {name} says something else in its JSON than in its record"]
    return []
