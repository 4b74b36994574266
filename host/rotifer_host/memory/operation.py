"""One change to an agent's memory with the audit lines that announce it."""

from __future__ import annotations

from collections.abc import Sequence
from os import getpid
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from rotifer_host.errors import AuditError
from rotifer_host.lock import Patience
from rotifer_host.memory.entry import Caller
from rotifer_host.memory.readers import Reading
from rotifer_host.memory.trail import Announced, Trail
from rotifer_host.store.protocol import Chain

if TYPE_CHECKING:
    from rotifer_host.memory.changes import Changes
    from rotifer_host.store.protocol import Change

__all__ = ["MOST_WAITING_LINES", "Operation"]

MOST_WAITING_LINES: Final = 256


class Operation:
    """A store change together with its lines: `with changes.operation(…) as operation:`.

    Saved, or held, at the end of the block; when the block raises, nothing of it stays.
    With `durable` each call's lines are on the disk before it is applied. Otherwise they
    wait, up to 256 of them, for `write_lines`, which must have been called with
    `durable` before the change is committed.
    """

    __slots__ = (
        "_changes",
        "_durable",
        "_trail",
        "_waiting",
        "announced",
        "change",
        "halfway",
        "patience",
        "process",
        "readings",
    )

    def __init__(self, changes: Changes, change: Change, trail: Trail, patience: Patience, *, durable: bool) -> None:
        self.change = change
        self.announced: list[bytes] = []
        """Lines in the log whose changes are not saved yet."""
        self.halfway = False
        """Something is announced that may not be applied yet."""
        self.readings: list[Reading] = []
        self.patience = patience
        """How long it may wait for the log."""
        self.process = getpid()
        self._changes = changes
        self._trail = trail
        self._durable = durable
        self._waiting: list[bytes] = []

    def announce(self, caller: Caller | None, now_ms: int, changes: Sequence[Announced]) -> None:
        """Render the audit lines of what is about to be applied, and write them unless they may wait."""
        count = self.change.chain().length + len(self._waiting)
        self.announce_lines(self._trail.lines(count, caller, now_ms, changes))

    def announce_lines(self, lines: Sequence[bytes]) -> None:
        """Write the audit lines of what is about to be applied unless they may wait.

        Ordinary writes (`memory/ordinary.py`) render their own, and let them wait themselves.
        """
        waiting, before = self._waiting, len(self._waiting)
        waiting += lines
        if self._durable or len(waiting) > MOST_WAITING_LINES:
            try:
                self.write_lines(durable=self._durable)
            except BaseException:
                del waiting[before:]  # costs this call, and not what waited before it
                raise
        self.halfway = True

    def write_lines(self, *, durable: bool) -> None:
        """Bring the lines that wait into the log, with `durable` all there are to the disk.

        Raises `AuditError` or `LockTimeoutError`; lines that are not in the log then still wait.
        """
        lines, change = self._waiting, self.change
        if not lines:
            if durable and self.announced:
                self._trail.sync()
            return
        chain = change.chain()
        held = bool(self.announced)
        try:
            written = self._trail.append(lines, self.patience, after=chain.head, durable=durable, held=held)
        except AuditError as error:
            self.announced += error.written
            raise
        self.announced += written.lines
        change.extend(Chain(chain.length + len(lines), written.last))
        self._waiting = []

    def undo(self) -> None:
        """Forget the change, and take back what is in the log; what is saved stays."""
        self.change.abort()
        if not self.change.saved:
            self._trail.aborted(self.announced, self.patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._changes.end(self, error)
