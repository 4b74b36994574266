"""RFC 3339 texts as milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotifer_host.memory.timestamp import ceil_ms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:30:00-00:30", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1970-01-01T00:00:00.5Z", 500),
        ("1970-01-01T00:00:00.0010000000000000000000000000Z", 1),
        ("1970-01-01T00:00:00.0010000000000000000000000001Z", 2),
        ("1970-01-01T00:00:00.9999Z", 1000),
        ("1969-12-31T23:59:59.9991Z", 0),
        ("1969-12-31T23:59:60Z", 0),
        ("1969-12-31T23:59:60.25Z", 250),
        ("2026-02-28T23:59:60Z", 1772323200000),
        ("2024-02-29T00:00:00Z", 1709164800000),
        ("2000-02-29T00:00:00Z", 951782400000),
        ("0000-01-01T00:00:00Z", -62167219200000),
        ("0000-02-29T00:00:00Z", -62162121600000),
        ("9999-12-31T23:59:60Z", 253402300800000),
        ("0000-01-01T00:00:00+23:59", -62167219200000 - (23 * 60 + 59) * 60_000),
    ],
)
def test_an_instant_becomes_the_first_millisecond_not_before_it(text: str, expected: int) -> None:
    """Offsets, fractions of any length, leap seconds and the years 0 to 9999 are exact."""
    assert expected == ceil_ms(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-01-31 12:00:00Z",
        "2026-01-31T12:00Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00,5Z",
        "2026-01-31T12:00:00+0100",
        "2026-01-31T12:00:00+01",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z",
        "2026-01-31T12:00:61Z",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00+01:60",
        "2026-00-31T12:00:00Z",
        "2026-13-31T12:00:00Z",
        "2026-04-31T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "1900-02-29T12:00:00Z",
        "2026-01-00T12:00:00Z",
        "26-01-31T12:00:00Z",
        "+2026-01-31T12:00:00Z",
        " 2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00Z\n",
        "\uff12\uff10\uff12\uff16-01-31T12:00:00Z",
    ],
)
def test_anything_but_a_real_date_and_time_with_a_zone_is_refused(text: str) -> None:
    """What only looks like RFC 3339 is refused."""
    with pytest.raises(ValueError, match=r"^"):
        ceil_ms(text)


@given(st.datetimes(), st.integers(-1439, 1439))
def test_it_agrees_with_datetime_where_datetime_can_tell(moment: datetime, offset_minutes: int) -> None:
    """Every microsecond of the years 1 to 9999, in any zone, rounds up to its millisecond."""
    sign, minutes = ("-", -offset_minutes) if offset_minutes < 0 else ("+", offset_minutes)
    text = f"{moment.isoformat(timespec='microseconds')}{sign}{minutes // 60:02}:{minutes % 60:02}"
    since = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    micros = since // timedelta(microseconds=1) - offset_minutes * 60_000_000
    assert -(-micros // 1000) == ceil_ms(text)
