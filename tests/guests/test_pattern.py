"""The pattern counter counts, and lists by prefix and time."""

from __future__ import annotations

from typing import Any

import pytest
from tests.guests.modules import Guests

from rotifer_host import Agent
from rotifer_host.testing import ManualClock, temporary_project

START = "2026-03-01T08:00:00Z"


def listed(agent: Agent, **question: Any) -> dict[str, int]:
    """Return counts by event, in the order of the answer."""
    return {found["event"]: found["count"] for found in agent.run(question).output["patterns"]}


def test_prefix_and_time(guests: Guests) -> None:
    """Events are listed by prefix, and by when they were last counted, the latest first."""
    clock = ManualClock(START)
    with temporary_project({"pattern": guests.module("pattern-rust")}, clock=clock) as project:
        agent = project.create_agent("watch", ["pattern"])
        for event in ("git/push", "git/pull", "test/fail", "git/push"):
            agent.run({"event": event})
            clock.advance(seconds=60)
        assert list(listed(agent).items()) == [("git/push", 2), ("test/fail", 1), ("git/pull", 1)]
        assert listed(agent, prefix="git/") == {"git/push": 2, "git/pull": 1}
        assert listed(agent, prefix="git/", until="2026-03-01T08:03:00Z") == {"git/pull": 1}
        assert listed(agent, since="2026-03-01T09:02:00+01:00", limit=5) == {"git/push": 2, "test/fail": 1}
        assert listed(agent, since="2026-03-01T08:03:00.001Z") == {}
        assert listed(agent, limit=1) == {"git/push": 2}
        assert listed(agent, prefix="test/fail", event="test/fail/deep") == {"test/fail/deep": 1, "test/fail": 1}


def test_entries_are_patterns(guests: Guests) -> None:
    """Each event is one entry with its count in decimal; what is no count counts on from none."""
    with temporary_project({"pattern": guests.module("pattern-rust")}) as project:
        agent = project.create_agent("watch", ["pattern"])
        memory = agent.memory(project.gene("pattern"))
        for value in (b"x", b"-5", b"\xff", bytes(9000)):
            memory.write("pattern/a", value, "PATTERN")
            assert listed(agent, event="a") == {"a": 1}
        memory.write("pattern/a", b"9223372036854775807", "PATTERN")
        assert listed(agent, event="a") == {"a": 2**63 - 1}


def test_many(guests: Guests) -> None:
    """An answer of many entries is read whole, however many buffers it takes to find its size."""
    with temporary_project({"pattern": guests.module("pattern-rust")}) as project:
        agent = project.create_agent("watch", ["pattern"])
        memory = agent.memory(project.gene("pattern"))
        for number in range(150):
            memory.write(f"pattern/{number}", str(number).encode(), "PATTERN")
        assert listed(agent, limit=1000) == {str(number): number for number in reversed(range(150))}
        assert len(listed(agent)) == 100


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ({"since": "yesterday"}, "since"),
        ({"until": "2026-03-01"}, "until"),
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"limit": -1}, "limit"),
        ({"event": "a\0b"}, "key"),
        ({"event": "x" * 2000}, "key"),
        ({"prefix": 1}, "prefix"),
        ({"event": None}, "event"),
        ([], "object"),
    ],
)
def test_refusals_name_what_is_wrong(guests: Guests, question: Any, word: str) -> None:
    """What the gene does not take is refused by it, the rest by the host, and both say why."""
    with temporary_project({"pattern": guests.module("pattern-rust")}) as project:
        result = project.create_agent("watch", ["pattern"]).run(question)
        assert result.status == "rejected"
        assert result.error is not None
        assert word in result.error.message
