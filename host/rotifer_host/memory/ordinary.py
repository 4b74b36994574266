"""Ordinary reads and writes answered in C, and what that needs of Python.

Ordinary is a request that needs no rule but those of `native/memory`: plain JSON of
ASCII, for an entry that keeps no retention policy, of an agent whose data policy keeps
entries for ever, by a caller that is let in, with nothing expired and nothing to evict.
The answer, the rows, the audit line are byte for byte those of `AgentMemory`, and
whatever is not ordinary is left to it. This is the one module beside the rules that
knows where entries lie.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

import lmdb
import msgspec

from rotifer_host import clock, contract
from rotifer_host.memory.agent_memory import AgentMemory
from rotifer_host.memory.entry import DEFAULT_ACCESS
from rotifer_host.memory.operation import MOST_WAITING_LINES, Operation
from rotifer_host.memory.quota import entry_limit
from rotifer_host.store import LmdbStore, change, codec, view
from rotifer_host.store.protocol import Tally, Totals

if TYPE_CHECKING:
    from rotifer_host.sandbox import Run

__all__ = ["READ", "WRITE"]


def _go_on(run: Run, request: bytes, out_cap: int, operation: Operation, now_ms: int) -> bytes:
    """Write within an operation that was begun for a request that is not ordinary after all."""
    memory, caller, _ = run.services
    response: bytes = memory.write_in(operation, caller, request, now_ms, lambda size: run.admit(size, out_cap))
    return response


def _bind() -> tuple[object, object]:
    """Return the shortcuts; raises `ImportError` where there are none."""
    from rotifer_host.memory import _ordinary  # noqa: PLC0415 - there may be none

    return _ordinary.bind(
        memory=AgentMemory,
        store=LmdbStore,
        system_clock=clock.SystemClock,
        entry_limit=entry_limit,
        go_on=_go_on,
        error=lmdb.Error,
        sha256=sha256,
        operation=Operation,
        change=change.LmdbChange,
        tally=Tally,
        totals=Totals,
        nothing=change.NOTHING,
        categories=contract.CATEGORIES,
        scopes=contract.SCOPES,
        share_policies=contract.SHARE_POLICIES,
        default_words=msgspec.structs.astuple(DEFAULT_ACCESS),
        default_access=msgspec.msgpack.encode(DEFAULT_ACCESS),
        longest_key=contract.MAX_KEY_BYTES,
        largest_value=contract.MAX_VALUE_BYTES,
        cut_key=codec.CUT_KEY_BYTES,
        most_waiting_lines=MOST_WAITING_LINES,
        format_version=contract.FORMAT_VERSION,
        last_ms=clock.LAST_MS,
        never=view.NEVER,
    )


READ: object = None
"""The shortcut (`ExchangeFunction.shortcut`) of `readMemory`; None where there is none."""
WRITE: object = None
"""That of `writeMemory`."""

with suppress(ImportError):  # not built, for want of a C compiler; or not the main interpreter
    READ, WRITE = _bind()
