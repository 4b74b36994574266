"""Are the audit lines of one agent, from its first change on, chained as `abi/README.md` says?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["chain_complaints"]

_CHANGES: Final = ("memory.create", "memory.update", "memory.delete", "memory.evict", "memory.expire")


def chain_complaints(lines: object) -> Iterator[str]:
    """Follow `seq` and `prev` through the texts of all lines; abi/README.md, "The chains"."""
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        yield "dumped no auditLines, the texts of the lines"
        return
    chain: list[str] = []
    expected: tuple[int | None, str | None]
    taken_back: set[str] = set()
    unnumbered: set[str] = set()
    for number, text in enumerate(lines, start=1):
        line = _parsed(text)
        if line is None:
            yield f"audit line {number} is no JSON object"
            continue
        action, found = line.get("action"), (line.get("seq"), line.get("prev", "absent"))
        last = chain[-1] if chain else None
        if action == "memory.abort":
            prev = line.get("prev")
            if prev in chain:
                taken_back.update(chain[chain.index(prev) :])
                del chain[chain.index(prev) :]
            elif prev not in taken_back | unnumbered:
                yield f"audit line {number} takes back a line that there is not: prev is {prev}"
            continue
        of_a_module = not str(action).startswith("memory.") and "seq" in line
        line_hash = hashlib.sha256(text.encode()).hexdigest()
        if action in _CHANGES or of_a_module:
            expected = (len(chain) + 1, last)
            chain.append(line_hash)
        else:
            unnumbered.add(line_hash)
            outside = line.get("geneId") is None or line.get("agentId") is None
            expected = (None, "absent" if outside else last)
        if found != expected:
            yield f"audit line {number} has seq and prev {found}, not {expected}"


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None
