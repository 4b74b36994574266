"""What a run may use, and sizes as people type them."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from rotifer_host import contract
from rotifer_host.errors import UsageError

__all__ = ["Limits", "format_size", "parse_size"]

_UNITS = {"KB": contract.KIB, "MB": contract.MIB, "GB": contract.GIB}
_SIZE = re.compile(r"(?P<whole>\d{1,40})(?:\.(?P<part>\d{1,40}))?\s*(?P<unit>KB|MB|GB)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one run; each is a whole number greater than zero.

    | field           | unit  | counts for                                   |
    |-----------------|-------|----------------------------------------------|
    | `fuel`          | fuel  | each gene of the run                         |
    | `deadline_ms`   | ms    | the run, host calls and start functions included |
    | `memory_bytes`  | bytes | the linear memory of each gene               |
    | `host_time_ms`  | ms    | the time the run spends inside host calls    |

    Raises `UsageError` for anything else.
    """

    fuel: int = contract.DEFAULT_FUEL
    deadline_ms: int = contract.DEFAULT_DEADLINE_MS
    memory_bytes: int = contract.DEFAULT_GUEST_MEMORY_BYTES
    host_time_ms: int = contract.DEFAULT_HOST_TIME_MS

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or not 0 < value < 1 << 63:
                message = f"limit {field.name} must be a whole number from 1 to {(1 << 63) - 1}, not {value!r}"
                raise UsageError(message)


def parse_size(text: str, *, what: str = "size", maximum: int = contract.MAX_QUOTA_BYTES) -> int:
    """Turn `512KB`, `1.5GB` or `50mb` into bytes (1 KB = 1024 bytes), rounded down.

    The rules of memory-api.en.md, "Quota and cleanup": a unit is required, and the
    size must be at least one byte and at most `maximum`. Raises `UsageError`.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        message = f"{what} must be a number with KB, MB or GB, for example 512KB or 1.5GB, not {text!r}"
        raise UsageError(message)
    unit, part = _UNITS[match["unit"].upper()], match["part"] or ""
    size: int = int(match["whole"] + part) * unit // 10 ** len(part)
    if not 0 < size <= maximum:
        message = f"{what} must be more than zero and at most {format_size(maximum)}, not {text!r}"
        raise UsageError(message)
    return size


def format_size(size: int) -> str:
    """Bytes as people read them: `0 B`, `1.5 KB`, `10 MB`."""
    if size < contract.KIB:
        return f"{size} B"
    for unit, factor in reversed(_UNITS.items()):
        if size >= factor:
            return f"{size / factor:.1f}".removesuffix(".0") + f" {unit}"
    raise AssertionError(size)
