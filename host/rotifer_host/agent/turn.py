"""Runs of an exclusive agent take turns, in all processes of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rotifer_host.errors import AgentError
from rotifer_host.lock import FileLock, Patience

__all__ = ["turn"]


@contextmanager
def turn(folder: Path, agent_id: str, patience: Patience) -> Iterator[None]:
    """Hold an agent's turn; its locks lie in `folder`, beside its record.

    Whoever waits first holds `.next`, so that a run which has just ended and at once
    wants another turn comes after it. The kernel frees both when a process dies.
    Raises `LockTimeoutError` when patience ends, `AgentError` when a lock cannot be
    opened.
    """
    running, waiting = FileLock(folder / f"{agent_id}.run"), FileLock(folder / f"{agent_id}.next")
    try:
        try:
            with waiting.held(patience):
                running.acquire(patience)
        except OSError as error:
            message = f"cannot take a turn: {error.filename or folder}: {error.strerror}"
            raise AgentError(message) from error
        try:
            yield
        finally:
            running.release()
    finally:
        running.close()
        waiting.close()
