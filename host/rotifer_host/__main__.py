"""The command `rotifer` from its first moment on: `python -m rotifer_host`, and the script of that name."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Run the command line of this process and return its exit status.

    Until the command is loaded there is nothing to put in order, and Ctrl-C ends the
    process as it would any program; Python's own way is a traceback of its imports.
    The same goes for the time after the command has ended.
    """
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
        if ours:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
