"""Each memory is kept apart: changing one never changes another."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.turn_memory.conftest import HINOS, both, events

from rotifer_host import Recorder, Report, replay
from rotifer_host.errors import UsageError
from rotifer_host.modules import HostModule

EDIT = {"op": "set", "table": "people", "row": "Ann", "cells": {"age": 40}}


def everything(agent: Any) -> dict[str, Any]:
    """Return every document and entry of an agent, by name."""
    with agent._open_store() as store, store.snapshot() as snapshot:
        found: dict[str, Any] = {name.name: snapshot.document(name) for name, _ in snapshot.documents()}
        found["entries"] = [record.body for _, record in snapshot.records()]
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """Return the names of what differs."""
    return {name for name in before | after if before.get(name) != after.get(name)}


@pytest.fixture
def agent(make: Any) -> Any:
    """Return an agent with something in each memory, whose diary is due at each turn."""
    agent = make("echo", turn_memory=both(min_rounds=1, free_rounds_per_diary=1))
    agent.run({"tableEdits": [EDIT]})
    agent.memory(agent._project.gene("echo")).write("k", b"v", "CONTEXT")
    assert set(everything(agent)) == {"rounds/me", "diary/me", "table/me", "entries"}
    return agent


def test_a_turn_changes_what_it_is_about(make: Any) -> None:
    """A round that is counted, a table that is replaced, an entry that is appended: three documents."""
    agent = make("echo", turn_memory=both(min_rounds=3))
    states = [everything(agent)]
    for document in ({}, {"tableEdits": [EDIT]}, {}, {"tableEdits": [EDIT]}):
        agent.run(document)
        states.append(everything(agent))
    assert [changed(*pair) for pair in itertools.pairwise(states)] == [
        {"rounds/me"}, {"rounds/me", "table/me"}, {"rounds/me", "diary/me"}, {"rounds/me"},
    ]  # fmt: skip


def test_a_gene_changes_the_agent_s_own_memory_alone(agent: Any) -> None:
    """Entries, their quota and what is deleted of them have nothing to do with the others."""
    before = everything(agent)
    assert agent.memory().list().used == len("k") + 1
    agent.memory().delete(key="k")
    assert changed(before, everything(agent)) == {"entries"}


@pytest.mark.parametrize(
    ("source", "expected"), [("compassMemory", {"diary/me", "rounds/me"}), ("memoryTable", {"table/me"})]
)
def test_forgetting_one(agent: Any, source: str, expected: set[str]) -> None:
    """The deployer may let one go; the others stay, and it begins anew."""
    before = everything(agent)
    agent.forget_turn_memory(source)
    after = everything(agent)
    assert changed(before, after) == expected
    assert not expected & set(after)
    assert agent.turn_memory_texts()[source] == ""
    result = agent.run({"tableEdits": [EDIT]})
    assert events(result) == ["diary.appended", "table.replaced" if source == "memoryTable" else "table.unchanged"]


def test_another_source_is_another_memory(agent: Any) -> None:
    """What is kept belongs to the agentRef: under another one all is new, and with the old one it is there again."""
    before = everything(agent)
    settings = agent.turn_memory
    others = [{**source, "agentRef": "other"} for source in settings["memorySources"]]
    moved = agent.set_turn_memory({**settings, "memorySources": others})
    assert moved.turn_memory_texts() == {"compassMemory": "", "memoryTable": ""}
    moved.run({"tableEdits": [EDIT]})
    assert changed(before, everything(agent)) == {"diary/other", "rounds/other", "table/other"}
    assert "they met" in moved.set_turn_memory(settings).turn_memory_texts()["compassMemory"]


@pytest.mark.usefixtures("hinos")
def test_the_service_changes_nothing_here(make: Any) -> None:
    """What a service remembers is not kept in the agent's store."""
    agent = make("text", turn_memory=HINOS)
    agent.run({})
    assert everything(agent) == {"entries": []}
    assert agent.turn_memory_texts() == {}
    with pytest.raises(UsageError, match="lies with its service"):
        agent.forget_turn_memory("external-memory")


def test_without_its_audit_line_nothing_is_kept(agent: Any) -> None:
    """Where the log cannot be written the run keeps its output, and each memory says that it could keep nothing."""
    before = everything(agent)
    audit = agent._project.audit_path
    kept = audit.rename(audit.with_suffix(".kept"))
    audit.mkdir()
    try:
        result = agent.run({"tableEdits": [{**EDIT, "cells": {"age": 41}}]})
    finally:
        audit.rmdir()
        kept.rename(audit)
    assert (result.status, events(result)) == ("ok", ["diary.failed", "table.failed"])
    assert all("MEMORY_STORAGE_ERROR" in warning for warning in result.warnings)
    assert changed(before, everything(agent)) == set()
    assert agent.memory().check().problems == []


def test_no_host_module_has_its_name() -> None:
    """A module of others that is named `turn` would read and write what turn memory keeps."""
    with pytest.raises(ValueError, match="not be 'turn'"):
        HostModule("turn", {"read": lambda call, _request: call.document("diary/me") or b""})


def test_priority_is_the_order(make: Any) -> None:
    """Sources are asked, and told, from the largest priority down."""
    settings = both()
    settings["memorySources"][1]["priority"] = 5
    result = make("echo", turn_memory=settings).run({"tableEdits": [EDIT]})
    assert events(result) == ["table.replaced", "diary.declined"]


def test_a_failure_of_one_is_no_concern_of_the_other(make: Any) -> None:
    """A table with bad edits leaves the diary its round."""
    result = make("echo", turn_memory=both(min_rounds=1)).run({"tableEdits": [1]})
    assert events(result) == ["diary.appended", "table.failed"]


def test_a_recorded_turn_is_played_again(agent: Any, tmp_path: Any) -> None:
    """A recording holds what the genes were told, so that it needs no memory; a report shows every gene."""
    recording, page = tmp_path / "run.rec", tmp_path / "run.html"
    result = agent.run({}, record=Recorder(recording), report=Report(page))
    assert [gene.name for gene in result.genes] == ["echo", "diarist"]
    assert "diarist" in page.read_text(encoding="utf-8")
    before = everything(agent)
    assert replay(recording).same
    assert everything(agent) == before


@pytest.mark.parametrize("composition", ["Seq", "Par", "Cond", "Try"])
def test_every_composition_is_one_round(make: Any, composition: str) -> None:
    """However many genes run, local memories are told of one turn."""
    agent = make("echo", "echo", turn_memory=both(min_rounds=2), composition=composition)
    results = [agent.run({"tableEdits": [EDIT]}, durability="run") for _ in range(2)]
    assert [events(result) for result in results] == [
        ["diary.declined", "table.replaced"], ["diary.appended", "table.unchanged"],
    ]  # fmt: skip
    assert agent.memory().check().problems == []
