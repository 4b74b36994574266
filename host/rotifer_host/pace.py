"""Long walks that somebody may want to end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

__all__ = ["paced", "unhurried"]

_STEPS: Final = 256
_T = TypeVar("_T")


def unhurried() -> None:
    """Check nothing: the walk may take as long as it takes."""


def paced(walk: Iterable[_T], check_time: Callable[[], None]) -> Iterator[_T]:
    """Walk on, calling `check_time`, which may raise to end it, after every 256 steps."""
    for walked, step in enumerate(walk, start=1):
        if walked % _STEPS == 0:
            check_time()
        yield step
