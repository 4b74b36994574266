"""A write transaction of LMDB: entries, and the rows that follow from them."""

# ruff: noqa: D102 - what the methods do is said once, in protocol.py

from __future__ import annotations

from typing import Final

import lmdb

from rotifer_host.errors import StoreError
from rotifer_host.memory.entry import DataPolicy, Record
from rotifer_host.store import codec
from rotifer_host.store.environment import Committed, Environment
from rotifer_host.store.protocol import Chain, DocumentName, Expiry, Totals
from rotifer_host.store.view import View

__all__ = ["NOTHING", "LmdbChange"]

NOTHING: Final[tuple[bytes, Record | None]] = (b"", None)
"""What a change remembers of the entry it looked at last when it remembers none."""


class LmdbChange(View):
    """Begun under the writers' lock of its environment, which it gives back when it ends.

    Ordinary writes (`memory/ordinary.py`) read and set its attributes from C.
    """

    __slots__ = ("_chain", "_changed", "_firsts", "_has_followers", "_last", "_number", "_open", "_totals", "saved")

    def __init__(self, environment: Environment, txn: lmdb.Transaction) -> None:
        self._environment = environment  # not by super(): there is one of these for every write
        self._txn = txn
        committed = environment.committed
        self._number = txn.id()
        if committed.number != self._number - 1:
            committed = Committed(-1)  # what others did since, nobody knows here
        self._totals = committed.totals or super().totals()
        self._chain = committed.chain or super().chain()
        self._has_followers = super()._follows() if committed.follows is None else committed.follows
        self._firsts = [committed.first_own, None]
        """First second of each kind of `expiry`, where it is known."""
        self._last = NOTHING
        """The entry looked at last: it is what changes next."""
        self._changed = False
        self._open = True
        self.saved = False

    def get(self, identity: bytes) -> Record | None:
        known, record = self._last
        if known != identity:
            try:
                raw = self._txn.get(codec.ENTRIES + identity)
            except lmdb.Error as error:
                raise self._failure(error) from error
            record = None if raw is None else codec.decode_record(raw)
            self._last = (identity, record)
        return record

    def totals(self) -> Totals:
        return self._totals

    def chain(self) -> Chain:
        return self._chain

    def extend(self, chain: Chain) -> None:
        self._chain = chain
        self._changed = True

    def put(self, identity: bytes, record: Record) -> None:
        old = self.get(identity)
        txn = self._txn
        self._changed = True
        self._last = NOTHING
        try:
            txn.put(codec.ENTRIES + identity, codec.encode_record(record))
            if old is None:
                txn.put(codec.key_row(identity, record), b"")
                txn.put(*codec.recency_row(identity, record))
                self._move_expiry(identity, None, record)
            else:
                key, value = codec.recency_row(identity, record)
                old_key = codec.recency_key(old)
                if old_key != key:
                    txn.delete(old_key)
                txn.put(key, value)
                if old.key != record.key:
                    txn.delete(codec.key_row(identity, old))
                    txn.put(codec.key_row(identity, record), b"")
                if old.retention is not None or record.retention is not None or self._has_followers:
                    self._move_expiry(identity, old, record)
        except lmdb.Error as error:
            raise self._failure(error) from error
        self._last = (identity, record)
        self._totals = self._totals.after(old, record)

    def remove(self, identity: bytes) -> None:
        old = self.get(identity)
        if old is None:
            message = f"there is no entry {identity.hex()} to remove"
            raise StoreError(message)
        txn = self._txn
        self._changed = True
        self._last = NOTHING
        try:
            txn.delete(codec.ENTRIES + identity)
            txn.delete(codec.recency_key(old))
            txn.delete(codec.key_row(identity, old))
            self._move_expiry(identity, old, None)
        except lmdb.Error as error:
            raise self._failure(error) from error
        self._totals = self._totals.after(old, None)

    def put_document(self, name: DocumentName, data: bytes | None) -> None:
        key = codec.document_key(name)
        self._changed = True
        try:
            if data is None:
                self._txn.delete(key)
            else:
                self._txn.put(key, codec.encode_document(data))
        except lmdb.Error as error:
            raise self._failure(error) from error

    def has_expired(self, now_s: int, policy: DataPolicy) -> bool:
        if policy.maxRetentionDays is None and (first := self._firsts[codec.OWN]) is not None:
            return first <= now_s  # every operation comes here
        self._list_followers(policy)
        return super().has_expired(now_s, policy)

    def expired(self, now_s: int, policy: DataPolicy, limit: int) -> list[Expiry]:
        self._list_followers(policy)
        return super().expired(now_s, policy, limit)

    def commit(self) -> None:
        environment = self._environment
        if not self._open or environment.env is None:
            message = "this change has already ended, or was begun before a fork"
            raise StoreError(message)
        txn = self._txn
        try:
            if self._changed:
                txn.put(codec.TOTALS_KEY, codec.encode_totals(self._totals))
                txn.put(codec.CHAIN_KEY, codec.encode_chain(self._chain))
            known = Committed(self._number)  # now: what is committed must not fail any more
            known.first_own = self._firsts[codec.OWN]
            known.totals, known.chain, known.follows = self._totals, self._chain, self._has_followers
            try:
                txn.commit()
                self.saved = True
            except BaseException as error:  # what is not LMDB's, a signal's handler raised behind the commit
                self.saved = not isinstance(error, lmdb.Error)
                raise
            finally:
                if self.saved and self._changed:  # else LMDB gives the number to the next one
                    environment.committed = known
        except lmdb.Error as error:
            raise self._failure(error) from error
        finally:
            self.abort()

    def abort(self) -> None:
        was_open, self._open = self._open, False
        if was_open:
            try:
                # without `env` it ended with the file, or is the parent's of this process
                if not self.saved and self._environment.env is not None:
                    self._txn.abort()
            finally:
                self._environment.lock.release()

    def _list_followers(self, policy: DataPolicy) -> None:
        """Put the rows of entries that follow the data policy, from the first one on that has a limit."""
        if self._has_followers or policy.maxRetentionDays is None:
            return
        followers = [(identity, record) for identity, record in self.records() if record.retention is None]
        self._has_followers = self._changed = True
        try:
            self._txn.put(codec.FOLLOWS_KEY, b"")
            for follower in followers:
                self._move_expiry(follower[0], None, follower[1])
        except lmdb.Error as error:
            raise self._failure(error) from error

    def _move_expiry(self, identity: bytes, old: Record | None, new: Record | None) -> None:
        old_key = None if old is None else self._expiry(identity, old)
        new_key = None if new is None else self._expiry(identity, new)
        if old_key != new_key:
            self._firsts = [None, None]
            if old_key is not None:
                self._txn.delete(old_key)
            if new_key is not None:
                self._txn.put(new_key, b"")

    def _expiry(self, identity: bytes, record: Record) -> bytes | None:
        """Return the key of the entry's row of `expiry`, None when it has none."""
        if record.retention is None and not self._has_followers:
            return None
        return codec.expiry_key(identity, record)

    def _follows(self) -> bool:
        return self._has_followers

    def _first_row(self, kind: int) -> int:
        first = self._firsts[kind]
        if first is None:
            first = self._firsts[kind] = super()._first_row(kind)
        return first
