"""A write that was begun is ended, whatever interrupts it: nobody waits for a lock that nobody gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest
from tests.memory.twins import BUILT, A, B, C, Call, Ended, Step, Twin, Twins, paired, reading, writing

from rotifer_host.agent import memory_calls
from rotifer_host.memory import AgentMemory, agent_memory, read_request, write_request
from rotifer_host.memory.changes import Changes
from rotifer_host.memory.operation import Operation
from rotifer_host.memory.readers import LastReaders
from rotifer_host.memory.trail import Trail

_REFUSED: Final = writing("k", "AAAA")
"""Not ordinary for `C`, as is found when the write was begun."""


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Twins]:
    """Give both memories, with an entry."""
    with paired(tmp_path) as twins:
        twins.run((A, [writing("k")]))
        yield twins


class _Interrupt(BaseException):
    pass


def _interrupt(*_arguments: object, **_keywords: object) -> NoReturn:
    raise _Interrupt


def _in(name: str, *places: object) -> Callable[[pytest.MonkeyPatch], None]:
    def break_it(patch: pytest.MonkeyPatch) -> None:
        for place in places:
            patch.setattr(place, name, _interrupt)

    return break_it


@pytest.mark.parametrize("durability", ["call", "run"])
@pytest.mark.parametrize(
    ("caller", "steps", "break_it"),
    [
        pytest.param(C, [_REFUSED], _in("decode_write", agent_memory, memory_calls), id="decoded again"),
        pytest.param(C, [_REFUSED], _in("entry_id", agent_memory), id="its id"),
        pytest.param(B, [reading("k"), writing("new")], _in("save", LastReaders), id="readers saved"),
        pytest.param(A, [writing("new")], _in("members", Trail), id="its line"),
    ],
)
def test_an_interrupted_write_leaves_no_lock(
    twins: Twins,
    caller: object,
    steps: list[Step],
    break_it: Callable[[pytest.MonkeyPatch], None],
    durability: str,
) -> None:
    """Behind the begin of the change, and before what it does; the next write finds all as it was."""
    for twin in twins.twins:
        twin.memory = twin.use(durability, twin.deadline)  # type: ignore[arg-type]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(twin, "watched", value=False)
            break_it(patch)
            with pytest.raises(_Interrupt):
                twin.run(caller, steps, fuel=1 << 40)  # type: ignore[arg-type]
        twin.memory.rollback()
        assert not twin.store._environment.lock._thread_lock.locked()  # type: ignore[union-attr]
        assert twin.problems() == []
        twin.memory = twin.use()
        twin.memory.write(A, write_request("next", b"1", "CACHE"))


@pytest.mark.parametrize("durability", ["call", "run"])
def test_a_write_in_c_that_is_interrupted_as_it_ends(twins: Twins, durability: str) -> None:
    """A signal's handler raises before `Changes.end` does anything: the change is given up, and its lock with it."""
    twin = twins.twins[0]
    twin.watched = False
    twin.memory = twin.use(durability, twin.deadline)  # type: ignore[arg-type]
    end, ended = Changes.end, iter([False])

    def interrupt_once(*arguments: Any) -> None:
        if not next(ended, True):
            raise _Interrupt
        end(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Changes, "end", interrupt_once)
        with pytest.raises(_Interrupt):
            twin.run(A, [writing("new")], fuel=1 << 40)
    assert not twin.store._environment.lock._thread_lock.locked()  # type: ignore[union-attr]
    twin.memory.rollback()
    assert twin.problems() == []
    assert twin.use().read(A, read_request("new")) == b"null"


def test_a_shortcut_answers_with_bytes_or_not_at_all(twins: Twins) -> None:
    """What the rules return to it is checked before it goes to the guest."""
    if not BUILT:
        pytest.skip("there is no shortcut here")
    twin = twins.twins[0]
    twin.watched = False

    def seven(_memory: AgentMemory, operation: Operation, *_rest: object) -> int:
        operation.change.abort()
        return 7

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AgentMemory, "write_in", seven)
        ran = twin.run(C, [_REFUSED], fuel=1 << 40)
    assert ran.ended == Ended("raised", (TypeError, "a shortcut returned int, not bytes"))


def test_a_store_that_is_closed_behind_the_look_at_the_row(twins: Twins) -> None:
    """A signal handler or another thread closes it while the audit line is made: the write is refused."""

    def run(twin: Twin) -> list[int]:
        twin.memory = twin.use("call", twin.deadline)
        members = Trail.members

        def close(trail: Trail, action: str, who: object) -> str:
            twin.store.close()
            return members(trail, action, who)  # type: ignore[arg-type]

        twin.watched = False
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trail, "members", close)
            ran = twin.run(A, [Call(*_REFUSED[:2])], fuel=1 << 40)
        assert ran.ended == Ended("ok")
        return ran.results

    assert twins.each(run) == [-13]
