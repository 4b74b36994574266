"""Documents of host modules, in every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from rotifer_host.errors import StoreError
from rotifer_host.lock import Wait
from rotifer_host.store import Store, open_store
from rotifer_host.store.protocol import DocumentName

ONE, TWO, OTHER = DocumentName("json", "memory"), DocumentName("json", "memory-2"), DocumentName("jsonl", "memory")


def put(store: Store, **documents: bytes | None) -> None:
    """Save documents in one change."""
    change = store.begin(Wait(0))
    for name, data in documents.items():
        change.put_document({"one": ONE, "two": TWO, "other": OTHER}[name], data)
    change.commit()


def test_documents_come_back_as_they_were_put(store: Store) -> None:
    """Each by module and name, whatever bytes it is; a walk has them in order, with their sizes."""
    large = bytes(range(256)) * 4096
    put(store, other=b"", two=large, one=b"1")
    with store.snapshot() as snapshot:
        assert [snapshot.document(name) for name in (ONE, TWO, OTHER)] == [b"1", large, b""]
        assert list(snapshot.documents()) == [(ONE, 1), (TWO, 1 << 20), (OTHER, 0)]
        assert snapshot.document(DocumentName("json", "mem")) is None
        assert list(snapshot.records()) == []


def test_a_document_is_replaced_and_removed(store: Store) -> None:
    """A change sees what it did; removing what is not there does nothing; an aborted one leaves all as it was."""
    put(store, one=b"1", two=b"2")
    change = store.begin(Wait(0))
    change.put_document(ONE, b"changed")
    change.put_document(TWO, None)
    change.put_document(OTHER, None)
    assert [change.document(name) for name in (ONE, TWO, OTHER)] == [b"changed", None, None]
    assert list(change.documents()) == [(ONE, 7)]
    with store.snapshot() as snapshot:
        assert list(snapshot.documents()) == [(ONE, 1), (TWO, 1)]
    change.abort()
    with store.snapshot() as snapshot:
        assert list(snapshot.documents()) == [(ONE, 1), (TWO, 1)]


@pytest.mark.parametrize("row", [b"", b"\x02{}"])
def test_a_document_of_another_format_is_refused(path: Path, row: bytes) -> None:
    """Neither read nor measured, and said so."""
    with open_store(path, agent_id="agent-1", quota=1 << 20) as store:
        assert store._environment is not None
        assert store._environment.env is not None
        with store._environment.env.begin(write=True) as txn:
            txn.put(b"djson\0memory", row)
        with store.snapshot() as snapshot:
            with pytest.raises(StoreError, match="another format than 1, or is damaged"):
                snapshot.document(ONE)
            with pytest.raises(StoreError, match="another format"):
                list(snapshot.documents())


def test_a_row_that_names_no_document_is_damage(path: Path) -> None:
    """A key without its NUL is not guessed at."""
    with open_store(path, agent_id="agent-1", quota=1 << 20) as store:
        assert store._environment is not None
        assert store._environment.env is not None
        with store._environment.env.begin(write=True) as txn:
            txn.put(b"djson", b"\x01")
        with store.snapshot() as snapshot, pytest.raises(StoreError, match="damaged"):
            list(snapshot.documents())
