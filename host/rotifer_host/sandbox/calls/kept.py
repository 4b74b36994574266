"""Responses of a run that are given again while nothing can have changed them.

What `ExchangeFunction.unchanged_until` allows, for the call paths in Python; the
native path does the same in C. A response is kept when its request comes for the
second time at one version: a request that comes once costs next to nothing.
"""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rotifer_host.sandbox.calls.registry import ExchangeFunction
    from rotifer_host.sandbox.run import Run

__all__ = ["KeptResponses"]

_PLACES: Final = 64
_LARGEST_REQUEST: Final = 1024
_LARGEST_RESPONSE: Final = 64 * 1024
_NEVER: Final = (1 << 64) - 1


class _Place(NamedTuple):
    version: int
    until_s: int
    response: bytes | None
    """None for a request that came once."""


class KeptResponses:
    """The kept responses of one run; `version` is eight bytes, as `Sandbox.run` takes them."""

    __slots__ = ("_places", "_version")

    def __init__(self, version: memoryview) -> None:
        self._version = version.cast("Q")
        self._places: dict[tuple[str, bytes], _Place] = {}

    def find(self, function: ExchangeFunction, request: bytes) -> tuple[bytes | None, int]:
        """Return the response to give again, or None, and the version that a new response must be kept for."""
        version = self._version[0]
        place = self._places.get((function.label, request))
        if place is None or place.version != version or place.response is None:
            return None, version
        if place.until_s != _NEVER and time() >= place.until_s:
            return None, version
        return place.response, version

    def keep(self, run: Run, function: ExchangeFunction, request: bytes, response: bytes, version: int) -> None:
        """Keep a fresh response, when it is small and this is the second of its kind at this version."""
        if function.unchanged_until is None or len(request) > _LARGEST_REQUEST or len(response) > _LARGEST_RESPONSE:
            return
        key = (function.label, request)
        place = self._places.get(key)
        if place is None or place.version != version:
            if len(self._places) >= _PLACES:
                self._places.clear()
            self._places[key] = _Place(version, 0, None)
            return
        until_s = function.unchanged_until(run)
        if until_s is not None:
            self._places[key] = _Place(version, until_s, response)

    def forget(self) -> None:
        """Drop every response."""
        self._places.clear()
