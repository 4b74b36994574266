"""Lines of what is done outside of any transaction: written before, taken back when it fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from rotifer_host.audit.line import AuditLine, decode_line, encode_line, line_hash
from rotifer_host.audit.log import AuditSink
from rotifer_host.clock import rfc3339
from rotifer_host.errors import AuditError, BudgetExhaustedError, LockTimeoutError, StorageError

if TYPE_CHECKING:
    from rotifer_host.clock import Clock
    from rotifer_host.lock import Patience

__all__ = ["append_if_possible", "noted", "take_back"]


@contextmanager
def noted(audit: AuditSink, line: AuditLine, patience: Patience, clock: Clock) -> Iterator[None]:
    """Write a line, on the disk before the block begins; when the block raises, take it back.

    Raises `AuditError` or `LockTimeoutError` when it cannot be written.
    """
    try:
        lines = audit.append([encode_line(line)], patience, durable=True).lines
    except AuditError as error:
        take_back(audit, error.written, patience, clock)
        raise
    try:
        yield
    except BaseException:
        take_back(audit, lines, patience, clock)
        raise


def take_back(audit: AuditSink, lines: Sequence[bytes], patience: Patience, clock: Clock) -> bool:
    """Write a `memory.abort` for each line whose change was not made after all; tell whether that could be done."""
    now = rfc3339(clock.now_ms())
    return bool(lines) and append_if_possible(audit, [_aborted(line, now) for line in lines], patience)


def append_if_possible(audit: AuditSink, lines: Sequence[AuditLine], patience: Patience) -> bool:
    """Write lines whose absence changes nothing; tell whether they were written."""
    with suppress(AuditError, LockTimeoutError, BudgetExhaustedError):
        audit.append([encode_line(line) for line in lines], patience, durable=False)
        return True
    return False


def _aborted(line: bytes, now: str) -> AuditLine:
    taken_back = decode_line(line)
    return msgspec.structs.replace(
        taken_back,
        ts=now,
        action="memory.abort",
        code=StorageError.code,
        reason=f"{taken_back.action} of {taken_back.ts} was not saved",
        seq=msgspec.UNSET,
        prev=line_hash(line).hexdigest(),
        above=msgspec.UNSET,
    )
