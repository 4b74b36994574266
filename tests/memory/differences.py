"""Where two memories, or what came of their calls, first differ; and whether an audit log holds together."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from tests.memory.caller import Made

__all__ = ["check_links", "compare"]


def compare(what: str, native: Any, raw: Any) -> None:
    """Say where two things first differ, if they do."""
    if native == raw:
        return
    if isinstance(raw, Made) and isinstance(native, Made):
        compare(f"{what}, answer", (native.result, native.answer), (raw.result, raw.answer))
    if isinstance(raw, tuple) and hasattr(raw, "_fields"):
        for name in raw._fields:
            compare(f"{what}, {name}", getattr(native, name), getattr(raw, name))
    if isinstance(raw, dict):
        for key in sorted(raw.keys() | native.keys()):
            compare(f"{what}, {key!r}", native.get(key), raw.get(key))
    if isinstance(raw, list) and isinstance(native, list):
        for number, pair in enumerate(zip(native, raw, strict=False)):
            compare(f"{what} {number} ({getattr(pair[1], 'request', b'')!r:.300})", *pair)
        native, raw = len(native), len(raw)
    pytest.fail(f"{what}:\n  native {native!r:.900}\n  raw    {raw!r:.900}")


def check_links(log: bytes) -> None:
    """Make sure that each line names the hash of the one above it: what makes them may be C for both."""
    above = None
    for line in log.splitlines():
        said = json.loads(line).get("above", above)
        assert said == above, line
        above = sha256(line).hexdigest()
