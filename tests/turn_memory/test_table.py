"""The memory table: edits in an output, compare-and-set, and one more try."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from tests.agent.conftest import audit_lines
from tests.turn_memory.conftest import events, local

from rotifer_host.sandbox import available_call_paths
from rotifer_host.store.protocol import DocumentName
from rotifer_host.turn_memory import MemorySource
from rotifer_host.turn_memory.table import TableMemory

TABLE = DocumentName("turn", "table/me")
SOURCE = MemorySource(id="t", agentRef="me", variable="memoryTable")
MEMORY = local("memoryTable")


def put(row: str, table: str = "people", **cells: Any) -> dict[str, Any]:
    """Return the edit that gives a row cells."""
    return {"op": "set", "table": table, "row": row, "cells": cells}


def drop(row: str, table: str = "people") -> dict[str, Any]:
    """Return the edit that takes a row away."""
    return {"op": "delete", "table": table, "row": row}


def stored(agent: Any) -> Any:
    """Return the document, None where there is none."""
    with agent._open_store() as store, store.snapshot() as snapshot:
        data = snapshot.document(TABLE)
    return None if data is None else json.loads(data)


@pytest.mark.parametrize("call_path", available_call_paths())
def test_edits_of_one_run_are_told_to_the_next(make: Any, call_path: str) -> None:
    """The output's edits make the table, and its text is in the next run's input."""
    agent = make("echo", turn_memory=MEMORY)
    edits = [put("Ann", holds="the key", age=40), put("Bo|b\n", guard=True), put("gate", table="places", open=False)]
    first = agent.run({"tableEdits": edits}, call_path=call_path)
    assert (events(first), first.turn.recalled) == (["table.replaced"], {})
    second = agent.run({}, call_path=call_path)
    assert second.output["memoryTable"] == (
        "## people\n\n"
        "|  | holds | age | guard |\n"
        "|---|---|---|---|\n"
        "| Ann | the key | 40 |  |\n"
        "| Bo\\|b |  |  | true |\n\n"
        "## places\n\n"
        "|  | open |\n"
        "|---|---|\n"
        "| gate | false |"
    )
    assert events(second) == []
    assert [line["action"] for line in audit_lines(agent)] == ["turn.table"]


@pytest.mark.parametrize(
    ("edits", "rows"),
    [
        ([put("Ann", holds="the key")], {"Ann": {"age": 40, "holds": "the key"}, "Bob": {}}),
        ([put("Ann", age=None)], {"Ann": {}, "Bob": {}}),
        ([put("Ann", age=40.0)], {"Ann": {"age": 40.0}, "Bob": {}}),
        ([drop("Ann")], {"Bob": {}}),
        ([drop("Bob"), put("Bob", age=1), put("Bob", age=2)], {"Ann": {"age": 40}, "Bob": {"age": 2}}),
        ([drop("Ann"), drop("Bob")], None),
    ],
)
def test_what_edits_do(make: Any, edits: list[Any], rows: dict[str, Any] | None) -> None:
    """They set cells, take them away, and take rows away; a table without rows goes."""
    agent = make("echo", turn_memory=MEMORY)
    agent.run({"tableEdits": [put("Ann", age=40), put("Bob")]})
    assert events(agent.run({"tableEdits": edits})) == ["table.replaced"]
    found = stored(agent)
    assert found["revision"] == 2
    assert json.dumps(found["tables"]) == json.dumps({} if rows is None else {"people": rows})


@pytest.mark.parametrize(
    ("edits", "event"),
    [
        ([], ["table.unchanged"]),
        ([put("Ann", age=40)], ["table.unchanged"]),
        ([put("Ann", age=41), put("Ann", age=40)], ["table.unchanged"]),
        ([put("Ann", name=None)], ["table.unchanged"]),
        ([drop("Bob")], ["table.unchanged"]),
        ([drop("Ann", table="places")], ["table.unchanged"]),
        (None, ["table.failed"]),
        ({}, ["table.failed"]),
        ([put("Bob"), 1], ["table.failed"]),
        ([put("")], ["table.failed"]),
        ([put("x" * 101)], ["table.failed"]),
        ([put("Bob", age=[1])], ["table.failed"]),
        ([{"op": "set", "table": "people", "row": "Bob"}], ["table.failed"]),
        ([{**put("Bob"), "when": 1}], ["table.failed"]),
        ([{**put("Bob"), "op": "insert"}], ["table.failed"]),
        ([put("Bob"), put(str(1), text="x" * 70_000)], ["table.failed"]),
    ],
)
def test_nothing_is_written_where_nothing_changes(make: Any, edits: Any, event: list[str]) -> None:
    """Edits that change nothing, or of which one is none, leave the table, its revision and the audit log alone."""
    agent = make("echo", turn_memory=MEMORY)
    agent.run({"tableEdits": [put("Ann", age=40)]})
    before = (stored(agent), audit_lines(agent))
    result = agent.run({"tableEdits": edits})
    assert (result.status, events(result)) == ("ok", event)
    assert (stored(agent), audit_lines(agent)) == before
    assert len(result.warnings) == (event == ["table.failed"])


def test_an_output_that_is_no_object_has_no_edits(make: Any) -> None:
    """Nothing happens, and nothing is said about it."""
    agent = make("text", turn_memory=MEMORY)
    assert (events(agent.run({})), stored(agent)) == ([], None)


def test_a_conflict_is_tried_once_more(make: Any) -> None:
    """Of two turns that began with the same table both keep their edits."""
    agent = make("echo", turn_memory=MEMORY)
    with agent._opened() as memory, agent._opened() as other:
        first, second = TableMemory(memory, SOURCE), TableMemory(other, SOURCE)
        assert (first.recall(), second.recall()) == ("", "")
        told = [
            first.remember({"tableEdits": [put("Ann", age=1)]}),
            second.remember({"tableEdits": [put("Bob", age=2)]}),
        ]
    assert [event and event.message for event in told] == ["revision 1", "revision 2"]
    assert stored(agent) == {"v": 1, "revision": 2, "tables": {"people": {"Ann": {"age": 1}, "Bob": {"age": 2}}}}


def test_a_conflict_with_the_same_edit_changes_nothing(make: Any) -> None:
    """What another turn has done already is not done again."""
    agent = make("echo", turn_memory=MEMORY)
    with agent._opened() as memory:
        first, second = TableMemory(memory, SOURCE), TableMemory(memory, SOURCE)
        first.recall()
        second.recall()
        edits = {"tableEdits": [put("Ann", age=1)]}
        told = [first.remember(edits), second.remember(edits)]
    assert [event and event.event for event in told] == ["table.replaced", "table.unchanged"]
    assert stored(agent)["revision"] == 1


def test_a_second_conflict_is_the_last(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read again once, and not for ever."""
    agent = make("echo", turn_memory=MEMORY)
    tries: list[int] = []
    with agent._opened() as memory, agent._opened() as other:
        change = memory.documents.change

        def overtaken(*arguments: Any) -> None:
            tries.append(len(tries))
            faster = TableMemory(other, SOURCE)
            faster.recall()
            faster.remember({"tableEdits": [put("Bob", age=len(tries))]})
            change(*arguments)

        monkeypatch.setattr(memory.documents, "change", overtaken)
        slow = TableMemory(memory, SOURCE)
        slow.recall()
        event = slow.remember({"tableEdits": [put("Ann", age=1)]})
    assert (event and event.event, tries) == ("table.failed", [0, 1])
    assert stored(agent)["tables"] == {"people": {"Bob": {"age": 2}}}


def test_runs_at_the_same_time_lose_no_edit_they_reported(make: Any) -> None:
    """Whatever many runs at once report as replaced is in the table, and what failed is not."""
    agent = make("echo", turn_memory=MEMORY)
    start = threading.Barrier(6)
    results: dict[str, list[str]] = {}

    def run(row: str) -> None:
        start.wait(30)
        results[row] = events(agent.run({"tableEdits": [put(row, n=1)]}))

    threads = [threading.Thread(target=run, args=(f"row-{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    replaced = {row for row, names in results.items() if names == ["table.replaced"]}
    assert set(results) - replaced == {row for row, names in results.items() if names == ["table.failed"]}
    found = stored(agent)
    assert set(found["tables"]["people"]) == replaced
    assert found["revision"] == len(replaced)


@pytest.mark.parametrize("data", [b'{"v":2,"revision":1,"tables":{}}', b"[]", b'{"v":1,"revision":1}', b"\xff"])
def test_a_table_of_another_form_is_refused(make: Any, data: bytes) -> None:
    """Then no gene runs: what the agent should know cannot be told."""
    agent = make("echo", turn_memory=MEMORY)
    with agent._opened() as memory:
        memory.documents.change(None, "turn.table", TABLE, lambda _old: data)
    result = agent.run({"tableEdits": [put("Ann")]})
    assert (result.status, result.error.code, result.genes) == ("failed", "MEMORY_STORAGE_ERROR", ())
