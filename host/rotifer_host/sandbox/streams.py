"""A guest's standard streams and its log."""

from __future__ import annotations

from typing import Final

from rotifer_host import contract

__all__ = ["KeptText", "Streams"]


class KeptText:
    """Text a guest produces: the first 64 KiB are kept, the rest is counted."""

    __slots__ = ("_kept", "dropped")

    def __init__(self) -> None:
        self._kept = bytearray()
        self.dropped = 0

    @property
    def room(self) -> int:
        """Bytes that would still be kept."""
        return contract.MAX_LOG_BYTES - len(self._kept)

    def add(self, data: bytes) -> None:
        """Keep what fits."""
        room = self.room
        self._kept += data[:room]
        self.dropped += max(len(data) - room, 0)

    def text(self) -> str:
        """Return what was kept; bytes that are not UTF-8 are replaced."""
        return self._kept.decode("utf-8", "replace")


class Streams:
    """Standard input, output and error of one run, and its log.

    Without `output` (direct mode) standard input is empty and what the guest prints
    goes to the log.
    """

    STDIN: Final = 0
    STDOUT: Final = 1
    STDERR: Final = 2

    __slots__ = ("closed", "input", "log", "output", "position", "stderr")

    def __init__(self, *, stdin: bytes | None) -> None:
        self.input = stdin or b""
        self.position = 0
        self.output = None if stdin is None else bytearray()
        self.log = KeptText()
        self.stderr = KeptText()
        self.closed: set[int] = set()
