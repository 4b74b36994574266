"""What an agent's record says of its turn memory, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.agent.guests import ECHO
from tests.turn_memory.conftest import HINOS, both, local

from rotifer_host import Project
from rotifer_host.errors import AgentError, GeneError, UsageError
from rotifer_host.testing import temporary_project

SOURCE = HINOS["memorySources"][0]


def path_of(agent: Any) -> Any:
    """Return the file of an agent's record."""
    return agent._project._folder.agents_dir / f"{agent.id}.json"


def test_the_record_has_the_words_of_the_seed(make: Any) -> None:
    """The runtime and the sources stand in the record as they were given, with what was left out."""
    agent = make("echo", turn_memory=both(recall=2))
    record = json.loads(path_of(agent).read_bytes())
    sources = [{"id": v, "agentRef": "me", "variable": v, "priority": 0} for v in ("compassMemory", "memoryTable")]
    expected = {
        "memoryRuntime": "axon_go",
        "memorySources": sources,
        "diary": {"generator": "diarist", "min_rounds": 20, "free_rounds_per_diary": 10, "recall": 2},
    }
    assert {name: record[name] for name in expected} == expected
    assert agent.turn_memory == expected
    assert agent._project.agent(agent.name).turn_memory == expected


def test_an_agent_without_one_has_none_in_its_record(make: Any) -> None:
    """Nothing is said of it, and its runs take any input."""
    agent = make("echo", turn_memory=None)
    assert not {"memoryRuntime", "memorySources", "diary"} & set(json.loads(path_of(agent).read_bytes()))
    result = agent.run([1])
    assert (agent.turn_memory, result.output, result.turn, result.to_json()["turn"]) == (None, [1], None, None)
    with pytest.raises(UsageError, match="has no turn memory"):
        agent.turn_memory_texts()


BAD: list[tuple[Any, list[str]]] = [
    ([], ["turn memory must be an object with memoryRuntime and memorySources"]),
    ({}, ["memoryRuntime is missing", "memorySources is missing"]),
    ({**HINOS, "memoryRuntime": "letta"}, ["memoryRuntime must be hinos or axon_go, not letta"]),
    (
        {**HINOS, "memoryRuntime": "personalization"},
        ["memoryRuntime must be hinos or axon_go, not personalization (that one is not offered by this host)"],
    ),
    ({**HINOS, "memoryRuntime": "axon_shadow"}, ["not axon_shadow (that one is not offered by this host)"]),
    ({**HINOS, "memoryRuntime": ["hinos"]}, ["memoryRuntime must be hinos or axon_go, not a list"]),
    ({**HINOS, "memorySources": []}, ["memorySources must be a list of at least one source, not a list"]),
    ({**HINOS, "memorySources": {}}, ["memorySources must be a list of at least one source, not an object"]),
    (
        {**HINOS, "memorySources": [SOURCE, {**SOURCE, "id": "other"}]},
        ["with hinos, memorySources must have exactly one source with the variable hinosMemory, not 2"],
    ),
    (
        {**HINOS, "memorySources": [{**SOURCE, "variable": "memoryTable"}]},
        [
            "memorySources[0].variable must be hinosMemory with hinos, not memoryTable",
            "with hinos, memorySources must have exactly one source with the variable hinosMemory, not 0",
        ],
    ),
    (
        {**HINOS, "memorySources": [1, {"id": "", "agentRef": " a", "variable": 1, "priority": "1", "x": 0}]},
        [
            "memorySources[0] must be an object",
            "unknown field memorySources[1].x",
            "memorySources[1].id must be printable text of 1 to 200 bytes",
            "memorySources[1].agentRef must be",
            "memorySources[1].variable must be hinosMemory with hinos, not 1",
            "memorySources[1].priority must be a whole number from -1000000 to 1000000",
            "with hinos, memorySources must have exactly one source",
        ],
    ),
    ({**HINOS, "memorySources": [{**SOURCE, "agentRef": "ü" * 101}]}, ["memorySources[0].agentRef must be printable"]),
    ({**HINOS, "memorySources": [{**SOURCE, "id": "a\u202e"}]}, ["memorySources[0].id must be printable"]),
    (
        {**HINOS, "memorySources": [{}]},
        [*(f"memorySources[0].{name} is missing" for name in ("id", "agentRef", "variable")), "exactly one source"],
    ),
    ({**HINOS, "diary": {"generator": "echo"}}, ["diary goes with axon_go and a source of compassMemory"]),
    (local("memoryTable", "memoryTable"), ["2 of memorySources have the id", "2 of memorySources have the variable"]),
    (local("hinosMemory"), ["memorySources[0].variable must be compassMemory or memoryTable with axon_go"]),
    (local("compassMemory"), ["compassMemory needs diary"]),
    (local("memoryTable", diary={"generator": "echo"}), ["diary goes with axon_go and a source of compassMemory"]),
    (local("compassMemory", diary="echo"), ["diary must be an object with generator"]),
    (
        both(min_rounds=0, free_rounds_per_diary=True, recall=6, generator=1, x=1),
        [
            "unknown field diary.x",
            "diary.generator must be the name of a gene, not 1",
            "diary.min_rounds must be a whole number from 1 to 1000, not 0",
            "diary.free_rounds_per_diary must be a whole number from 1 to 1000, not true",
            "diary.recall must be a whole number from 1 to 5, not 6",
        ],
    ),
    ({**HINOS, "memorySource": []}, ["unknown field memorySource"]),
]


@pytest.mark.parametrize(("document", "expected"), BAD, ids=range(len(BAD)))
def test_everything_that_is_wrong_is_said_at_once(project: Project, document: Any, expected: list[str]) -> None:
    """Each field is named with what it may be, and no agent is made."""
    with pytest.raises(UsageError) as refused:
        project.create_agent("never-made", ["echo"], turn_memory=document)
    assert [text for text in expected if text not in refused.value.message] == []
    assert len(refused.value.message.split("; ")) == len(expected) + ("personalization is" in refused.value.message)
    assert all(agent.name != "never-made" for agent in project.agents())


@pytest.mark.parametrize(("document", "expected"), [pair for pair in BAD if pair[0] and "memorySource" not in pair[0]])
def test_a_record_is_read_by_the_same_rules(make: Any, document: Any, expected: list[str]) -> None:
    """A record that somebody has edited is refused with the same words."""
    agent = make("echo", turn_memory=None)
    path = path_of(agent)
    good = path.read_bytes()
    path.write_text(json.dumps({**json.loads(good), **document}), encoding="utf-8")
    try:
        with pytest.raises(AgentError) as refused:
            agent._project.agent(agent.name)
    finally:
        path.write_bytes(good)
    own = [text for text in expected if not text.startswith("unknown field m")]
    assert [text for text in own if text not in refused.value.message] == []


@pytest.mark.parametrize(("name", "error"), [("no-such-gene", GeneError), ("../echo", UsageError)])
def test_the_generator_is_a_gene_of_the_project(make: Any, name: str, error: type[Exception]) -> None:
    """One that is not there, or cannot be a name, is refused when the agent is made or changed."""
    with pytest.raises(error):
        make("echo", turn_memory=both(generator=name))
    agent = make("echo", turn_memory=None)
    with pytest.raises(error):
        agent.set_turn_memory(both(generator=name))


def test_it_stays_with_other_genes_and_goes_when_told(make: Any) -> None:
    """`set_genes` keeps it, and `set_turn_memory` puts another in its place, or none."""
    agent = make("echo", turn_memory=both()).set_genes(["text"])
    assert agent.turn_memory["memoryRuntime"] == "axon_go"
    assert agent.set_turn_memory(HINOS).turn_memory["memoryRuntime"] == "hinos"
    agent = agent.set_turn_memory(None)
    assert (agent.turn_memory, agent.genome) == (None, ("text",))
    assert agent._project.agent(agent.name).turn_memory is None


def test_it_moves_with_the_agent(make: Any, tmp_path: Any) -> None:
    """An exported agent brings what its record says; what was kept stays where it was, and genes stay too."""
    agent = make("echo", turn_memory=both(min_rounds=1))
    agent.run({})
    agent.export(tmp_path / "agent.jsonl")
    with temporary_project({"echo": ECHO}) as other:
        moved, imported = other.import_agent(tmp_path / "agent.jsonl")
        assert moved.turn_memory == agent.turn_memory
        assert imported.missing_genes == ("diarist",)
        assert moved.turn_memory_texts() == {"compassMemory": "", "memoryTable": ""}
