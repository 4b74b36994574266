"""A guest's linear memory without a guest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from rotifer_host.sandbox._ffi import ffi
from rotifer_host.sandbox.guest_memory import PAGE_BYTES, GuestMemory

if TYPE_CHECKING:
    from rotifer_host.sandbox.capi import MemoryHandle

__all__ = ["FakeGuestMemory"]


class FakeGuestMemory(GuestMemory):
    """Linear memory of `pages` pages of 64 KiB, zeroed, for testing what reads and writes guests' memory.

    Its checks are the host's own. It is no model of a guest: growing moves nothing and
    always works, and nothing here is protected from the code under test.
    """

    __slots__ = ("_bytes",)

    def __init__(self, pages: int = 1) -> None:
        super().__init__()
        self._bytes = _Bytes(pages * PAGE_BYTES)
        self.attach(cast("MemoryHandle", self._bytes))

    def grow(self, pages: int) -> None:
        """Add pages, as `memory.grow` does."""
        self._bytes.grow(pages * PAGE_BYTES)


class _Bytes:
    """What the engine has in a real run: the size of a memory and a buffer over it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._data = bytearray(size)

    def grow(self, size: int) -> None:
        self.size += size
        self._data = self._data + bytearray(size)  # not in place: views of the old one are still out

    def buffer(self, size: int) -> Any:  # noqa: ANN401 - what cffi gives: slices of it are copies
        return ffi.buffer(ffi.from_buffer(self._data), size)
