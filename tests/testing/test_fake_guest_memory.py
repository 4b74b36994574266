"""A guest's memory without a guest."""

from __future__ import annotations

import pytest

from rotifer_host.testing import FakeGuestMemory

PAGE = 65_536


def test_it_reads_what_was_written() -> None:
    """Bytes come back as copies; the rest is zero."""
    memory = FakeGuestMemory()
    assert memory.write(10, b"abc")
    copy = memory.read(9, 5)
    assert memory.write(10, b"xyz")
    assert copy == b"\0abc\0"
    assert memory.read_until_nul(11, 100) == b"yz"


@pytest.mark.parametrize(
    ("address", "length", "fits"),
    [
        (0, 0, True),
        (PAGE - 1, 1, True),
        (PAGE, 0, True),
        (PAGE, 1, False),
        (PAGE + 1, 0, False),
        (PAGE - 1, 2, False),
        (0xFFFFFFFF, 1, False),
        (1, 0xFFFFFFFF, False),
    ],
)
def test_ranges_end_where_memory_does(address: int, length: int, fits: bool) -> None:  # noqa: FBT001
    """A range must lie inside memory, one of length zero too."""
    memory = FakeGuestMemory()
    assert memory.fits(address, length) is fits
    assert (memory.read(address, length) is not None) is fits
    if length < PAGE:
        assert memory.write(address, b"x" * length) is fits


def test_it_grows() -> None:
    """Growing keeps what was there and makes room behind it, also for memory that has been looked at."""
    memory = FakeGuestMemory()
    assert memory.write(0, b"kept")
    assert not memory.write(PAGE, b"x")
    memory.grow(2)
    assert memory.size == 3 * PAGE
    assert memory.write(3 * PAGE - 1, b"x")
    assert memory.read(0, 4) == b"kept"
