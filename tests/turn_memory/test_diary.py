"""The diary: planned, generated, parsed, appended, and not written where a step declines."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.agent.conftest import audit_lines
from tests.turn_memory.conftest import both, events, local

from rotifer_host import Limits
from rotifer_host.errors import GeneError
from rotifer_host.store.protocol import DocumentName
from rotifer_host.turn_memory.diary_store import Diary, DiaryStore, Entry, OvertakenError

DIARY = DocumentName("turn", "diary/me")
ROUNDS = DocumentName("turn", "rounds/me")


def document(agent: Any, name: DocumentName) -> Any:
    """Return a document of the agent as JSON, None where there is none."""
    with agent._open_store() as store, store.snapshot() as snapshot:
        data = snapshot.document(name)
    return None if data is None else json.loads(data)


def diary(generator: str = "diarist", **setting: Any) -> dict[str, Any]:
    """Return turn memory with a diary alone."""
    return local("compassMemory", diary={"generator": generator, **setting})


def said(result: Any) -> list[tuple[str, str]]:
    """Return a turn's events with their messages."""
    return [(event.event, event.message) for event in result.turn.events]


@pytest.mark.parametrize(
    ("setting", "entries"),
    [({}, [20, 30]), ({"min_rounds": 3, "free_rounds_per_diary": 2}, [3, 5, 7, 9])],
    ids=["as the seed says", "as the agent says"],
)
def test_when_an_entry_is_due(make: Any, setting: dict[str, int], entries: list[int]) -> None:
    """The first after 20 rounds and then one every 10, unless the agent says otherwise."""
    agent = make("text", turn_memory=diary("diarist", **setting))
    written = [number for number in range(1, entries[-1] + 1) if events(agent.run({})) == ["diary.appended"]]
    assert written == entries
    found = document(agent, DIARY)["entries"]
    assert [each["last"] for each in found] == entries
    assert [each["first"] for each in found] == [1, *(last + 1 for last in entries[:-1])]


def test_nothing_is_written_before_it_is_due(make: Any) -> None:
    """Before that there is no diary, its generator is not run, and the audit log has no line of it."""
    agent = make("text", turn_memory=diary())
    result = agent.run({})
    assert said(result) == [("diary.declined", "not due: 1 of 20 rounds")]
    assert [gene.name for gene in result.genes] == ["text"]
    assert document(agent, DIARY) is None
    assert [line["action"] for line in audit_lines(agent)] == ["turn.round"]


def test_what_the_generator_is_given_and_what_comes_of_it(make: Any) -> None:
    """It gets the rounds and the summary before, and the next run is told the summary it wrote."""
    agent = make("text", turn_memory=diary(min_rounds=2, free_rounds_per_diary=1))
    agent.run({"n": 1})
    result = agent.run({"messages": [{"role": "user", "content": "Good night."}]})
    assert said(result) == [("diary.appended", "an entry about rounds 1 to 2")]
    assert [gene.name for gene in result.genes] == ["text", "diarist"]
    rounds = [
        {"round": 1, "user": '{"n":1}', "assistant": "I noted it."},
        {"round": 2, "user": "Good night.", "assistant": "I noted it."},
    ]
    assert json.loads(result.genes[1].log.removeprefix("info: ")) == {"rounds": rounds, "previous": None}
    (entry,) = document(agent, DIARY)["entries"]
    assert {**entry, "at": None} == {"first": 1, "last": 2, "at": None, "summary": "they met", "diary": "Dear diary"}
    result = agent.run({})
    assert result.turn.recalled == {"compassMemory": len("they met")}
    assert json.loads(result.genes[1].log.removeprefix("info: "))["previous"] == "they met"
    assert said(result) == [("diary.appended", "an entry about round 3")]
    lines = [line for line in audit_lines(agent) if line["action"] == "turn.diary"]
    assert [(line["actor"], line["key"]) for line in lines] == [("host", "diary/me")] * 2
    assert lines[0]["geneId"] == agent._project.gene("diarist").current_id()


def test_the_gene_is_told_the_last_summaries(make: Any) -> None:
    """As many as the agent says, the oldest first, as the input variable."""
    setting = diary(min_rounds=1, free_rounds_per_diary=1, recall=2)
    agent = make("echo", turn_memory=setting)
    outputs = [agent.run({}).output for _ in range(4)]
    assert outputs == [{}, *({"compassMemory": text} for text in ("they met", *["they met\n\nthey met"] * 2))]


@pytest.mark.parametrize(
    ("generator", "event", "again"),
    [
        ("silent", ("diary.declined", "silent has nothing to say about round 1"), False),
        ("refuse", ("diary.declined", "refuse has nothing to say about round 1"), False),
        ("trap", ("diary.failed", "trap ended failed: TRAP: "), True),
        ("babbler", ("diary.failed", "the output of babbler is no entry: Expected `str`, got `int`"), True),
        ("echo", ("diary.failed", "the output of echo is no entry: "), True),
    ],
)
def test_each_step_may_decline(make: Any, generator: str, event: tuple[str, str], *, again: bool) -> None:
    """Then no diary is written; one that failed is due again at once, one that had nothing to say in its turn."""
    agent = make("text", turn_memory=diary(generator, min_rounds=1, free_rounds_per_diary=2))
    result = agent.run({})
    ((name, message),) = said(result)
    assert (result.status, result.output, name) == ("ok", "I noted it.", event[0])
    assert message.startswith(event[1])
    assert len(result.warnings) == (name == "diary.failed")
    assert document(agent, DIARY) is None
    (due,) = said(agent.run({}))
    assert (due[0] == "diary.failed") is again
    if not again:
        assert due == ("diary.declined", "not due: 1 of 2 rounds")
    assert {line["action"] for line in audit_lines(agent)} == {"turn.round"}


@pytest.mark.parametrize("gene", ["trap", "refuse"])
def test_a_run_that_did_not_end_ok_is_no_round(make: Any, gene: str) -> None:
    """It is not counted, and nothing of it is kept."""
    agent = make(gene, turn_memory=both(min_rounds=1))
    result = agent.run({})
    assert (events(result), audit_lines(agent)) == ([], [])


def test_the_generator_shares_the_run_s_deadline(make: Any) -> None:
    """A generator that does not end costs the diary its entry, and the run nothing."""
    agent = make("text", turn_memory=diary("loop", min_rounds=1))
    result = agent.run({}, limits=Limits(fuel=10**15, deadline_ms=1000))
    assert (result.status, result.output, events(result)) == ("ok", "I noted it.", ["diary.failed"])
    assert "DEADLINE_EXCEEDED" in result.warnings[0]


def test_the_generator_may_use_the_agent_s_memory(make: Any) -> None:
    """It acts as itself, in the agent's memory, and what it writes stays."""
    agent = make("text", turn_memory=diary("writer", min_rounds=1))
    result = agent.run({}, durability="run")
    assert result.genes[1].host_calls["writeMemory"].errors == {}
    assert [(entry.key, entry.reachable) for entry in agent.memory().list().entries] == [("k", True)]


def test_a_generator_that_cannot_run_stops_the_run_before_any_gene(make: Any) -> None:
    """It is looked at with the others, and not when the first entry is due."""
    agent = make("writer", turn_memory=diary())
    folder = agent._project.genes_path / "diarist"
    artefact = folder / "gene.ir.wasm"
    kept = artefact.read_bytes()
    artefact.unlink()
    try:
        with pytest.raises(GeneError, match="diarist"):
            agent.run({})
    finally:
        artefact.write_bytes(kept)
    assert audit_lines(agent) == []


def test_another_run_was_faster(make: Any) -> None:
    """Of two runs that both found an entry due, the second one's is not appended."""
    agent = make("text", turn_memory=diary())
    with agent._opened() as memory:
        store = DiaryStore(memory, "me")
        entry = Entry(first=1, last=20, at="", summary="first", diary=None)
        store.append(entry, after=0, caller=None)
        with pytest.raises(OvertakenError):
            store.append(msgspec.structs.replace(entry, summary="second"), after=0, caller=None)
        assert [each.summary for each in store.read().entries] == ["first"]


def test_a_long_diary_forgets_its_beginning(make: Any) -> None:
    """What does not fit any more goes from the oldest entry on, and counting goes on."""
    agent = make("text", turn_memory=diary())
    with agent._opened() as memory:
        store = DiaryStore(memory, "me")
        for number in range(1, 16):
            entry = Entry(first=number, last=number, at="", summary="s", diary="x" * 65_536)
            store.append(entry, after=number - 1, caller=None)
        kept = [each.first for each in store.read().entries]
    assert kept == list(range(kept[0], 16))
    assert kept[0] > 1


def test_long_rounds_are_cut(make: Any) -> None:
    """Of each text 16,384 characters wait for the diary, and of many rounds the last ones."""
    agent = make("text", turn_memory=diary())
    with agent._opened() as memory:
        store = DiaryStore(memory, "me")
        for _ in range(20):
            rounds = store.count("u" * 20_000, "a" * 20_000, 0)
    assert rounds.count == 20
    assert [each.round for each in rounds.waiting] == list(range(21 - len(rounds.waiting), 21))
    assert 1 < len(rounds.waiting) < 20
    assert {len(each.user) for each in rounds.waiting} == {16_384}


@pytest.mark.parametrize("name", [DIARY, ROUNDS], ids=["diary", "rounds"])
@pytest.mark.parametrize("data", [b'{"v":2}', b"[]", b"\xff", b'{"v":1,"entries":[1],"count":"1"}'])
def test_a_document_of_another_form_is_refused(make: Any, name: DocumentName, data: bytes) -> None:
    """It is neither guessed at nor overwritten."""
    agent = make("text", turn_memory=diary(min_rounds=1))
    with agent._opened() as memory:
        memory.documents.change(None, "turn.round", name, lambda _old: data)
    result = agent.run({})
    if name == DIARY:
        assert (result.status, result.error.code, result.genes) == ("failed", "MEMORY_STORAGE_ERROR", ())
    else:
        assert (result.status, events(result)) == ("ok", ["diary.failed"])
    with agent._open_store() as store, store.snapshot() as snapshot:
        assert snapshot.document(name) == data


def test_an_empty_diary_has_reached_no_round() -> None:
    """Before the first entry all rounds are waiting."""
    assert Diary().through == 0
