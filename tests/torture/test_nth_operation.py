"""Fail the N-th operation, for N = 1, 2, 3 … until a whole story passes untouched."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from tests.torture.countdown import MODES, NEVER, Countdown, FaultyClock, Mode
from tests.torture.guest import Guest
from tests.torture.invariants import audit_lines
from tests.torture.place import Place
from tests.torture.scenario import STORIES, answered, play, recovered, verdict

from rotifer_host.contract import STORAGE_ERROR
from rotifer_host.memory import Durability
from rotifer_host.sandbox import available_call_paths

_STRIDE: Final = 7
"""Where only every seventh fault is tried, but with `--torture-all`."""
_DONE: Final = {
    "thirty days": ({0, -1, -2, -8, -10, -12}, {"create", "update", "evict", "expire", "delete", "deny", "reject"}),
    "for ever": ({0, -1, -2, -8, -10, -12}, {"create", "update", "evict", "expire", "delete", "deny", "reject"}),
    "ordinary": ({0, -1}, {"create", "update"}),
}
"""Results and actions of each story: every action of the audit log but aborts, and every kind of answer."""

durabilities = pytest.mark.parametrize("durability", ["call", "run"])


@durabilities
@pytest.mark.parametrize("name", STORIES)
def test_the_stories_do_what_they_are_for(place: Place, guest: Guest, name: str, durability: Durability) -> None:
    """Without a fault they meet what they should, and C answers all that is ordinary, where it is there."""
    story = STORIES[name]
    place.policy = story.policy
    played = play(place, guest, story, durability)
    assert verdict(place, story, played, durability) == []
    results = {min(answer.result, 0) for answer in played.answers if answer}
    actions = {str(line["action"]).removeprefix("memory.") for line in audit_lines(place)}
    assert (results, actions) == _DONE[name]
    assert len(played.answers) == len(story.steps)
    ordinary = {"thirty days": 0, "for ever": 12 if durability == "call" else 8, "ordinary": len(story.steps)}[name]
    assert played.shortcuts == (ordinary if guest.takes_shortcuts else 0)
    assert recovered(place, guest) == []


def stride(name: str, guest: Guest) -> int:
    """Return which faults of a story are tried where not all of them are."""
    if name == "ordinary":
        return 1 if guest.takes_shortcuts else _STRIDE
    return 1 if name == "thirty days" and guest.call_path == available_call_paths()[0] else _STRIDE


@durabilities
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", STORIES)
def test_whatever_fails_is_answered_and_costs_nothing_else(  # noqa: PLR0913, PLR0917 - the table, and the options
    tmp_path: Path,
    guest: Guest,
    name: str,
    mode: Mode,
    durability: Durability,
    tell: Callable[[str], None],
    *,
    torture_all: bool,
) -> None:
    """After each fault: documented answers, nothing lost, nothing half done, and all works again."""
    story = STORIES[name]
    hits: Counter[str] = Counter()
    problems: list[str] = []
    faults = met = 0
    for number in range(1, 10_000, 1 if torture_all else stride(name, guest)):
        folder = tmp_path / str(number)
        folder.mkdir()
        countdown = Countdown(number, mode)
        place = Place(folder, policy=story.policy)
        working = place.clock
        place.clock = FaultyClock(countdown, working.now_ms())
        with countdown.armed():
            played = play(place, guest, story, durability)
        place.clock = working
        hits += countdown.hits
        what = f"fault {number} ({', '.join(countdown.hits)})"
        with Countdown(NEVER, "once").armed():
            found = verdict(place, story, played, durability, log_works=mode != "from then on")
            found += recovered(place, guest)
        if mode == "once" and durability == "call" and answered(played, STORAGE_ERROR) > 1:
            found.append("one fault failed several calls")
        problems += [f"{what}: {problem}" for problem in found]
        shutil.rmtree(folder)
        if countdown.passed_untouched:
            break
        faults += 1
        met += played.failed_shortcuts
    tell(f"{faults} faults, {met} calls of C that failed: {dict(hits)}")
    assert problems == []
    assert faults > 0
    if not guest.takes_shortcuts or name == "thirty days":
        assert met == 0
    elif name == "ordinary" and (mode, durability) != ("short", "run"):  # where it is the run's end that fails
        assert met > 0
