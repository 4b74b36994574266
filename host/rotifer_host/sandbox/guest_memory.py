"""The one place where the host touches a guest's linear memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rotifer_host.sandbox.capi import MemoryHandle

__all__ = ["PAGE_BYTES", "GuestMemory"]

PAGE_BYTES: Final = 65_536
_FIRST_CHUNK: Final = 1024
_LARGEST_CHUNK: Final = 65_536


class GuestMemory:
    """A guest's linear memory, addressed by unsigned 32-bit offsets.

    Every range is checked before anything is copied or allocated; a range of length
    zero must lie inside memory too. Reads are copies. Before `attach` and after
    `detach` there is no memory: nothing fits.
    """

    __slots__ = ("_buffer", "_handle", "_size", "attached")

    def __init__(self) -> None:
        self.attached = False
        """Whether there is a memory."""
        self._handle: MemoryHandle | None = None
        self._buffer: Any = b""
        self._size = 0

    def attach(self, handle: MemoryHandle) -> None:
        """Use this memory from now on."""
        self._handle = handle
        self.attached = True
        self._refresh()

    def detach(self) -> None:
        """Forget the memory, which must happen before its store is closed."""
        self._handle = None
        self.attached = False
        self._buffer = b""
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes at this moment."""
        self._refresh()
        return self._size

    def fits(self, address: int, length: int) -> bool:
        """Tell whether `[address, address + length)` lies inside memory as it is now."""
        return address + length <= self._size or address + length <= self.size

    def read(self, address: int, length: int) -> bytes | None:
        """Return a copy of the range, None when it is not inside memory."""
        end = address + length
        if end > self._size and not self.fits(address, length):
            return None
        data: bytes = self._buffer[address:end]
        return data

    def write(self, address: int, data: bytes) -> bool:
        """Copy `data` to `address`; False, and nothing is written, when it does not fit."""
        end = address + len(data)
        if end > self._size and not self.fits(address, len(data)):
            return False
        self._buffer[address:end] = data
        return True

    def read_u32(self, address: int) -> int | None:
        """Return the little-endian 32-bit number at `address`."""
        data = self.read(address, 4)
        return None if data is None else int.from_bytes(data, "little")

    def read_until_nul(self, address: int, most: int) -> bytes | None:
        """Return the bytes from `address` up to a NUL or the end of memory, at most `most` of them.

        None when `address` is not inside memory.
        """
        if not self.fits(address, 1):
            return None
        text = bytearray()
        size, step = self.size, _FIRST_CHUNK
        while len(text) < most and address < size:
            chunk = self._buffer[address : min(address + step, size)]
            end = chunk.find(0)
            text += chunk if end < 0 else chunk[:end]
            if end >= 0:
                break
            address += len(chunk)
            step = min(step * 2, _LARGEST_CHUNK)
        return bytes(text[:most])

    def _refresh(self) -> None:
        """Look at the size again: memory may have grown, it never shrinks and its base never moves."""
        if self._handle is not None:
            size = self._handle.size
            if size != self._size:
                self._buffer = self._handle.buffer(size)
                self._size = size
