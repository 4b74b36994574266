"""A guest's standard streams and its log."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from rotifer_host import contract

__all__ = ["KeptText", "Streams"]


class KeptText(msgspec.Struct):
    """Text a guest produces: the first 64 KiB are kept, the rest is counted."""

    dropped: int = 0
    """Bytes that were not kept."""
    _kept: bytearray = bytearray()

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


class Streams(msgspec.Struct):
    """Standard input, output and error of one run, and its log."""

    STDIN: ClassVar = 0
    STDOUT: ClassVar = 1
    STDERR: ClassVar = 2

    input: bytes = b""
    output: bytearray | None = None
    """What a program wrote; None in direct mode, where what it prints goes to the log."""
    position: int = 0
    """Bytes of input that were read."""
    log: KeptText = msgspec.field(default_factory=KeptText)
    stderr: KeptText = msgspec.field(default_factory=KeptText)
    closed: set[int] = set()
    """Descriptors that the guest closed."""
