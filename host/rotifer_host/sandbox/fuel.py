"""What host calls cost a guest, in the fuel its own instructions burn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rotifer_host.sandbox.capi import Store

__all__ = ["FuelMeter"]

_LARGEST_BATCH: Final = 1_000_000
_BATCH_SHARE: Final = 16


class FuelMeter:
    """Charges host calls to a store's fuel, in batches.

    Asking the engine at each call would cost more than a small call does. Charges
    are collected until they exceed a batch: 1,000,000 fuel, or a sixteenth of what
    was left at the last settlement when that is less. A guest cannot get past its
    limit by more than one batch.
    """

    __slots__ = ("_batch", "_limit", "_pending", "_store")

    def __init__(self, store: Store, limit: int) -> None:
        store.fuel = limit
        self._store = store
        self._limit = limit
        self._pending = 0
        self._batch = min(_LARGEST_BATCH, limit // _BATCH_SHARE)

    def charge(self, amount: int) -> bool:
        """Take `amount` of fuel; False, and none is taken, when there is not enough left."""
        pending = self._pending + amount
        if pending <= self._batch:
            self._pending = pending
            return True
        left = self.remaining()
        if amount > left:
            return False
        self._leave(left - amount)
        return True

    def remaining(self) -> int:
        """Settle, and return the fuel left."""
        left = max(self._store.fuel - self._pending, 0)
        if self._pending:
            self._leave(left)
        return left

    def consumed(self) -> int:
        """Return what guest and host calls have used so far, at most the limit."""
        return self._limit - self.remaining()

    def _leave(self, fuel: int) -> None:
        self._store.fuel = fuel
        self._pending = 0
        self._batch = min(_LARGEST_BATCH, fuel // _BATCH_SHARE)
