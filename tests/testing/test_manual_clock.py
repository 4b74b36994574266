"""A clock that moves only when it is told to."""

from __future__ import annotations

import pytest

from rotifer_host.clock import Clock, rfc3339
from rotifer_host.testing import ManualClock


def test_it_stands_still() -> None:
    """Time is what it was set to until it is moved, whatever passes outside."""
    clock: Clock = ManualClock("2026-03-01T12:00:00.250Z")
    assert [rfc3339(clock.now_ms()) for _ in range(3)] == ["2026-03-01T12:00:00.250Z"] * 3


@pytest.mark.parametrize(
    ("days", "seconds", "ms", "then"),
    [
        (1, 0, 0, "2026-03-02T00:00:00.000Z"),
        (0, 61, 1, "2026-03-01T00:01:01.001Z"),
        (-1, 0, -1, "2026-02-27T23:59:59.999Z"),
        (365 * 8000, 0, 0, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_it_moves_both_ways(days: int, seconds: int, ms: int, then: str) -> None:
    """`advance` moves by days, seconds and milliseconds, back too, and beyond what RFC 3339 can write."""
    clock = ManualClock("2026-03-01T00:00:00Z")
    clock.advance(days=days, seconds=seconds, ms=ms)
    assert rfc3339(clock.now_ms()) == then


@pytest.mark.parametrize(
    ("time", "ms"),
    [(0, 0), (-1, -1), ("1970-01-01T00:00:00Z", 0), ("1970-01-01T01:00:00+01:00", 0), ("1969-12-31T23:59:59.999Z", -1)],
)
def test_it_is_set_to_text_or_milliseconds(time: str | int, ms: int) -> None:
    """`set` takes RFC 3339 text with any zone, or milliseconds since 1970."""
    clock = ManualClock()
    clock.set(time)
    assert clock.now_ms() == ms


@pytest.mark.parametrize("time", ["2026-03-01T00:00:00", "noon", ""])
def test_it_takes_no_time_without_a_zone(time: str) -> None:
    """Text that does not name one instant is refused."""
    with pytest.raises(ValueError, match=r"zone|isoformat"):
        ManualClock(time)
