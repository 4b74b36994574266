"""The counter counts."""

from __future__ import annotations

import pytest

from rotifer_host import Agent, Project


@pytest.fixture
def agent(project: Project) -> Agent:
    """Return an agent of the counter alone."""
    return project.create_agent("tally", ["counter"])


@pytest.mark.parametrize(
    ("stored", "count"),
    [
        (b"1", 2),
        (b"9", 10),
        (b"99", 100),
        (b"12345", 12346),
        (b"0007", 8),
        (b"999999999999999999", 10**18),
        (b"1000000000000000000", 1),
        (b"", 1),
        (b"12x", 1),
        (b"-5", 1),
        (bytes(2000), 1),
    ],
)
def test_counts_on_from_what_is_stored(project: Project, agent: Agent, stored: bytes, count: int) -> None:
    """A decimal of up to 18 digits is counted on, anything else counts as none; the new count is stored."""
    memory = agent.memory(project.gene("counter"))
    memory.write("counter/runs", stored, "CONTEXT")
    assert agent.run({}).output == {"count": count}
    entry = memory.read("counter/runs")
    assert entry is not None
    assert entry.value == str(count).encode()


@pytest.mark.parametrize("document", [{"a": 1}, {"a": "x" * 2000}, {"a": "x" * 100_000}, [], 0, None])
def test_input_must_be_empty(agent: Agent, document: object) -> None:
    """Any input but `{}` is rejected, however long, and counts nothing."""
    assert agent.run(document).status == "rejected"
    assert not agent.memory().list().entries
