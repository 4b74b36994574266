"""Documents: what host modules keep for an agent, in the same file as its entries and apart from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rotifer_host import contract
from rotifer_host.clock import Clock
from rotifer_host.errors import InvalidInputError, QuotaExceededError
from rotifer_host.memory.changes import FAILURES, Changes
from rotifer_host.memory.entry import Caller
from rotifer_host.memory.trail import Announced, Changed, Trail

if TYPE_CHECKING:
    from rotifer_host.store.protocol import DocumentName, Snapshot

__all__ = ["Documents"]


class Documents:
    """The documents of one agent, for the length of a run, or of one use outside a run.

    They do not count against the quota of the memory, have no access policies, are not
    evicted and do not expire. The caller is None where no gene acts. Raises what the
    operations of `AgentMemory` raise.
    """

    def __init__(self, changes: Changes, trail: Trail, clock: Clock) -> None:
        self._changes = changes
        self._trail = trail
        self._clock = clock

    def read(self, caller: Caller | None, name: DocumentName) -> bytes | None:
        """Return a document, what this run changed included; None where there is none."""
        try:
            with self._changes.view(caller, self._clock.now_ms()) as view:
                return view.document(name)
        except FAILURES as error:
            raise self._changes.failure(error) from error

    def change(
        self, caller: Caller | None, action: str, name: DocumentName, change: Callable[[bytes | None], bytes | None]
    ) -> None:
        """Put what `change` makes of a document in its place; None for no document.

        `change` gets the latest committed state while nobody else can change the memory,
        and stops it all by raising. `action`, `<module>.<verb>`, is what the audit line
        says. Raises `InvalidInputError` for a document that is too large,
        `QuotaExceededError` where all of them would be.
        """
        now_ms = self._clock.now_ms()
        with self._changes.operation(caller, now_ms) as operation:
            old = operation.change.document(name)
            new = change(old)
            if new is not None:
                _check_room(operation.change, name, len(new))
            elif old is None:
                return
            going: list[Announced] = [(action, None, Changed(name.name, None if new is None else len(new)))]
            operation.announce(caller, now_ms, going)
            operation.change.put_document(name, new)

    @contextmanager
    def noted(self, caller: Caller | None, action: str, key: str, size: int | None) -> Iterator[None]:
        """Write the audit line of what a host module does outside the memory in the block, before it begins.

        Takes it back when the block raises.
        """
        changes, now_ms = self._changes, self._clock.now_ms()
        try:
            with self._trail.noted(
                action, key, size, caller=caller, now_ms=now_ms, patience=changes.patience(), chain=changes.chain()
            ):
                yield
        except FAILURES as error:
            raise changes.failure(error) from error


def _check_room(snapshot: Snapshot, name: DocumentName, size: int) -> None:
    """Refuse a document that has no room; what it replaces counts as free."""
    length = len(name.name.encode())
    if not 0 < length <= contract.MAX_DOCUMENT_NAME_BYTES or "\0" in name.name:
        raise InvalidInputError(
            f"a document's name has 1 to {contract.MAX_DOCUMENT_NAME_BYTES} bytes in UTF-8 and no NUL, not {length}"
        )
    if size > contract.MAX_DOCUMENT_BYTES:
        raise InvalidInputError(f"a document has at most {contract.MAX_DOCUMENT_BYTES} bytes, not {size}")
    others = [each for other, each in snapshot.documents() if other != name]
    if len(others) >= contract.MAX_DOCUMENTS:
        raise QuotaExceededError(f"an agent has at most {contract.MAX_DOCUMENTS} documents of host modules")
    used = sum(others)
    if used + size > contract.MAX_DOCUMENTS_BYTES:
        raise QuotaExceededError(
            f"documents of host modules: {used} of {contract.MAX_DOCUMENTS_BYTES} bytes used, {size} needed, "
            "0 can be evicted"
        )
