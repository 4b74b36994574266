"""RFC 3339 texts as whole milliseconds, exact for any number of fraction digits.

Integer arithmetic on the proleptic Gregorian calendar, because `datetime` has no
year 0, no second 60 and no digit beyond the microsecond.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["ceil_ms"]

_TEXT: Final = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[Tt]"
    r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d+))?"
    r"(?:[Zz]|(?P<sign>[+-])(?P<zone_hour>\d\d):(?P<zone_minute>\d\d))",
    re.ASCII,
)
_DAYS_IN_MONTH: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FEBRUARY: Final = 2
_EPOCH_DAY: Final = 719_528  # days from 0000-01-01 to 1970-01-01


def ceil_ms(text: str) -> int:
    """Return the first whole millisecond since 1970 that is not before the instant `text` names.

    For whole-millisecond times `t`, `t >= ceil_ms(text)` holds exactly when `t` is at
    or after that instant, and `t < ceil_ms(text)` exactly when it is before. Second 60
    is the next minute's first. Raises `ValueError` for anything but a real date and
    time with a zone.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"])
    zone_hour, zone_minute = int(match["zone_hour"] or 0), int(match["zone_minute"] or 0)
    real = (
        month in range(1, 13)
        and day in range(1, _month_length(year, month) + 1)
        and hour in range(24)
        and minute in range(60)
        and second in range(61)
        and zone_hour in range(24)
        and zone_minute in range(60)
    )
    if not real:
        raise ValueError(text)
    offset = (zone_hour * 60 + zone_minute) * (-1 if match["sign"] == "-" else 1)
    seconds = ((_days(year, month, day) * 24 + hour) * 60 + minute - offset) * 60 + second
    fraction = match["fraction"] or ""
    millis = int(fraction[:3].ljust(3, "0")) + (fraction[3:].strip("0") != "")
    return seconds * 1000 + millis


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _month_length(year: int, month: int) -> int:
    return _DAYS_IN_MONTH[month - 1] + (month == _FEBRUARY and _is_leap(year))


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date of the years 0 to 9999."""
    leap_days = 0 if year == 0 else (year - 1) // 4 - (year - 1) // 100 + (year - 1) // 400 + 1
    before_month = sum(_month_length(year, earlier) for earlier in range(1, month))
    return year * 365 + leap_days + before_month + day - 1 - _EPOCH_DAY
