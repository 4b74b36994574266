"""The four operations of an agent's memory, and what its deployer may do.

Rules from memory-api.en.md, "The four calls" and "Viewing and clearing an agent's
memory"; the order of checks is that of `abi/README.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from rotifer_host import contract
from rotifer_host.audit import AuditSink
from rotifer_host.clock import Clock, SystemClock, rfc3339
from rotifer_host.errors import AccessDeniedError, NotFoundError, QuotaExceededError, StoreError, UsageError
from rotifer_host.lock import Patience
from rotifer_host.memory.changes import FAILURES, Changes, Durability
from rotifer_host.memory.documents import Documents
from rotifer_host.memory.entry import Caller, Category, DataPolicy, Record, entry_id, make_record, response_for
from rotifer_host.memory.events import Events
from rotifer_host.memory.fields import category_of
from rotifer_host.memory.operation import Operation
from rotifer_host.memory.policy import access_for_write, check_read, check_write
from rotifer_host.memory.query import select
from rotifer_host.memory.quota import make_room
from rotifer_host.memory.readers import LastReaders
from rotifer_host.memory.request import (
    DeleteRequest,
    QueryRequest,
    ReadRequest,
    WriteRequest,
    decode_write,
    delete_request,
)
from rotifer_host.memory.retention import is_expired, retention_for_write
from rotifer_host.memory.trail import Announced, Attempt, Trail
from rotifer_host.telemetry import TelemetrySink

if TYPE_CHECKING:
    from rotifer_host.store.protocol import Store

__all__ = ["AgentMemory", "ListedEntry", "Listing"]

_NULL: Final = b"null"
_NEVER: Final = (1 << 64) - 1
_MISSING: Final = "there is no entry with this key"


class ListedEntry(NamedTuple):
    """An entry as its deployer sees it: never its value."""

    key: str
    category: Category
    size: int
    """Raw bytes of the value."""
    created_by: str
    updated_at: str
    reachable: bool | None = None
    """Whether any gene of the agent may still read, change or delete it; None where nobody can say."""


class Listing(NamedTuple):
    """What an agent holds; `used` and `quota` in bytes of keys and values, whatever was listed."""

    used: int
    quota: int
    entries: tuple[ListedEntry, ...]


def _fits(_length: int) -> None:
    """Admit a response of any length."""


def _unknown(_record: Record) -> None:
    """Say nothing of who reaches an entry: nobody asked."""


class AgentMemory:
    """One agent's memory for the length of a run, or of one use outside a run.

    In a run `patience` is the run's deadline: waiting for a lock beyond it raises
    `BudgetExhaustedError`. Outside a run it is None: each operation waits at most ten
    seconds for a lock and then raises `LockTimeoutError`. Otherwise operations raise
    the subclasses of `HostCallError` that their host calls answer with, and change
    nothing when they do.

    `admit` gets the length of the response before anything changes, and raises
    `BufferTooSmallError` or `BudgetExhaustedError` when the caller cannot have it.

    With durability `call` an object may be used from several threads, with `run` only
    from the one that made the first change.
    """

    def __init__(  # noqa: PLR0913 - keywords, one for each part
        self,
        *,
        agent_id: str,
        agent_name: str,
        store: Store,
        audit: AuditSink,
        telemetry: TelemetrySink,
        clock: Clock,
        quota: int,
        policy: DataPolicy,
        durability: Durability = "call",
        patience: Patience | None = None,
    ) -> None:
        self.events = Events()
        self._agent_id = agent_id
        self._clock = clock
        self._quota = quota
        self._policy = policy
        self._readers = LastReaders()
        self._trail = Trail(agent_id, agent_name, audit, telemetry, clock)
        self._changes = Changes(store, self._trail, self.events, self._readers, policy, durability, patience)
        self.ordinary: object = None
        """What answers ordinary requests in C, once one came (`memory/ordinary.py`)."""

    def read(self, caller: Caller, request: ReadRequest, admit: Callable[[int], None] = _fits) -> bytes:
        """Return the entry as JSON, or `null` when there is none (of the given category)."""
        now_ms = self._clock.now_ms()
        identity = entry_id(self._agent_id, request.key)
        record = None
        try:
            record = self._changes.peek(identity, now_ms // 1000)
            if record is None:
                with self._changes.view(caller, now_ms) as view:
                    record = view.get(identity)
                if record is None or is_expired(record, now_ms // 1000, self._policy):
                    admit(len(_NULL))
                    return _NULL
            check_read(caller, record)
        except FAILURES as error:
            raise self._changes.failure(error) from error
        except AccessDeniedError as refusal:
            self._refused(refusal, Attempt("readMemory", caller, now_ms, identity, request.key), record)
            raise
        if request.category is not None and request.category != record.category:
            admit(len(_NULL))
            return _NULL
        response = response_for(record, caller.gene_id)
        admit(len(response))
        if response is not record.body:
            self._readers.note(identity, record.sequence, caller.gene_id)
        elif self._readers.readings:
            self._readers.forget(identity)
        return response

    def write(self, caller: Caller, request: WriteRequest, admit: Callable[[int], None] = _fits) -> bytes:
        """Create or replace an entry, evicting others when there is no room; return it as JSON."""
        now_ms = self._clock.now_ms()
        return self.write_in(self._changes.operation(caller, now_ms), caller, request, now_ms, admit)

    def write_in(
        self,
        operation: Operation,
        caller: Caller,
        asked: WriteRequest | bytes,
        now_ms: int,
        admit: Callable[[int], None],
    ) -> bytes:
        """Do what `write` does in an operation that was begun at `now_ms`, and end it, whatever happens."""
        try:
            with operation:
                request = asked if isinstance(asked, WriteRequest) else decode_write(asked)
                identity = entry_id(self._agent_id, request.key)
                change = operation.change
                old = change.get(identity)
                if old is not None:
                    check_write(caller, old)
                new = make_record(
                    identity=identity,
                    sequence=change.totals().sequence + 1,
                    key=request.key,
                    category=request.category,
                    value=request.value,
                    created_by=caller.gene_id if old is None else old.created_by,
                    domain=caller.domain if old is None else old.domain,
                    reader=caller.gene_id,
                    created_ms=now_ms if old is None else old.created_ms,
                    updated_ms=now_ms,
                    access=access_for_write(request.access_policy, old, caller, self._policy),
                    retention=retention_for_write(request.retention_policy, old, caller, self._policy),
                )
                victims = make_room(change, new, identity, old, self._quota, self._changes.check_time)
                admit(len(new.body))
                going: list[Announced] = [("memory.create" if old is None else "memory.update", identity, new)]
                if victims:
                    going[:0] = [("memory.evict", *victim) for victim in victims]
                operation.announce(caller, now_ms, going)
                for victim, _ in victims:
                    change.remove(victim)
                change.put(identity, new)
        except (AccessDeniedError, QuotaExceededError) as refusal:
            self._refused(refusal, Attempt("writeMemory", caller, now_ms, identity, request.key), request)
            raise
        if victims:
            self.events.add("evicted", caller.gene_id, len(victims))
        return new.body

    def query(self, caller: Caller, request: QueryRequest) -> bytes:
        """Return the matching entries the caller may read as a JSON array, most recently changed first."""
        now_ms = self._clock.now_ms()
        try:
            with self._changes.view(caller, now_ms) as view:
                found = select(
                    view,
                    request,
                    caller,
                    now_s=now_ms // 1000,
                    policy=self._policy,
                    check_time=self._changes.check_time,
                )
        except FAILURES as error:
            raise self._changes.failure(error) from error
        return b"[%b]" % b",".join([self._readers.response(*entry) for entry in found])

    def delete(self, caller: Caller, request: DeleteRequest, admit: Callable[[int], None] = _fits) -> bytes:
        """Remove an entry and return `null`; raises `NotFoundError` when there is none.

        A caller with no room for four bytes still deletes: `admit` must not refuse them.
        """
        now_ms = self._clock.now_ms()
        identity = entry_id(self._agent_id, request.key)
        record = None
        try:
            with self._changes.operation(caller, now_ms) as operation:
                record = operation.change.get(identity)
                if record is None:
                    raise NotFoundError(_MISSING)
                check_write(caller, record)
                admit(len(_NULL))
                operation.announce(caller, now_ms, [("memory.delete", identity, record)])
                operation.change.remove(identity)
        except AccessDeniedError as refusal:
            self._refused(refusal, Attempt("deleteMemory", caller, now_ms, identity, request.key), record)
            raise
        return _NULL

    def list(
        self, category: Category | None = None, *, reachable: Callable[[Record], bool | None] = _unknown
    ) -> Listing:
        """Return what the agent holds, for its deployer: by category, then by key.

        `reachable` tells of each entry whether a gene of the agent still gets at it.
        """
        if category is not None:
            category_of(category)
        now_ms = self._clock.now_ms()
        hidden = 0
        listed = []
        try:
            with self._changes.view(None, now_ms) as view:
                used = view.totals().used
                for _, record in view.records():
                    if is_expired(record, now_ms // 1000, self._policy):
                        hidden += record.weight
                    elif category in (None, record.category):
                        listed.append(
                            ListedEntry(
                                record.key,
                                record.category,
                                record.size,
                                record.created_by,
                                rfc3339(record.updated_ms),
                                reachable(record),
                            )
                        )
        except FAILURES as error:
            raise self._changes.failure(error) from error
        listed.sort(key=lambda entry: (contract.CATEGORIES.index(entry.category), entry.key))
        return Listing(used - hidden, self._quota, tuple(listed))

    def delete_as_deployer(self, *, key: str | None = None, category: Category | None = None) -> int:
        """Remove the entry with a key, or all of a category, for the deployer; return how many.

        Access policies do not bind the deployer. Raises `NotFoundError` for a missing
        key, `UsageError` unless exactly one of the two is given.
        """
        if (key is None) == (category is None):
            message = "give either a key or a category"
            raise UsageError(message)
        now_ms = self._clock.now_ms()
        with self._changes.operation(None, now_ms) as operation:
            change = operation.change
            if category is None:
                identities = [entry_id(self._agent_id, delete_request(key).key)]
            else:
                identities = [index.identity for index in change.oldest(category_of(category))]
            going = [(identity, record) for identity in identities if (record := change.get(identity)) is not None]
            if category is None and not going:
                raise NotFoundError(_MISSING)
            if going:
                operation.announce(None, now_ms, [("memory.delete", *entry) for entry in going])
            for identity, _ in going:
                change.remove(identity)
        return len(going)

    @cached_property
    def documents(self) -> Documents:
        """What host modules keep for the agent."""
        return Documents(self._changes, self._trail, self._clock)

    @property
    def unsaved(self) -> bool:
        """Whether there is anything for `finish` to save or to tell, or for `rollback` to take back."""
        return self._changes.unsaved

    @property
    def version(self) -> memoryview | None:
        """Eight bytes that hold another number after every commit; None where the store shows none."""
        return self._changes.version

    def unchanged_until(self) -> int | None:
        """Return the second since 1970 until which a read answers the same while the store's `version` stays.

        None when that cannot be said: changes are held that no version shows, or the
        clock is not the machine's, on which the caller would look.
        """
        if self._changes.holding or type(self._clock) is not SystemClock:
            return None
        try:
            with self._changes.snapshot() as snapshot:
                expiry = snapshot.next_expiry(self._policy)
        except StoreError:
            return None
        return _NEVER if expiry is None else expiry

    def finish(self) -> None:
        """End the run: save what durability `run` held, then who read what.

        Raises `StorageError` when the held changes could not be saved, `LockTimeoutError` when
        others held the log for ten seconds; none of them stays then.
        """
        self._changes.finish()

    def rollback(self) -> None:
        """End the run without the changes that durability `run` held."""
        self._changes.rollback()

    def _refused(
        self, refusal: AccessDeniedError | QuotaExceededError, attempt: Attempt, concerned: Record | WriteRequest | None
    ) -> None:
        if isinstance(concerned, WriteRequest):
            size: int | None = len(concerned.value)
        else:
            size = None if concerned is None else concerned.size
        category = None if concerned is None else concerned.category
        changes = self._changes
        self._trail.refused(refusal, attempt, changes.patience(), changes.chain(), category, size)
        if isinstance(refusal, AccessDeniedError):
            self.events.add("denied", attempt.caller.gene_id)
