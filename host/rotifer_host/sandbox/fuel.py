"""What host calls cost a guest, in the fuel its own instructions burn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rotifer_host.sandbox.calls import Store

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

    __slots__ = ("_limit", "_store", "batch", "pending")

    def __init__(self, store: Store, limit: int) -> None:
        store.fuel = limit
        self._store = store
        self._limit = limit
        self.pending = 0
        """Charges that have not reached the engine yet; a call path adds to it in place, up to `batch`."""
        self.batch = min(_LARGEST_BATCH, limit // _BATCH_SHARE)
        """The most that may be pending."""

    def charge(self, amount: int) -> bool:
        """Take `amount` of fuel; False, and none is taken, when there is not enough left."""
        pending = self.pending + amount
        if pending <= self.batch:
            self.pending = pending
            return True
        left = max(self._store.fuel - self.pending, 0)
        covered = amount <= left
        self._leave(left - amount if covered else left)
        return covered

    def remaining(self) -> int:
        """Settle, and return the fuel left."""
        left = max(self._store.fuel - self.pending, 0)
        if self.pending:
            self._leave(left)
        return left

    def consumed(self) -> int:
        """Return what guest and host calls have used so far, at most the limit."""
        return self._limit - self.remaining()

    def _leave(self, fuel: int) -> None:
        self._store.fuel = fuel
        self.pending = 0
        self.batch = min(_LARGEST_BATCH, fuel // _BATCH_SHARE)
