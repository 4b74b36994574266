"""The command `rotifer` from its first moment on: `python -m rotifer_host`, and the script of that name."""

from __future__ import annotations

import gc
import signal
import sys
from typing import Final

__all__ = ["main"]

_ALLOCATIONS: Final = 50_000
"""Between two looks for garbage: a command loads some tens of thousands of objects, and they stay."""


def main() -> int:
    """Run the command line of this process and return its exit status.

    Until the command is loaded there is nothing to put in order, and Ctrl-C ends the
    process as it would any program; Python's own way is a traceback of its imports.
    The same goes for the time after the command has ended.
    """
    gc.set_threshold(_ALLOCATIONS)
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not when a shell says to ignore it
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from rotifer_host.cli import main as command  # noqa: PLC0415 - see above

    try:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return command()
    except KeyboardInterrupt:  # before the command could listen, or a second one while it spoke of the first
        return 128 + signal.SIGINT
    finally:
        gc.freeze()  # what is left goes with the process: the interpreter need not look through it first
        if ours:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
