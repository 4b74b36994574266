"""Room for the response, places in memory, fuel: to the byte and to the step, whoever answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.memory.differences import compare
from tests.memory.twins import DURABILITIES, PAGE, SMALL, A, B, Call, Made, Step, Twins, paired, reading, writing

from rotifer_host.memory import Durability

SIZE: Final = SMALL * PAGE
_READ: Final = b'{"key":"k"}'
_WRITE: Final = b'{"key":"k","value":"AQID","category":"CACHE"}'


@pytest.fixture
def twins(twins: Twins) -> Iterator[Twins]:
    """Give both memories with two entries, of which C must have answered something."""
    yield twins
    assert twins.took_shortcuts()


@DURABILITIES
def test_room_for_the_response(twins: Twins, durability: Durability) -> None:
    """Exactly enough, one byte less and more; none; enough for an error's payload or not, and for its NUL."""
    steps: list[Step] = []
    for fits in (0, -1, 1, -2, 0, -300):
        steps += [reading("k", fits=fits), reading("k", "CACHE", fits=fits), reading("k", fits=fits)]
        steps += [writing("k", "AAAA", how={"fits": fits}), writing("k", how={"fits": fits})]
        steps += [writing(f"new {fits}", how={"fits": fits}), reading(f"new {fits}", fits=fits)]
    for cap in (
        0,
        1,
        3,
        4,
        5,
        60,
        61,
        62,
        63,
        64,
        65,
        66,
        67,
        68,
        100,
        110,
        111,
        112,
        113,
        114,
        115,
        116,
        117,
        118,
        400,
    ):
        steps += [reading("k", cap=cap), reading("none", cap=cap), reading("k", "PATTERN", cap=cap)]
        steps += [writing("k", how={"cap": cap}), writing("none", how={"cap": cap}), Call("readMemory", b"?", cap=cap)]
    twins.run((A, steps), (B, steps), durability=durability)


@DURABILITIES
def test_out_over_the_request(twins: Twins, durability: Durability) -> None:
    """The response may lie where the request was, or over a part of it."""
    steps: list[Step] = []
    for overlaps in (0, 1, 10, len(_READ) - 1, len(_WRITE) - 1, len(_WRITE)):
        for cap in (0, 5, 120, 600):
            steps += [reading("k", cap=cap, overlaps=overlaps), reading("l", overlaps=overlaps, cap=cap)]
            steps += [
                writing("k", how={"cap": cap, "overlaps": overlaps}),
                writing("new", how={"cap": cap, "overlaps": overlaps}),
            ]
            steps += [reading("none", cap=cap, overlaps=overlaps), reading("k", "PATTERN", cap=cap, overlaps=overlaps)]
    twins.run((A, steps), (B, steps), durability=durability)


EDGES: Final = (
    0,
    1,
    SIZE // 2,
    SIZE - 600,
    SIZE - 486,
    SIZE - 485,
    SIZE - 1,
    SIZE,
    SIZE + 1,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
)


@DURABILITIES
def test_places_in_memory(twins: Twins, durability: Durability) -> None:
    """Requests and windows at, over and beyond the end of memory, and at the ends of what 32 bits can say."""
    steps: list[Step] = []
    for name, request in (("readMemory", _READ), ("writeMemory", _WRITE)):
        length, half = len(request), SIZE // 2
        steps += [
            Call(name, request, numbers=(0, length, out, cap))
            for out in EDGES
            for cap in (0, 4, 485, 486, 600, SIZE, *EDGES[-3:])
        ]
        steps += [
            Call(name, request, numbers=(at, size, half, 600))
            for at in EDGES
            for size in (0, 1, length, SIZE, *EDGES[-3:])
        ]
        steps += [Call(name, b"", numbers=(at, length, half, 600)) for at in EDGES]
    for twin in twins.twins:
        twin.watched = False
    (ran,) = twins.run((A, steps), durability=durability)
    assert {min(result, 0) for result in ran.results} == {0, -1, -10}


@DURABILITIES
@pytest.mark.parametrize("request_at", ["the end of memory", "its begin"])
def test_requests_at_the_ends_of_memory(twins: Twins, durability: Durability, request_at: str) -> None:
    """The last byte of memory is the last byte of the request; its value and key are read where they lie."""
    steps: list[Step] = []
    for name, request in (("readMemory", _READ), ("writeMemory", _WRITE)):
        whole = request.rjust(SIZE) if request_at == "the end of memory" else request
        at = SIZE - len(request) if request_at == "the end of memory" else 0
        for cut in (0, 1, 2, 12):
            steps.append(Call(name, whole, numbers=(at, len(request) - cut, 1024, 4096)))
            steps.append(Call(name, whole, numbers=(at + cut, len(request) - cut, 1024, 4096)))
            steps.append(Call(name, whole, numbers=(at, len(request) + cut, 1024, 4096)))
            steps.append(Call(name, whole, numbers=(SIZE // 3, SIZE - SIZE // 3 - cut, 1024, 4096)))
    for twin in twins.twins:
        twin.watched = False
    twins.run((A, steps), durability=durability)


@DURABILITIES
def test_texts_about_as_long_as_there_is_room_at_hand(twins: Twins, durability: Durability) -> None:
    """Entry and row are the same a byte below 2,048, above which they are rendered again, at it and above."""
    for twin in twins.twins:
        twin.watched = False
    lengths: list[int] = []
    for characters in range(1200, 1640, 4):
        steps: list[Step] = [writing("k" * length, "A" * characters) for length in range(1, 5)]
        (ran,) = twins.run((A, steps), durability=durability)
        lengths += [call.result for call in ran.calls]
    assert {2047, 2048, 2049} < {*lengths}


_LARGE: Final = "AAAA" * 900
"""Its response costs more than the next call does without its bytes."""
FUEL: Final[dict[str, list[Step]]] = {
    "reads": [reading("k"), reading("large"), reading("none"), reading("large")],
    "writes": [writing("k"), writing("large", _LARGE), writing("new"), writing("large", _LARGE)],
}


@DURABILITIES
@pytest.mark.parametrize("what", FUEL)
def test_fuel_that_runs_out_at_each_step(tmp_path: Path, what: str, durability: Durability) -> None:
    """Before a call, for its request, for its response, for the guest's own work behind it: -4, and nothing changes."""
    with paired(tmp_path) as twins:
        for twin in twins.twins:
            twin.watched = False
        whole = twins.run((A, [writing("k"), writing("large", _LARGE)]), (B, FUEL[what]))[1].fuel
        answered, counted = set(), 0
        for fuel in range(1000, whole + 3000, whole // 150):
            (ran,) = twins.run((B, FUEL[what]), durability=durability, fuel=fuel)
            answered |= set(ran.results)
            counted += sum(errors.get(-4, 0) for _, errors, _, _ in ran.stats.values())
        assert -4 in answered
        assert counted > 30
        assert twins.took_shortcuts()


def test_differences_are_found(tmp_path: Path) -> None:
    """What is compared is compared: one byte in memory, a result, a line, a row, fuel."""
    with paired(tmp_path) as twins:
        (ran,) = twins.run((A, [writing("k"), reading("k")]))
        call = ran.calls[0]
        others: list[Made] = [
            call._replace(result=4),
            call._replace(memory=call.memory ^ 1),
            call._replace(answer=call.answer[:-1]),
            call._replace(kept=None if call.kept is None else call.kept._replace(lines=b"")),
            call._replace(kept=None if call.kept is None else call.kept._replace(commits=0)),
            call._replace(kept=None if call.kept is None else call.kept._replace(rows={})),
        ]
        for other in others:
            with pytest.raises(pytest.fail.Exception):
                compare("changed", ran, ran._replace(calls=[other, ran.calls[1]]))
        for changed in (
            ran._replace(fuel=ran.fuel + 1),
            ran._replace(stats={}),
            ran._replace(events=(1, 0)),
            ran._replace(calls=[]),
        ):
            with pytest.raises(pytest.fail.Exception):
                compare("changed", ran, changed)
        twins.twins[1].clock.advance(ms=1)
        with pytest.raises(pytest.fail.Exception, match="updatedAt"):
            twins.run((A, [writing("k")]))
