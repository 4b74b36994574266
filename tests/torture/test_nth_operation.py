"""Fail the N-th operation, for N = 1, 2, 3 … until a whole scenario passes untouched."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from tests.torture.countdown import MODES, NEVER, Countdown, FaultyClock, Mode
from tests.torture.invariants import audit_lines
from tests.torture.place import Place
from tests.torture.scenario import SCENARIO, Guest, answered, play, recovered, verdict

from rotifer_host.contract import STORAGE_ERROR
from rotifer_host.memory import Durability
from rotifer_host.sandbox import available_call_paths

_STRIDE: Final = 7
"""On call paths beside the first, every seventh fault; `--torture-all` tries every one."""


@pytest.mark.parametrize("durability", ["call", "run"])
def test_the_scenario_does_what_it_is_for(place: Place, guest: Guest, durability: Durability) -> None:
    """Without a fault it meets every action of the audit log but aborts, and every kind of answer."""
    played = play(place, guest, durability)
    assert verdict(place, played, durability) == []
    results = {min(answer.result, 0) for answer in played.answers if answer}
    assert results == {0, -1, -2, -8, -10, -12}
    actions = {str(line["action"]).removeprefix("memory.") for line in audit_lines(place)}
    assert actions == {"create", "update", "evict", "expire", "delete", "deny", "reject"}
    assert len(played.answers) == len(SCENARIO)
    assert recovered(place, guest) == []


@pytest.mark.parametrize("durability", ["call", "run"])
@pytest.mark.parametrize("mode", MODES)
def test_whatever_fails_is_answered_and_costs_nothing_else(  # noqa: PLR0913 - the table, and the options
    tmp_path: Path, guest: Guest, mode: Mode, durability: Durability, tell: Callable[[str], None], *, torture_all: bool
) -> None:
    """After each fault: documented answers, nothing lost, nothing half done, and all works again."""
    hits: Counter[str] = Counter()
    problems: list[str] = []
    faults = 0
    sampled = not torture_all and guest.call_path != available_call_paths()[0]
    for number in range(1, 10_000, _STRIDE if sampled else 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        countdown = Countdown(number, mode)
        place = Place(folder)
        working = place.clock
        place.clock = FaultyClock(countdown, working.now_ms())
        with countdown.armed():
            played = play(place, guest, durability)
        place.clock = working
        hits += countdown.hits
        what = f"fault {number} ({', '.join(countdown.hits)})"
        with Countdown(NEVER, "once").armed():
            found = verdict(place, played, durability, log_works=mode != "from then on") + recovered(place, guest)
        if mode == "once" and durability == "call" and answered(played, STORAGE_ERROR) > 1:
            found.append("one fault failed several calls")
        problems += [f"{what}: {problem}" for problem in found]
        shutil.rmtree(folder)
        if countdown.passed_untouched:
            break
        faults += 1
    tell(f"{faults} faults: {dict(hits)}")
    assert problems == []
    assert faults > 0
