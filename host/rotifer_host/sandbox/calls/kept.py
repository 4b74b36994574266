"""Responses of a run that are given again while nothing can have changed them.

What `ExchangeFunction.unchanged_until` allows, for the call paths in Python; the
native path does the same in C. A response is kept when its request comes for the
second time at one version: a request that comes once costs next to nothing.
"""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rotifer_host.sandbox.calls.registry import ExchangeFunction
    from rotifer_host.sandbox.run import Run

__all__ = ["KeptResponses"]

_PLACES: Final = 64
_LARGEST_REQUEST: Final = 1024
_LARGEST_RESPONSE: Final = 64 * 1024
_NEVER: Final = (1 << 64) - 1


class KeptResponses:
    """The kept responses of one run; `version` is eight bytes, as `Sandbox.run` takes them."""

    __slots__ = ("_found", "_places", "_version")

    def __init__(self, version: memoryview) -> None:
        self._version = version.cast("Q")
        self._found = 0
        """The version at the last look: the one a new response is kept for."""
        self._places: dict[tuple[str, bytes], tuple[int, int, bytes | None]] = {}
        """Version, second it is good until, and response, which is None for a request that came once."""

    def find(self, function: ExchangeFunction, request: bytes) -> bytes | None:
        """Return the response to give again, if there is one."""
        self._found = found = self._version[0]
        place = self._places.get((function.label, request))
        if place is None:
            return None
        version, until_s, response = place
        return response if version == found and (until_s == _NEVER or time() < until_s) else None

    def keep(self, run: Run, function: ExchangeFunction, request: bytes, response: bytes) -> None:
        """Keep what was answered after `find`, when it is small and this is the second of its kind at this version."""
        if function.unchanged_until is None or len(request) > _LARGEST_REQUEST or len(response) > _LARGEST_RESPONSE:
            return
        key = (function.label, request)
        place = self._places.get(key)
        if place is None or place[0] != self._found:
            if len(self._places) >= _PLACES:
                self._places.clear()
            self._places[key] = (self._found, 0, None)
            return
        until_s = function.unchanged_until(run)
        if until_s is not None:
            self._places[key] = (self._found, until_s, response)

    def forget(self) -> None:
        """Drop every response."""
        self._places.clear()
