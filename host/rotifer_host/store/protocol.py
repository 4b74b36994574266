"""The seam between the memory rules and where entries lie.

The rules (`rotifer_host.memory`) use nothing of a store but this. Two stores keep
it, and one suite tests both: `store.model.ModelStore`, plain Python, and
`store.lmdb_store.LmdbStore`, what agents use. Stores know no rules: they keep
records, indexes and counters, and make a change whole or not at all.

Every failure of what lies below is a `StoreError`; a lock that does not come
free within the caller's patience is a `LockTimeoutError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

import msgspec

from rotifer_host import contract
from rotifer_host.lock import Patience
from rotifer_host.memory.entry import Category, DataPolicy, Record
from rotifer_host.pace import unhurried

__all__ = ["Chain", "Change", "DocumentName", "Expiry", "Index", "OpenSnapshot", "Snapshot", "Store", "Tally", "Totals"]


_PLACES: Final = {category: place for place, category in enumerate(contract.CATEGORIES)}


class Tally(NamedTuple):
    """What the entries of one category come to."""

    used: int = 0
    """Sum of `Record.weight`, in bytes."""
    entries: int = 0


class Totals(msgspec.Struct, frozen=True):
    """Counters kept in the same transaction as the entries."""

    sequence: int = 0
    """The largest sequence number given out so far; 0 in an empty store."""
    categories: tuple[Tally, ...] = (Tally(),) * len(contract.CATEGORIES)
    """In the order of `contract.CATEGORIES`."""

    @property
    def used(self) -> int:
        """Bytes that all entries together count against the quota."""
        return sum(map(_USED, self.categories))

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return sum(map(_ENTRIES, self.categories))

    def of(self, category: Category) -> Tally:
        """Return the counters of one category."""
        return self.categories[_PLACES[category]]

    def after(self, old: Record | None, new: Record | None) -> Totals:
        """Return the counters after `new` has taken the place of `old`; None for no entry."""
        sequence, categories = self.sequence, self.categories
        if new is not None and new.sequence > sequence:
            sequence = new.sequence
        if old is not None and new is not None and old.category == new.category:
            more = new.size - old.size if old.key == new.key else new.weight - old.weight
            return Totals(sequence, _moved(categories, new.category, more, 0) if more else categories)
        if old is not None:
            categories = _moved(categories, old.category, -old.weight, -1)
        if new is not None:
            categories = _moved(categories, new.category, new.weight, 1)
        return Totals(sequence, categories)


def _moved(categories: tuple[Tally, ...], category: Category, used: int, entries: int) -> tuple[Tally, ...]:
    place = _PLACES[category]
    tally = categories[place]
    moved = Tally(tally.used + used, tally.entries + entries)
    return (*categories[:place], moved, *categories[place + 1 :])


_USED: Final = itemgetter(Tally._fields.index("used"))
_ENTRIES: Final = itemgetter(Tally._fields.index("entries"))


class Chain(NamedTuple):
    """Where the agent's audit lines stand, kept in the same transaction as the entries."""

    length: int = 0
    """How many changes have been saved, ever."""
    head: bytes = b""
    """SHA-256 of the audit line of the last one; empty when there was none."""
    seen: bytes = b""
    """That of the line the log ended with when a run ended that was refused something after it; else empty."""


class Index(NamedTuple):
    """What an ordered walk yields without loading the record."""

    sequence: int
    identity: bytes
    category: Category
    updated_ms: int


class Expiry(NamedTuple):
    """An entry that does not stay for ever."""

    second: int
    """Second since 1970 from which the entry is gone."""
    identity: bytes


class DocumentName(NamedTuple):
    """What a document of a host module is found by."""

    module: str
    """The host module it belongs to; no other sees it."""
    name: str


class Snapshot(Protocol):
    """One consistent view of an agent's memory."""

    def get(self, identity: bytes) -> Record | None:
        """Return the record with this 32-byte entry id."""
        ...

    def records(self) -> Iterator[tuple[bytes, Record]]:
        """Walk all entries in the order of their ids, without any index."""
        ...

    def document(self, name: DocumentName) -> bytes | None:
        """Return what a host module keeps under this name, None where there is nothing."""
        ...

    def documents(self) -> Iterator[tuple[DocumentName, int]]:
        """Walk the documents by module and name, each with its size in bytes."""
        ...

    def totals(self) -> Totals:
        """Return the counters."""
        ...

    def chain(self) -> Chain:
        """Return where the agent's audit lines stand."""
        ...

    def newest(self, category: Category | None) -> Iterator[Index]:
        """Walk entries from the largest sequence number down; of one category, or of all."""
        ...

    def oldest(self, category: Category) -> Iterator[Index]:
        """Walk the entries of a category from the smallest sequence number up."""
        ...

    def with_prefix(self, prefix: str, check_time: Callable[[], None] = unhurried) -> Iterator[Index]:
        """Walk the entries whose key starts with `prefix` from the largest sequence number down.

        `check_time` is called now and then while they are looked for, and may raise.
        """
        ...

    def expired(self, now_s: int, policy: DataPolicy, limit: int) -> list[Expiry]:
        """Return up to `limit` entries whose `expires_at(policy)` is at or before `now_s`, soonest first."""
        ...

    def has_expired(self, now_s: int, policy: DataPolicy) -> bool:
        """Tell whether `expired` would return anything; cheap enough for every read."""
        ...

    def next_expiry(self, policy: DataPolicy) -> int | None:
        """Return the soonest `expires_at(policy)` of all entries, None when none ever expires."""
        ...


class OpenSnapshot(Snapshot, Protocol):
    """A snapshot of its own: `with store.snapshot() as snapshot:`; it must be used no more afterwards."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Change(Snapshot, Protocol):
    """A write transaction: sees its own changes, alone among all processes, and is whole or nothing.

    Walks must not be continued after a `put` or `remove`.
    """

    saved: bool
    """Whether everything is saved, also where the handler of a signal raised right behind the commit."""

    def put(self, identity: bytes, record: Record) -> None:
        """Store a record, replacing the one with this id; counters and indexes follow.

        The store's sequence counter becomes `record.sequence` when that is larger.
        """
        ...

    def remove(self, identity: bytes) -> None:
        """Remove the record with this id; it must exist."""
        ...

    def put_document(self, name: DocumentName, data: bytes | None) -> None:
        """Keep `data` under this name in the place of what is there; None for nothing."""
        ...

    def extend(self, chain: Chain) -> None:
        """Put where the audit lines stand after this change in the place of where they stood."""
        ...

    def commit(self) -> None:
        """Save everything, on disk when this returns. Raises `StoreError`: then nothing was saved."""
        ...

    def abort(self) -> None:
        """Forget everything; harmless after `commit`."""
        ...


class Store(Protocol):
    """All entries of one agent."""

    def peek(self, identity: bytes, now_s: int, policy: DataPolicy) -> Record | None:
        """Return the committed record if it can be had for less than a view costs, and nothing has expired.

        None says nothing about the entry. Raises `StoreError` for one that is damaged.
        """
        ...

    @property
    def begun_below(self) -> bytes:
        """SHA-256 of the last line of the audit log when this memory was made, empty where none was known."""
        ...

    @property
    def version(self) -> memoryview | None:
        """Eight bytes that hold another number after every commit, of any process; None where there are none.

        While they stay the same, a snapshot opened now sees what one opened before saw.
        """
        ...

    def snapshot(self) -> OpenSnapshot:
        """Open a view of the latest committed state."""
        ...

    def begin(self, patience: Patience) -> Change:
        """Start a change, waiting for other writers, threads or processes, as long as `patience` allows.

        The thread that began a change is the one that must finish it.
        """
        ...

    def close(self) -> None:
        """Release what is open; the store must not be used afterwards."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
