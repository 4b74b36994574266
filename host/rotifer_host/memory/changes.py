"""Changes to an agent's memory: expired entries first, then announced, applied, saved.

With durability `call` each operation is a change of its own, on the disk when it
returns. With `run` the first operation begins a change that is held until `finish`,
which writes its lines together and saves all of it or nothing. Either way a line is on
the disk before its change is saved, and taken back by a `memory.abort` line when saving
fails.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from os import getpid
from typing import TYPE_CHECKING, Final, Literal

from rotifer_host.errors import (
    AuditError,
    BudgetExhaustedError,
    HostCallError,
    LockTimeoutError,
    RotiferError,
    StorageError,
    StoreError,
)
from rotifer_host.lock import Patience, Wait
from rotifer_host.memory.entry import Caller, DataPolicy, Record
from rotifer_host.memory.events import Events
from rotifer_host.memory.operation import Operation
from rotifer_host.memory.readers import LastReaders
from rotifer_host.memory.trail import Trail

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rotifer_host.store.protocol import Chain, Change, OpenSnapshot, Snapshot, Store

__all__ = ["FAILURES", "Changes", "Durability"]

Durability = Literal["call", "run"]
FAILURES: Final = (StoreError, AuditError, LockTimeoutError)
"""What may fail below an operation; `Changes.failure` turns it into what the operation raises."""

_EXPIRED_AT_ONCE: Final = 1024
_READINGS_WAIT_S: Final = 0.25


class _NoWait:
    def remaining_s(self) -> float:
        return 0.0


_NO_WAIT: Final = _NoWait()


class Changes:
    """Begins, holds and ends the changes of one run, or of one use outside a run."""

    def __init__(  # noqa: PLR0913, PLR0917 - one for each part; by keywords a run would begin later
        self,
        store: Store,
        trail: Trail,
        events: Events,
        readers: LastReaders,
        policy: DataPolicy,
        durability: Durability,
        deadline: Patience | None,
    ) -> None:
        self._store = store
        self._trail = trail
        self._events = events
        self._readers = readers
        self._policy = policy
        self._holds = durability == "run"
        self._deadline = deadline
        self._held: Operation | None = None
        self._lost = False

    @property
    def holding(self) -> bool:
        """Whether there are changes that only this run sees."""
        return self._held is not None

    @property
    def unsaved(self) -> bool:
        """Whether `finish` and `rollback` have anything to do."""
        return self._held is not None or self._lost or bool(self._readers.readings) or self._trail.unwitnessed

    @property
    def version(self) -> memoryview | None:
        """What the store says of its committed state (`Store.version`)."""
        return self._store.version

    def snapshot(self) -> OpenSnapshot:
        """Open a view of what is committed; raises `StoreError`."""
        return self._store.snapshot()

    def chain(self) -> Chain | None:
        """Return where the agent's audit lines stand for this run, None when nobody can say.

        All lines up to there are in the log then: what goes on from them may be written.
        """
        try:
            if self._held is not None:
                self._held.write_lines(durable=False)
                return self._held.change.chain()
            with self._store.snapshot() as snapshot:
                return snapshot.chain()
        except FAILURES:
            return None

    def patience(self) -> Patience:
        """Return how long an operation that starts now may wait for others."""
        return Wait() if self._deadline is None else self._deadline

    def check_time(self) -> None:
        """Raise `BudgetExhaustedError` when the run's deadline has passed."""
        if self._deadline is not None and self._deadline.remaining_s() <= 0:
            message = "the run's deadline has passed"
            raise BudgetExhaustedError(message)

    def failure(self, error: RotiferError) -> RotiferError:
        """Return what an operation raises for one of `FAILURES`.

        A lock that stays taken until a run's deadline ends the call with -4; outside a
        run, where nobody counts budgets, it is itself.
        """
        if not isinstance(error, LockTimeoutError):
            return StorageError(error.message)
        return error if self._deadline is None else BudgetExhaustedError(error.message)

    def peek(self, identity: bytes, now_s: int) -> Record | None:
        """Return the record that a view would show, when it takes none; None says nothing about the entry."""
        return None if self._held is not None else self._store.peek(identity, now_s, self._policy)

    def view(self, caller: Caller | None, now_ms: int) -> AbstractContextManager[Snapshot]:
        """Open a view for an operation that only reads, after trying to remove what has expired.

        What cannot be removed, or not in time, is still in the view: the caller hides it.
        """
        now_s = now_ms // 1000
        self._leave_to_parent()
        if self._held is not None and self._held.change.has_expired(now_s, self._policy):
            with suppress(HostCallError, LockTimeoutError), self.operation(caller, now_ms):
                pass
        if self._held is not None:
            return nullcontext(self._held.change)
        snapshot, removing = self._store.snapshot(), True
        while removing and snapshot.has_expired(now_s, self._policy):
            snapshot.__exit__(None, None, None)
            removing = False
            with suppress(*FAILURES, BudgetExhaustedError):
                self._remove_expired(self._store.begin(_NO_WAIT), caller, now_ms, _NO_WAIT)
                self.check_time()
                removing = True
            snapshot = self._store.snapshot()
        return snapshot

    def operation(self, caller: Caller | None, now_ms: int) -> Operation:
        """Open a change in which nothing has expired, to be used in a `with` block.

        It raises what `failure` returns, here and at the end of the block.
        """
        self._leave_to_parent()
        try:
            if self._lost:
                message = "the changes of this run could not be kept"
                raise StoreError(message)
            operation = self._held
            if operation is None:
                operation = self._begin(caller, now_ms)
                return self._with_readings(operation, caller, now_ms) if self._readers.readings else operation
            try:
                while operation.change.has_expired(now_ms // 1000, self._policy):
                    self._count_expired(caller, self._expire(operation, caller, now_ms))
                    self.check_time()
            except BaseException:
                self._drop(operation)
                raise
        except FAILURES as error:
            raise self.failure(error) from error
        return operation

    def end(self, operation: Operation, error: BaseException | None) -> None:
        """Save or hold what an operation did, or forget it when its block raised `error`."""
        try:
            if error is None:
                operation.halfway = False
                if self._holds:
                    self._held = operation
                else:
                    self._commit(operation)
                return
        except BaseException as failed:
            self._drop(operation)
            if isinstance(failed, FAILURES):
                raise self.failure(failed) from failed
            raise
        self._drop(operation)
        if isinstance(error, FAILURES):
            raise self.failure(error) from error

    def _drop(self, operation: Operation) -> None:
        """Undo an operation that failed; what a run held before it is lost only if it failed halfway."""
        held = operation is self._held
        if not held or operation.halfway:
            self._lost = held
            self._held = None
            operation.undo()

    def finish(self) -> None:
        """Save what is held, then who read what.

        Raises `StorageError` when held changes are lost, `LockTimeoutError` when the log stays locked for ten seconds.
        """
        operation = self._let_go()
        lost, self._lost = self._lost, False
        try:
            if lost:
                message = "the changes of this run could not be kept: an earlier call failed halfway"
                raise StoreError(message)
            if operation is not None:
                try:
                    operation.write_lines(durable=True)
                    self._commit(operation)
                except BaseException:
                    operation.undo()
                    raise
        except LockTimeoutError:
            raise
        except FAILURES as error:
            raise self.failure(error) from error
        self._save_rest()

    def rollback(self) -> None:
        """Forget what is held; harmless when nothing is."""
        operation = self._let_go()
        self._lost = False
        if operation is not None:
            operation.undo()
        self._save_rest()

    def _let_go(self) -> Operation | None:
        """Return what is held, to be ended: not by the run's deadline, which may be what ended the run."""
        self._leave_to_parent()
        operation, self._held = self._held, None
        if operation is not None:
            operation.patience = Wait()
        return operation

    def _leave_to_parent(self) -> None:
        """In a forked child: what is held is the parent's to save, and its lines are not for the child to take back."""
        if self._held is not None and self._held.process != getpid():
            self._held, self._lost = None, True

    def _begin(self, caller: Caller | None, now_ms: int) -> Operation:
        while True:
            patience = self.patience()
            change = self._store.begin(patience)
            try:
                if not change.has_expired(now_ms // 1000, self._policy):
                    return Operation(self, change, self._trail, patience, durable=not self._holds)
            except BaseException:
                change.abort()
                raise
            self._remove_expired(change, caller, now_ms, patience)
            self.check_time()

    def _with_readings(self, operation: Operation, caller: Caller | None, now_ms: int) -> Operation:
        """Save who read what together with what the operation will do."""
        try:
            operation.readings = self._readers.save(operation.change)
        except StoreError:  # costs the readings, not the operation
            operation.change.abort()
            operation = self._begin(caller, now_ms)
        except BaseException:
            operation.change.abort()
            raise
        return operation

    def _remove_expired(self, change: Change, caller: Caller | None, now_ms: int, patience: Patience) -> None:
        """Remove expired entries, as many as go at once, in a change of their own."""
        operation = Operation(self, change, self._trail, patience, durable=True)
        try:
            count = self._expire(operation, caller, now_ms)
            self._commit(operation)
        except BaseException:
            operation.undo()
            raise
        self._count_expired(caller, count)

    def _expire(self, operation: Operation, caller: Caller | None, now_ms: int) -> int:
        change = operation.change
        expired = []
        for _, identity in change.expired(now_ms // 1000, self._policy, _EXPIRED_AT_ONCE):
            record = change.get(identity)
            if record is None:
                message = "an index of the memory names an entry that does not exist"
                raise StoreError(message)
            expired.append((identity, record))
        operation.announce(caller, now_ms, [("memory.expire", *entry) for entry in expired])
        for identity, _ in expired:
            change.remove(identity)
        operation.halfway = False
        return len(expired)

    def _count_expired(self, caller: Caller | None, count: int) -> None:
        if caller is not None:
            self._events.add("expired", caller.gene_id, count)

    def _commit(self, operation: Operation) -> None:
        operation.change.commit()
        operation.announced = []
        self._readers.saved(operation.readings)

    def _save_rest(self) -> None:
        """Save who read what, and that the refusals of this run have their lines; failing to fails nothing."""
        if self._readers.readings or self._trail.unwitnessed:
            with suppress(*FAILURES):
                self._save_readings()

    def _save_readings(self) -> None:
        change = self._store.begin(Wait(_READINGS_WAIT_S))
        try:
            readings = self._readers.save(change)
            if self._trail.unwitnessed:
                change.extend(change.chain()._replace(seen=self._trail.witness(Wait(_READINGS_WAIT_S))))
            change.commit()
        except BaseException:
            change.abort()
            raise
        self._readers.saved(readings)
