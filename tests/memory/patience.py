"""The patience of a run whose time is up."""

from __future__ import annotations

__all__ = ["Passed"]


class Passed:
    """Waits for nothing."""

    def remaining_s(self) -> float:
        """Return that nothing is left."""
        return 0.0
