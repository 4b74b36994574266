"""What records, replays, measures and judges genes knows of host modules."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.modules.conftest import Register, relay
from tests.modules.modules import NOTES

from rotifer_host import Agent, Recorder, replay
from rotifer_host.modules import find_module
from rotifer_host.sandbox import available_call_paths

MakeAgent = Callable[..., Agent]


@pytest.mark.parametrize("function", ["put", "full", "refuse", "late"])
def test_a_recorded_run_needs_no_module_to_be_run_again(
    register: Register, agent_of: MakeAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """Responses and refusals, those of the module's own too, are given again where nothing of it is installed."""
    register("notes", NOTES)
    agent = agent_of(relay(f"notes.{function}"), "notes")
    recording = tmp_path / "run.rec"
    agent.run([1], record=Recorder(recording))
    monkeypatch.undo()
    find_module.cache_clear()
    for call_path in available_call_paths():
        found = replay(recording, call_path=call_path)
        assert found.difference is None
        assert [part.calls for part in found.parts] == [1]


def test_a_measurement_has_its_calls(agent_of: MakeAgent) -> None:
    """`rotifer bench` measures them on every call path, on a copy of what the module keeps."""
    agent = agent_of(relay("json.getMemory"), "json")
    agent.json_memory().compare_and_set({"expectedRevision": 0, "memory": {"a": 1}})
    command = [sys.executable, "-m", "rotifer_host", "-C", str(agent._project.root), "bench", "test-agent", "--json"]
    done = subprocess.run([*command, "--runs", "5"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {"rotifer.ext.json.getMemory"} == {name for path in document["paths"] for name in path["calls"]}
    assert agent.run({}).output == {"revision": 1, "memory": {"a": 1}}


def test_a_gene_that_imports_one_keeps_the_abi(agent_of: MakeAgent) -> None:
    """`rotifer conformance gene` takes its imports for what they are, and runs it."""
    agent = agent_of(relay("json.getMemory"))
    command = [sys.executable, "-m", "rotifer_host", "-C", str(agent._project.root), "conformance", "gene", "gene"]
    done = subprocess.run([*command, "--input", "{}", "--json"], capture_output=True, text=True, check=False)
    verdicts = {verdict["point"]: verdict for verdict in json.loads(done.stdout)["verdicts"]}
    assert verdicts["imports.offered"]["verdict"] == "pass"
    assert verdicts["input.sample"]["verdict"] == "pass"
    assert done.returncode == 0
