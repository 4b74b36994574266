"""Responses that are given again while nothing can have changed them, on every call path."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

import pytest

from rotifer_host.contract import CALL_BASE_FUEL, CALL_FUEL_PER_BYTE
from rotifer_host.errors import AccessDeniedError
from rotifer_host.sandbox import ExchangeFunction, GuestResult, PlainFunction, Run, available_call_paths

RunGuest = Callable[..., GuestResult]
Writer = Callable[..., str]

NEVER = (1 << 64) - 1
IMPORTS = """(import "rotifer" "call" (func $call (param i32 i32 i32 i32) (result i32)))
    (import "test" "turn" (func $turn))
    (import "test" "note" (func $note (param i32)))"""
DATA = '(data (i32.const 3072) "one") (data (i32.const 3080) "two")'
FIRST = "(call $note (call $call (i32.const 3072) (i32.const 3) (i32.const 8192) (i32.const 64)))"
SECOND = "(call $note (call $call (i32.const 3080) (i32.const 3) (i32.const 8192) (i32.const 64)))"
NO_ROOM = "(call $note (call $call (i32.const 3072) (i32.const 3) (i32.const 8192) (i32.const 1)))"
TURN = "(call $turn)"


class Answers:
    """A handler that counts how often it is asked, and what may change in between."""

    def __init__(self, until: int | None = NEVER) -> None:
        self.version = array("Q", [1])
        self.until = until
        self.asked: list[bytes] = []
        self.turns: list[Callable[[Run], object]] = []
        self.denied = False

    def functions(self) -> tuple[ExchangeFunction | PlainFunction, ...]:
        """Make `rotifer.call`, and `test.turn`, which does the next of `turns`."""
        call = ExchangeFunction("rotifer", "call", lambda _run: None, self._answer, lambda _run: self.until)
        return call, PlainFunction("test", "turn", (), (), self._turn)

    def _answer(self, _run: Run, request: bytes, _capacity: int) -> bytes:
        self.asked.append(request)
        if self.denied:
            raise AccessDeniedError("no")
        return request * len(self.asked)

    def _turn(self, run: Run) -> None:
        self.turns.pop(0)(run)

    def commit(self, _run: Run) -> None:
        """Change what is answered from, as a commit does."""
        self.version[0] += 1


def results(run_guest: RunGuest, gene: Writer, answers: Answers, *calls: str) -> list[int]:
    """Run a guest that makes these calls, and return what it was answered."""
    noted: list[int] = []
    result = run_guest(
        gene(" ".join(calls), imports=IMPORTS, extra=DATA),
        functions=answers.functions(),
        services=noted,
        version=memoryview(answers.version).cast("B"),
    )
    assert result.error is None, result.error
    assert len(noted) in (0, result.host_calls["call"].count)
    return noted


def test_third_time(run_guest: RunGuest, gene: Writer) -> None:
    """A request that comes again and again is put to the handler twice, and to each request its own answer is given."""
    answers = Answers()
    noted = results(run_guest, gene, answers, FIRST, FIRST, FIRST, SECOND, FIRST, SECOND, SECOND, FIRST)
    assert answers.asked == [b"one", b"one", b"two", b"two"]
    assert noted == [3, 6, 6, 9, 6, 12, 12, 6]


def test_version(run_guest: RunGuest, gene: Writer) -> None:
    """After a commit, by whomever, the handler is asked again."""
    answers = Answers()
    answers.turns = [answers.commit, answers.commit]
    noted = results(run_guest, gene, answers, FIRST, FIRST, FIRST, TURN, FIRST, TURN, FIRST, FIRST, FIRST)
    assert noted == [3, 6, 6, 9, 12, 15, 15]


def test_version_that_changes_during_a_call(run_guest: RunGuest, gene: Writer) -> None:
    """What a handler answered while a commit came in between is not given again."""
    answers = Answers()

    class Late(Answers):
        def _answer(self, run: Run, request: bytes, capacity: int) -> bytes:
            self.commit(run)
            return super()._answer(run, request, capacity)

    answers = Late()
    assert results(run_guest, gene, answers, FIRST, FIRST, FIRST, FIRST) == [3, 6, 9, 12]


def test_forget(run_guest: RunGuest, gene: Writer) -> None:
    """A run that forgets asks again."""
    answers = Answers()
    answers.turns = [lambda run: run.forget()]
    assert results(run_guest, gene, answers, FIRST, FIRST, FIRST, TURN, FIRST) == [3, 6, 6, 9]


@pytest.mark.parametrize(
    ("until", "expected"),
    [(None, [3, 6, 9]), (0, [3, 6, 9]), (int(time.time()) + 3600, [3, 6, 6]), (NEVER, [3, 6, 6])],
    ids=["not at all", "in the past", "an hour", "for ever"],
)
def test_until(run_guest: RunGuest, gene: Writer, until: int | None, expected: list[int]) -> None:
    """The function says until when its answer stays right."""
    assert results(run_guest, gene, Answers(until), FIRST, FIRST, FIRST) == expected


def test_no_room(run_guest: RunGuest, gene: Writer) -> None:
    """A kept answer that does not fit is refused like a fresh one, and stays."""
    answers = Answers()
    assert results(run_guest, gene, answers, FIRST, FIRST, NO_ROOM, FIRST)[1:] == [6, -1, 6]


def test_refusals_are_never_kept(run_guest: RunGuest, gene: Writer) -> None:
    """A refused request reaches the handler each time: each refusal is recorded."""
    answers = Answers()
    answers.denied = True
    assert results(run_guest, gene, answers, FIRST, FIRST, FIRST) == [-2, -2, -2]
    assert len(answers.asked) == 3


def test_without_a_version(run_guest: RunGuest, gene: Writer) -> None:
    """Where nobody says when answers change, none is given again."""
    answers = Answers()
    noted: list[int] = []
    wat = gene(" ".join([FIRST] * 4), imports=IMPORTS, extra=DATA)
    run_guest(wat, functions=answers.functions(), services=noted)
    assert noted == [3, 6, 9, 12]


def test_price(run_guest: RunGuest, gene: Writer) -> None:
    """An answer given again costs the guest what a fresh one costs."""
    answers = Answers()
    count = "(local.tee $i (i32.add (local.get $i) (i32.const 1)))"
    wat = f"(local $i i32) (loop $l {{}} (br_if $l (i32.lt_u {count} (i32.const {{}}))))"
    fuel = []
    for times in (2, 102):
        result = run_guest(
            gene(wat.format(FIRST, times), imports=IMPORTS, extra=DATA),
            functions=answers.functions(),
            services=[],
            version=memoryview(answers.version).cast("B"),
        )
        fuel.append(result.fuel)
    assert fuel[1] - fuel[0] >= 100 * (CALL_BASE_FUEL + CALL_FUEL_PER_BYTE * (3 + 3))


def test_many_requests(run_guest: RunGuest, gene: Writer) -> None:
    """More different requests than are kept are all answered rightly."""
    answers = Answers()
    step = """(i32.store8 (i32.const 3072) (local.get $i))
        (if (i32.ne (call $call (i32.const 3072) (i32.const 3) (i32.const 8192) (i32.const 2000)) (i32.const 0)) (then))
        (if (i32.ne (i32.load8_u (i32.const 8192)) (local.get $i)) (then unreachable))"""
    wat = f"""(local $i i32) (local $n i32)
        (loop $n (local.set $i (i32.const 0))
            (loop $l {step} (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 200))))
            (br_if $n (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 3))))"""
    results(run_guest, gene, answers, wat)


def test_every_path_is_here() -> None:
    """The suite runs on the path in C too, wherever that is built."""
    assert {"plain", "raw"} <= set(available_call_paths())
