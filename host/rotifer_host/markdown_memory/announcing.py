"""The audit line of a change that the deployer makes, who belongs to no agent."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rotifer_host.audit import AuditLine, noted
from rotifer_host.clock import rfc3339
from rotifer_host.lock import Wait

if TYPE_CHECKING:
    from rotifer_host.audit import AuditSink
    from rotifer_host.clock import Clock
    from rotifer_host.markdown_memory.memory import Change

__all__ = ["announced_by_deployer"]


def announced_by_deployer(change: Change, audit: AuditSink, clock: Clock) -> AbstractContextManager[None]:
    """Return what `MarkdownMemory` enters before a change; raises `AuditError`, `LockTimeoutError` there."""
    line = AuditLine(
        ts=rfc3339(clock.now_ms()),
        agentId=None,
        agent=None,
        actor="deployer",
        geneId=None,
        domain=None,
        action=f"markdown.{change.action}",
        key=change.key,
        entryId=None,
        category=None,
        bytes=change.bytes,
    )
    return noted(audit, line, Wait(), clock)
