"""The memory of an agent that is being imported, until it is one.

The draft lies beside where the memory will, as `<id>.import`. It takes its place by a
rename, while `<id>.importing` marks that the memory under this id belongs to no agent
yet: whoever finds the mark and no record may remove both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from rotifer_host import contract
from rotifer_host.audit import AuditLine, encode_line
from rotifer_host.clock import rfc3339
from rotifer_host.files import sync_folder
from rotifer_host.lock import Wait
from rotifer_host.memory.entry import Record
from rotifer_host.store import open_store
from rotifer_host.transfer.order import in_order

if TYPE_CHECKING:
    from rotifer_host.store import Store
    from rotifer_host.store.protocol import Chain, Change

__all__ = ["Draft", "remove_leftovers"]

_DRAFT: Final = ".import"
_MARK: Final = ".importing"
_BESIDE: Final = (".lock", "-lock", "")
"""What LMDB and the store put beside a memory file, and last the file itself: while it is there, it is found."""
_BATCH_ENTRIES: Final = 500
_BATCH_BYTES: Final = 4 * contract.MIB


class Draft:
    """Entries on their way into the memory at `path`, in bounded memory: `with Draft(…) as draft:`.

    At the end of the block nothing is left of it but what `place` has put in place.
    """

    def __init__(  # noqa: PLR0913 - keywords: whose memory, and what is known when it is made
        self,
        path: Path,
        *,
        agent_id: str,
        agent_name: str,
        quota: int,
        now_ms: int,
        last_line: Callable[[], bytes],
    ) -> None:
        self._path = path
        self._agent_id = agent_id
        self._agent_name = agent_name
        self._now = rfc3339(now_ms)
        self._file = path.with_name(f"{path.name}{_DRAFT}")
        self._mark = path.with_name(f"{path.name}{_MARK}")
        self._quota = quota
        self._last_line = last_line
        self._store: Store = self._open()
        self._change: Change | None = None
        self._batch = [0, 0]

    def add(self, identity: bytes, record: Record) -> bool:
        """Take an entry in; False when there is one with its key. Entries come in the order of their numbers."""
        change = self._begun()
        if change.get(identity) is not None:
            return False
        change.put(identity, record)
        self._batch = [self._batch[0] + 1, self._batch[1] + len(record.body)]
        if self._batch[0] >= _BATCH_ENTRIES or self._batch[1] >= _BATCH_BYTES:
            self._save()
        return True

    def close(self, chain: Chain) -> None:
        """End taking in: all entries are on the disk, and so is where their audit lines stand."""
        change = self._begun()
        change.extend(chain)
        self._save()

    def lines(self) -> Iterator[list[bytes]]:
        """Yield the audit lines of the entries as `AuditSink.append` takes them, some at a time, always the same."""
        self._save()
        with self._store.snapshot() as snapshot:
            entries = enumerate(in_order(snapshot), start=1)
            while batch := [self._line(number, *entry) for number, entry in islice(entries, _BATCH_ENTRIES)]:
                yield batch

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Make the draft the memory, for good once the block has ended and has not raised. Raises `OSError`."""
        self._store.close()
        try:
            self._mark.open("xb").close()
            self._file.rename(self._path)
            try:
                sync_folder(self._path.parent)
                yield
            except BaseException:
                self._path.rename(self._file)
                raise
        except BaseException:
            self._store = self._open()  # whoever announced the entries takes them back
            raise
        finally:
            self._mark.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._change is not None:
            self._change.abort()
        self._store.close()
        with suppress(OSError):  # the next import removes it
            _remove(self._file)

    def _open(self) -> Store:
        return open_store(self._file, agent_id=self._agent_id, quota=self._quota, last_line=self._last_line)

    def _begun(self) -> Change:
        if self._change is None:
            self._change = self._store.begin(Wait())
        return self._change

    def _save(self) -> None:
        change, self._change = self._change, None
        self._batch = [0, 0]
        if change is not None:
            try:
                change.commit()
            finally:
                change.abort()

    def _line(self, number: int, identity: bytes, record: Record) -> bytes:
        return encode_line(
            AuditLine(
                ts=self._now,
                agentId=self._agent_id,
                agent=self._agent_name,
                actor="deployer",
                geneId=None,
                domain=None,
                action="memory.create",
                key=record.key,
                entryId=identity.hex(),
                category=record.category,
                bytes=record.size,
                reason="imported",
                createdBy=record.created_by,
                updatedAt=rfc3339(record.updated_ms),
                seq=number,
            )
        )


def remove_leftovers(folder: Path, records: Path) -> None:
    """Remove from a folder of memories what killed imports left, under the lock of imports. Raises `OSError`."""
    for mark in folder.glob(f"*{_MARK}"):
        memory = mark.with_suffix("")
        if not (records / f"{memory.name}.json").exists():
            _remove(memory)
        mark.unlink()
    for draft in folder.glob(f"*{_DRAFT}"):
        _remove(draft)


def _remove(path: Path) -> None:
    for ending in _BESIDE:
        path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)
