"""Compositions, short to write down."""

from __future__ import annotations

from typing import Any


def par(*branches: Any, merge: str = "first") -> dict[str, Any]:
    """Return a `Par`."""
    return {"type": "Par", "branches": list(branches), "merge": merge}


def seq(*steps: Any) -> dict[str, Any]:
    """Return a `Seq`."""
    return {"type": "Seq", "steps": list(steps)}


def cond(yes: Any, no: Any) -> dict[str, Any]:
    """Return a `Cond` on `{"type": "primary"}`."""
    predicate = {"field": "type", "op": "Eq", "value": "primary"}
    return {"type": "Cond", "predicate": predicate, "thenBranch": yes, "elseBranch": no}


def attempt(primary: Any, fallback: Any) -> dict[str, Any]:
    """Return a `Try`."""
    return {"type": "Try", "primary": primary, "fallback": fallback}
