"""The C extension behind split runs and probes of functions that have a shortcut."""

from collections.abc import Callable

fill: object
"""A shortcut that answers with as many spaces as there is room for."""

def timed(shortcut: object, enter: Callable[[], None], leave: Callable[[bool | None], None], /) -> object:
    """Return a shortcut that calls `enter()`, the given one, and `leave`.

    `leave` is told True for a response, False for a refusal or an error, None where the
    handler is to answer. Raises `ValueError` for what is no shortcut.
    """
