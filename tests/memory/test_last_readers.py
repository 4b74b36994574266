"""`lastAccessedBy`: shown at once, saved later, never worth failing for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rotifer_host.errors import BufferTooSmallError, StoreError
from rotifer_host.lock import Wait
from rotifer_host.memory import query_request, read_request, write_request


def readers(world: Any) -> dict[str, str]:
    """Return the stored readers by key, as the letter their ids are made of."""
    return {record.key: record.reader[-1] for _, record in world.state()[0]}


def shown(world: Any, caller: Any) -> dict[str, str]:
    """Return the readers a query shows."""
    entries = json.loads(world.memory.query(caller, query_request()))
    return {entry["key"]: entry["lastAccessedBy"][-1] for entry in entries}


def test_a_read_shows_its_reader_and_a_query_of_the_run_too(world: Any) -> None:
    """The response names the reader; the store learns of it at the end of the run."""
    world.write(world.gene("a"), "k")
    assert world.read(world.gene("b"), "k")["lastAccessedBy"] == world.gene("b").gene_id
    assert shown(world, world.gene("c")) == {"k": "b"}
    assert readers(world) == {"k": "a"}
    world.memory.finish()
    assert readers(world) == {"k": "b"}
    assert world.audit.actions() == [("create", "k")]


def test_a_query_is_no_access(world: Any) -> None:
    """Queries change nobody's last reader."""
    world.write(world.gene("a"), "k")
    assert shown(world, world.gene("b")) == {"k": "a"}
    world.memory.finish()
    assert readers(world) == {"k": "a"}


def test_the_next_change_saves_readers(world: Any) -> None:
    """They go to the disk with the run's next change, before its end."""
    world.write(world.gene("a"), "k")
    world.read(world.gene("b"), "k")
    world.write(world.gene("a"), "other")
    assert readers(world) == {"k": "b", "other": "a"}


def test_the_last_of_several_readers_counts(world: Any) -> None:
    """Reading back and forth ends with the last reader, also when that is the stored one."""
    world.write(world.gene("a"), "k")
    world.write(world.gene("a"), "l")
    for letter in "bab":
        world.read(world.gene(letter), "k")
    for letter in "ba":
        world.read(world.gene(letter), "l")
    assert shown(world, world.gene("c")) == {"k": "b", "l": "a"}
    before = world.state()[1]
    world.memory.finish()
    assert readers(world) == {"k": "b", "l": "a"}
    assert before == world.state()[1]


def test_a_reader_of_an_older_version_does_not_overrule_its_writer(world: Any) -> None:
    """What was read before somebody else rewrote or recreated the entry is dropped."""
    world.write(world.gene("a"), "k")
    world.read(world.gene("b"), "k")
    other = world.open()
    other.write(world.gene("c"), write_request("k", b"", "CACHE"))
    assert shown(world, world.gene("a")) == {"k": "c"}
    world.memory.finish()
    assert readers(world) == {"k": "c"}


def test_a_deleted_entry_does_not_come_back_for_its_reader(world: Any) -> None:
    """Saving readers brings nothing back."""
    world.write(world.gene("a"), "k")
    world.read(world.gene("b"), "k")
    world.open().delete_as_deployer(key="k")
    world.memory.finish()
    assert readers(world) == {}


def test_readers_that_cannot_be_saved_fail_nothing(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy or broken store at the end of a run, or in its next change, costs the readers only."""
    world.write(world.gene("a"), "k")
    world.read(world.gene("b"), "k")
    held = world.store.begin(Wait(0))
    world.memory.finish()
    held.abort()

    def broken(change: Any) -> Any:
        del change
        message = "no space"
        raise StoreError(message)

    monkeypatch.setattr(world.memory._readers, "save", broken)
    world.write(world.gene("a"), "other")
    world.memory.finish()
    assert readers(world) == {"k": "a", "other": "a"}


def test_a_response_that_does_not_fit_was_no_access(world: Any) -> None:
    """A read answered with -1 has changed nothing, its last reader neither."""
    world.write(world.gene("a"), "k")

    def admit(length: int) -> None:
        message = f"response needs {length} bytes, out_cap is 0"
        raise BufferTooSmallError(message)

    with pytest.raises(BufferTooSmallError):
        world.memory.read(world.gene("b"), read_request("k"), admit)
    world.memory.finish()
    assert readers(world) == {"k": "a"}


def test_saving_a_reader_changes_no_order(world: Any) -> None:
    """An entry that was only read is as old as before."""
    world.write(world.gene("a"), "old")
    world.write(world.gene("a"), "new")
    world.read(world.gene("b"), "old")
    world.memory.finish()
    assert world.query(world.gene("a")) == ["new", "old"]


def test_a_saved_reader_is_not_saved_again(world: Any) -> None:
    """Somebody else who reads the entry afterwards stays its last reader."""
    world.write(world.gene("a"), "k")
    world.read(world.gene("b"), "k")
    world.write(world.gene("a"), "other")
    later = world.open()
    later.read(world.gene("c"), read_request("k"))
    later.finish()
    world.memory.finish()
    assert readers(world)["k"] == "c"
