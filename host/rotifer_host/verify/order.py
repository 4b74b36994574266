"""Whether each line of a log stands below the line it was written below, whosever lines they are.

Lines hold the hash of the one above them, `above`, so that a line from which no chain goes
on, a refusal's, cannot be taken out, changed or moved either. Lines from before there was
an `above` may stand at the begin of a log, and nowhere else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Order", "Place"]


class Place(NamedTuple):
    """Where a line stands: files in the order they were given, lines from 1."""

    file: int
    number: int


class Order:
    """Takes the lines of a log from its begin to its end."""

    def __init__(self) -> None:
        self.hashes: dict[str, Place] = {}
        """Of all lines, in hex, each with the first place it stands at."""
        self._last: str | None = None
        self._linked = False
        self._misplaced: list[tuple[Place, str | None]] = []

    def take(self, place: Place, line_hash: str, document: dict[str, Any] | None) -> None:
        """Take the next line; `document` is None where it is none."""
        above = None if document is None else document.get("above", "")
        above = above if above is None else str(above)  # a forged line may hold anything
        fits = above == self._last or (place.number == 1 and above is None) or (above == "" and not self._linked)
        if document is not None and not fits:
            self._misplaced.append((place, above))
        self._linked |= bool(above)
        self._last = line_hash
        self.hashes.setdefault(line_hash, place)

    def displaced(self) -> list[Place]:
        """Return lines that were written below another line of the log than the one they stand below."""
        return [place for place, above in self._misplaced if above in self.hashes]

    def unlinked(self) -> list[Place]:
        """Return lines that were written below a line that is not in the log."""
        return [place for place, above in self._misplaced if above not in self.hashes]
