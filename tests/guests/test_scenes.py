"""The host module `json` in the guest libraries: a scene in every language."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.guests.modules import Guests

from rotifer_host import Agent

LANGUAGES = ("assemblyscript", "c", "rust", "zig")
ODD = 'é😀"\\\n\x1f/'


@pytest.fixture(params=LANGUAGES)
def agent(request: pytest.FixtureRequest, guests: Guests, tmp_path: Path) -> Agent:
    """Return an agent of each language's scene, granted what it needs."""
    name = f"scene-{request.param}"
    return guests.project(tmp_path / "p", name).create_agent("teller", [name], grants=["json"])


def said(agent: Agent, document: dict[str, Any]) -> Any:
    """Return the output of a run, or the message it was rejected with."""
    result = agent.run(document)
    return result.output if result.status == "ok" else (result.status, result.error and result.error.message)


def test_a_scene_is_kept_and_told(agent: Agent) -> None:
    """Any text comes back as it was, one that needs a larger buffer too."""
    assert said(agent, {}) == {"scene": None, "changes": 0}
    assert said(agent, {"scene": ODD}) == {"scene": ODD, "changes": 1}
    assert said(agent, {}) == {"scene": ODD, "changes": 1}
    assert said(agent, {"scene": "x" * 10_000}) == {"scene": "x" * 10_000, "changes": 2}
    assert said(agent, {}) == {"scene": "x" * 10_000, "changes": 2}
    assert agent.json_memory().get()["revision"] == 2


def test_refusals_are_handed_on(agent: Agent) -> None:
    """What the library does not expect of the host becomes the gene's output, whole."""
    status, message = said(agent, {"scene": "x" * 65_536})
    assert status == "rejected"
    assert message.startswith("memory must be at most 65536 bytes as compact JSON")
    assert said(agent, {"scene": 5}) == ("rejected", "scene must be a string")


def test_no_change_is_lost(agent: Agent) -> None:
    """Who meets a conflict reads again and decides again."""
    threads = [threading.Thread(target=lambda: [agent.run({"scene": "x"}) for _ in range(5)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said(agent, {}) == {"scene": "x", "changes": 15}
