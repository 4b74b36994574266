"""What stands against an import is named, all of it, before anything is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.transfer.conftest import OLD, records, sealed, tree, write

from rotifer_host import Agent, DataPolicy, Project
from rotifer_host.errors import AgentError, LockTimeoutError, UsageError
from rotifer_host.lock import FileLock, Wait
from rotifer_host.memory import AccessPolicy
from rotifer_host.transfer import receiving


def conflict(project: Project, file: Path, **changed: Any) -> str:
    """Import what cannot be; gives message and help, and sees that nothing has changed."""
    before = tree(project.root)
    with pytest.raises(AgentError) as caught:
        project.import_agent(file, **changed)
    assert caught.value.code == "IMPORT_CONFLICT"
    assert tree(project.root) == before
    return f"{caught.value.message}\n{caught.value.help}"


def test_a_name_that_is_taken(agent: Agent, away: Project, file: Path) -> None:
    """Another name is the way."""
    agent.export(file)
    away.create_agent("mover", ["hello"])
    assert conflict(away, file).endswith("there is an agent named mover already\n--name gives it another name")
    moved, _ = away.import_agent(file, name="other")
    assert records(moved)


def test_an_id_that_is_there(agent: Agent, away: Project, file: Path) -> None:
    """An agent cannot be in a project twice, under whatever name; what is there stays."""
    agent.export(file)
    moved, _ = away.import_agent(file)
    write(moved, OLD, "old/new", b"n", "CONTEXT")
    held = records(moved)
    message = conflict(away, file, name="twin")
    assert f"its id {agent.id} is that of the agent mover\n" in message
    assert message.endswith(
        f"move away {away.root}/.rotifer/agents/{agent.id}.json and all of {away.root}/.rotifer/memory/{agent.id}*, "
        "which are mover and what it remembers"
    )
    assert records(moved) == held
    assert moved.memory().check().problems == []


def test_a_memory_without_an_agent(agent: Agent, away: Project, file: Path) -> None:
    """Whose it was nobody knows: it is not overwritten."""
    agent.export(file)
    (away.root / ".rotifer" / "memory" / agent.id).write_bytes(b"somebody's")
    path = away.root / ".rotifer" / "memory" / agent.id
    assert conflict(away, file).endswith(f"without an agent: {path}\nlook whose it was, and move all of {path}* away")


def test_a_quota_that_is_too_small(agent: Agent, away: Project, file: Path) -> None:
    """For its bytes."""
    agent.export(file)
    assert "its quota is 1024 bytes\n--memory-quota gives it another quota" in conflict(away, file, memory_quota=1024)


def test_too_many_entries(agent: Agent, away: Project, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the limit that goes with its quota."""
    agent.export(file)
    monkeypatch.setattr(receiving, "entry_limit", lambda quota: quota and 4)
    assert "it has 5 entries, with its quota at most 4 are allowed" in conflict(away, file)


def test_policies_that_are_not_allowed(agent: Agent, away: Project, file: Path) -> None:
    """Each rule is named once, with the first entry that breaks it and how many more do."""
    shared = AccessPolicy("ALL_GENES", "ALL_GENES", "KNOWLEDGE_GENE")
    open_agent = agent._project.create_agent(
        "open", ["first"], data_policy=DataPolicy(maxRetentionDays=None, anonymizationSupported=True)
    )
    for key in ("old/1", "old/2", "old/3"):
        write(open_agent, OLD, key, b"x", "PATTERN", access_policy=shared)
    open_agent.export(file)
    message = conflict(away, file, data_policy=DataPolicy())
    assert "does not support anonymization, which KNOWLEDGE_GENE needs: old/1 and 2 more entries" in message
    assert message.endswith("\n--data-policy gives it another data policy")
    moved, _ = away.import_agent(file)
    assert moved.data_policy.anonymizationSupported


def test_a_scope_that_no_write_could_set(lines: list[bytes], away: Project, file: Path) -> None:
    """`DEPLOYER_CONFIGURED` is refused in a file as it is in a call."""
    entry = json.loads(lines[1])
    entry["accessPolicy"]["writeScope"] = "DEPLOYER_CONFIGURED"
    file.write_bytes(sealed([lines[0], json.dumps(entry).encode() + b"\n", *lines[2:]]))
    assert "DEPLOYER_CONFIGURED" in conflict(away, file)


def test_a_name_that_is_none(lines: list[bytes], away: Project, file: Path) -> None:
    """A record may be older than the rule for names; another name is the way."""
    head = json.loads(lines[0])
    head["agent"]["name"] = "Old Name\x1b[2J"
    file.write_bytes(sealed([json.dumps(head).encode() + b"\n", *lines[1:]]))
    message = conflict(away, file)
    assert "agent name must be lower-case" in message
    assert "\x1b" not in message
    away.import_agent(file, name="new-name")


def test_all_of_them_at_once(agent: Agent, away: Project, file: Path) -> None:
    """Name, id, quota and policy in one error."""
    agent.export(file)
    away.import_agent(file)
    message = conflict(away, file, memory_quota=100, data_policy=DataPolicy(maxRetentionDays=7))
    for reason in ("named mover", "its id", "its quota is 100 bytes", "at most 7 days, not 30 days: other/context"):
        assert reason in message


@pytest.mark.parametrize(
    "changed", [{"name": "Not/A name"}, {"memory_quota": 0}, {"memory_quota": 1.5}, {"data_policy": "none"}]
)
def test_changes_that_are_none(agent: Agent, away: Project, file: Path, changed: dict[str, Any]) -> None:
    """Are the caller's mistake, and change nothing."""
    agent.export(file)
    before = tree(away.root)
    with pytest.raises(UsageError):
        away.import_agent(file, **changed)
    assert tree(away.root) == before


def test_imports_take_turns(agent: Agent, away: Project, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time in a project: the other waits, and says for what."""
    agent.export(file)
    monkeypatch.setattr(receiving, "Wait", lambda: Wait(0.01))
    with FileLock(away.root / ".rotifer" / "import.lock").held(Wait()), pytest.raises(LockTimeoutError, match="import"):
        away.import_agent(file)
    away.import_agent(file)
