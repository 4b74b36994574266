"""The host module `json` in the guest libraries: a scene in every language."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.guests.modules import LANGUAGES, ODD, Guests, said

from rotifer_host import Agent


@pytest.fixture(params=LANGUAGES)
def agent(request: pytest.FixtureRequest, guests: Guests, tmp_path: Path) -> Agent:
    """Return an agent of each language's scene, granted what it needs."""
    name = f"scene-{request.param}"
    return guests.project(tmp_path / "p", name).create_agent("teller", [name], grants=["json"])


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
