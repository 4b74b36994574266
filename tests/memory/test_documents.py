"""How documents of host modules are read and changed."""

from __future__ import annotations

import pytest
from tests.memory.conftest import World

from rotifer_host import contract
from rotifer_host.errors import InvalidInputError, NotFoundError, QuotaExceededError, StorageError
from rotifer_host.store.protocol import DocumentName

NAME = DocumentName("notes", "note")


def put(world: World, data: bytes | None, name: DocumentName = NAME) -> None:
    """Put a document as a gene."""
    world.memory.documents.change(world.gene("a"), "notes.put", name, lambda _old: data)


def test_a_change_gets_what_is_there(world: World) -> None:
    """The latest committed state, other runs' changes included, and None where there is nothing."""
    seen = []
    for data in (b"1", b"22"):
        world.memory.documents.change(
            world.gene("a"),
            "notes.put",
            NAME,
            lambda old, data=data: seen.append(old) or data,  # type: ignore[misc, func-returns-value]
        )
        world.reopen()
    assert seen == [None, b"1"]
    assert world.memory.documents.read(world.gene("b"), NAME) == b"22"


def test_a_change_that_raises_changes_nothing(world: World) -> None:
    """Neither the document nor the log, and the next change goes on."""
    put(world, b"1")

    def refuse(_old: bytes | None) -> bytes:
        raise NotFoundError("nothing of the kind")

    with pytest.raises(NotFoundError):
        world.memory.documents.change(world.gene("a"), "notes.put", NAME, refuse)
    assert world.memory.documents.read(None, NAME) == b"1"
    put(world, b"2")
    assert world.audit.actions() == [("notes.put", "note")] * 2


def test_a_document_is_not_saved_without_its_line(world: World) -> None:
    """As with entries: first the line, then the change."""
    world.audit.always_fails = True
    with pytest.raises(StorageError):
        put(world, b"1")
    world.audit.always_fails = False
    assert world.memory.documents.read(None, NAME) is None


def test_a_run_sees_what_it_holds(world: World) -> None:
    """With durability `run` it is saved at the end, or not at all."""
    world.reopen(durability="run")
    put(world, b"1")
    assert world.memory.documents.read(None, NAME) == b"1"
    world.memory.rollback()
    assert world.memory.documents.read(None, NAME) is None
    world.reopen(durability="run")
    put(world, b"2")
    world.memory.finish()
    world.reopen()
    assert world.memory.documents.read(None, NAME) == b"2"


@pytest.mark.parametrize("name", ["", "a\0b", "é" * 129])
def test_names_have_limits(world: World, name: str) -> None:
    """1 to 256 bytes, and no NUL."""
    with pytest.raises(InvalidInputError, match="1 to 256 bytes"):
        put(world, b"1", DocumentName("notes", name))
    put(world, b"1", DocumentName("notes", "é" * 128))


def test_documents_have_limits_of_their_own(world: World) -> None:
    """So large, so many, and so much together; what is replaced is free, and the quota counts none of it."""
    put(world, bytes(contract.MAX_DOCUMENT_BYTES))
    with pytest.raises(InvalidInputError, match="at most 1048576 bytes, not 1048577"):
        put(world, bytes(contract.MAX_DOCUMENT_BYTES + 1))
    for number in range(15):
        put(world, bytes(contract.MAX_DOCUMENT_BYTES), DocumentName("notes", f"{number}"))
    put(world, bytes(contract.MAX_DOCUMENT_BYTES))
    with pytest.raises(QuotaExceededError, match="16777216 of 16777216 bytes used, 1 needed, 0 can be evicted"):
        put(world, b"1", DocumentName("other", "one"))
    assert world.memory.list().used == 0


def test_there_are_not_too_many_documents(world: World) -> None:
    """Of all modules together."""
    change = world.store.begin(world.memory._changes.patience())
    for number in range(contract.MAX_DOCUMENTS):
        change.put_document(DocumentName("notes", f"{number}"), b"")
    change.commit()
    with pytest.raises(QuotaExceededError, match="at most 1024 documents"):
        put(world, b"", DocumentName("other", "one"))
    put(world, b"changed", DocumentName("notes", "7"))
