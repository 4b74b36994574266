"""The gene that comes with a new project, run as a newcomer would."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Project
from rotifer_host.audit import read_lines


@pytest.fixture
def greeter(tmp_path: Path) -> Project:
    """Return a new project with the starter gene compiled and an agent made of it."""
    project = Project.init(tmp_path / "my-agent")
    project.compile("hello")
    project.create_agent("greeter", ["hello"])
    return project


def greet(project: Project, name: str) -> Any:  # any JSON
    """Run the agent, as a new process would, and return its output."""
    result = Project.open(project.root).agent("greeter").run({"name": name})
    assert result.error is None
    return result.output


@pytest.mark.parametrize(
    "name",
    ["A", "Ad", "Ada", "Ada L", 'a "quoted" \\ name', "Zoë", "名前", "\n\0\x7f", "x" * 512, "}", '"}', "\\"],
    ids=ascii,
)
def test_it_knows_whom_it_greeted_last(greeter: Project, name: str) -> None:
    """The same name is welcomed back in the next run, whatever characters it is made of; another is not."""
    assert greet(greeter, name) == {"greeting": f"Hello, {name}!"}
    assert greet(greeter, name) == {"greeting": f"Welcome back, {name}!"}
    assert greet(greeter, "Grace") == {"greeting": "Hello, Grace!"}
    assert greet(greeter, name[:-1] or "B") == {"greeting": f"Hello, {name[:-1] or 'B'}!"}
    assert greet(greeter, name) == {"greeting": f"Hello, {name}!"}


def test_it_keeps_one_entry_of_its_domain(greeter: Project) -> None:
    """The name is stored as its JSON text, under one key, and each run is audited once."""
    greet(greeter, "Zoë")
    greet(greeter, "Zoë")
    agent = greeter.agent("greeter")
    entry = agent.memory(caller=greeter.gene("hello")).read("greeting/last-name")
    assert entry is not None
    assert (entry.category, entry.value) == ("CONTEXT", "Zoë".encode())
    assert [line["action"] for line in read_lines(greeter.audit_path)] == ["memory.create", "memory.update"]
    assert b64encode(entry.value) == b"Wm/Dqw=="


@pytest.mark.parametrize(
    "document",
    [
        {"name": ""},
        {"name": 7},
        {"name": "x" * 513},
        {},
        [],
        None,
        {"Name": "Ada"},
        {"name": "Ada", "x": "y"},
        '{"name":"Ada"}',
    ],
    ids=range(9),
)
def test_it_rejects_other_input(greeter: Project, document: Any) -> None:  # any JSON
    """Input that is not one name is rejected with a reason, and nothing is remembered."""
    result = greeter.agent("greeter").run(document)
    assert result.status == "rejected"
    assert result.error is not None
    assert "a string of 1 to 512 bytes" in result.error.message
    assert greeter.agent("greeter").memory().list().entries == ()


@pytest.mark.parametrize("length", [513, 70_000, 2_000_000])
def test_long_input_is_taken_and_rejected(greeter: Project, length: int) -> None:
    """Its memory grows by what the input takes, and the name in it is too long."""
    result = greeter.agent("greeter").run({"name": "x" * length})
    assert result.status == "rejected"


def test_on_its_own_it_says_why_it_cannot(greeter: Project) -> None:
    """Outside an agent there is no memory: the run is rejected with the host's reason."""
    result = greeter.run_gene("hello", {"name": "Ada"})
    assert result.status == "rejected"
    assert result.error is not None
    assert [line["action"] for line in read_lines(greeter.audit_path)] == ["memory.deny"]
