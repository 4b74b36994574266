"""Python has no memory left, right after a change has been saved."""

from __future__ import annotations

from typing import NoReturn

import pytest
from tests.torture.guest import Guest, write
from tests.torture.invariants import audit_lines, read_state, unsaved, unsound
from tests.torture.place import Place, gene

from rotifer_host.memory import AgentMemory, Durability


def none_left(*_arguments: object) -> NoReturn:
    """Fail as an object does that cannot be made."""
    raise MemoryError


def run(guest: Guest, memory: AgentMemory) -> None:
    """Make a change, and end the run."""
    guest.get(memory, write(gene("a"), "l", b"1"))
    memory.finish()


@pytest.mark.parametrize("durability", ["call", "run"])
def test_a_change_that_is_saved_is_not_taken_back(place: Place, guest: Guest, durability: Durability) -> None:
    """Whatever fails at a commit, `memory.abort` stands in the log only for what is not there."""
    with place.open() as (store, first):
        guest.get(first, write(gene("a"), "k", b"1"))
        memory = place.on(store, durability)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rotifer_host.store.change.Committed", none_left)
            with pytest.raises(MemoryError):
                run(guest, memory)
        memory.rollback()
    assert unsaved(audit_lines(place), {}, read_state(place)) == []
    assert unsound(place) == []
