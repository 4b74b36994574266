"""`lastAccessedBy` of entries that a run has read and not yet saved.

A read is no change: who made it is shown at once, saved together with the run's next
change or at its end, and never worth failing for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rotifer_host.memory.entry import Record, response_for

if TYPE_CHECKING:
    from rotifer_host.store.protocol import Change

__all__ = ["LastReaders", "Reading"]


class Reading(NamedTuple):
    """A read of one version of an entry."""

    identity: bytes
    sequence: int
    """That of the version read: a later version has a later reader of its own."""
    gene_id: str


class LastReaders:
    """The reads of one run that the store does not know of yet; losing one harms nothing."""

    def __init__(self) -> None:
        self.readings: dict[bytes, Reading] = {}

    def note(self, identity: bytes, sequence: int, gene_id: str) -> None:
        """Remember that `gene_id`, which is not the stored reader, read the version with this sequence number."""
        self.readings[identity] = Reading(identity, sequence, gene_id)

    def forget(self, identity: bytes) -> None:
        """Drop what was remembered: the stored reader has read the entry again."""
        self.readings.pop(identity, None)

    def response(self, identity: bytes, record: Record) -> bytes:
        """Return the entry as JSON with its latest known reader."""
        reading = self.readings.get(identity)
        if reading is None or reading.sequence != record.sequence:
            return record.body
        return response_for(record, reading.gene_id)

    def save(self, change: Change) -> list[Reading]:
        """Put what is remembered into a change and return it, for `saved` once it is committed."""
        readings = list(self.readings.values())
        for reading in readings:
            record = change.get(reading.identity)
            if record is not None and record.sequence == reading.sequence:
                body = response_for(record, reading.gene_id)
                if body is not record.body:
                    change.put(reading.identity, msgspec.structs.replace(record, body=body))
        return readings

    def saved(self, readings: list[Reading]) -> None:
        """Drop readings that are stored now."""
        for reading in readings:
            if self.readings.get(reading.identity) == reading:
                self.readings.pop(reading.identity, None)
