"""What to type where a package that an extra of this distribution brings is missing."""

from __future__ import annotations

import shlex
import sys

__all__ = ["how_to_install"]


def how_to_install(extra: str) -> str:
    """Return the help of an error: the command that installs an extra for the Python that is running."""
    return f"type `{shlex.quote(sys.executable)} -m pip install 'rotifer-host[{extra}]'`"
