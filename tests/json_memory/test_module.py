"""The host module `rotifer.ext.json`, on every call path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.modules.conftest import audited, only_call, relay

from rotifer_host import Agent
from rotifer_host.sandbox import available_call_paths
from rotifer_host.testing import temporary_agent

Call = Callable[..., tuple[int, Any]]

EMPTY = {"revision": 0, "memory": None}
DEEP: dict[str, Any] = {}
for _ in range(31):
    DEEP = {"a": DEEP}


@pytest.fixture(params=available_call_paths(), scope="module")
def agents(request: pytest.FixtureRequest) -> Iterator[dict[str, Agent]]:
    """Give an agent with a gene for each function, and one whose gene has no room for a response."""
    genes = {
        "get": relay("json.getMemory"),
        "update": relay("json.updateMemory"),
        "small": relay("json.updateMemory", out_cap=3),
    }
    with pytest.MonkeyPatch.context() as patch, temporary_agent(genes, grants=["json"]) as agent:
        patch.setenv("ROTIFER_CALL_PATH", request.param)
        yield {name: agent._project.create_agent(name, [name], grants=["json"]) for name in genes}


@pytest.fixture
def call(agents: dict[str, Agent]) -> Iterator[Call]:
    """Return a function that has a gene of one agent call: the result, and the response or the refusal."""
    memory = agents["update"]
    project = memory._project
    agent = project.create_agent("one", ["get"], grants=["json"])

    def make(gene: str, request: Any, **granted: Any) -> tuple[int, Any]:
        run = agent.set_genes([gene]).grant({"json": granted}).run(request)
        results = list(only_call(run)[1])
        return (results[0], run.error and run.error.message) if results else (0, run.output)

    yield make
    (project.root / ".rotifer" / "agents" / f"{agent.id}.json").unlink()
    project.audit_path.unlink(missing_ok=True)


def test_an_empty_memory_has_revision_0(call: Call) -> None:
    """Before the first update."""
    assert call("get", {}) == (0, EMPTY)


def test_an_update_replaces_the_whole(call: Call) -> None:
    """What the new object leaves out is gone; each update has the next revision."""
    first = {"scene": "城门", "keyHolder": "用户"}
    assert call("update", {"expectedRevision": 0, "memory": first}) == (0, {"revision": 1})
    assert call("get", {}) == (0, {"revision": 1, "memory": first})
    assert call("update", {"expectedRevision": 1, "memory": {"keyHolder": "守卫"}}) == (0, {"revision": 2})
    assert call("get", {}) == (0, {"revision": 2, "memory": {"keyHolder": "守卫"}})


@pytest.mark.parametrize("expected", [1, 2**53 - 2])
def test_another_revision_is_a_conflict(call: Call, agents: dict[str, Agent], expected: int) -> None:
    """The message names the present revision, and nothing is written, not even an audit line."""
    message = f"the memory has revision 0, not {expected}: read it, and decide again what it should be"
    assert call("update", {"expectedRevision": expected, "memory": {}}) == (-14, message)
    assert call("get", {}) == (0, EMPTY)
    assert not agents["get"]._project.audit_path.exists()


BAD = [
    ({}, "expectedRevision is required"),
    ({"expectedRevision": 0}, "memory is required"),
    ({"expectedRevision": 0, "memory": {}, "merge": True}, 'undefined field "merge"'),
    ([], "the request must be an object, not an array"),
    (
        {"expectedRevision": -1, "memory": {}},
        "expectedRevision must be a whole number from 0 to 9007199254740990, not -1",
    ),
    ({"expectedRevision": 2**53 - 1, "memory": {}}, "expectedRevision must be a whole number"),
    ({"expectedRevision": 1.0, "memory": {}}, "expectedRevision must be a whole number"),
    ({"expectedRevision": True, "memory": {}}, "expectedRevision must be a whole number"),
    ({"expectedRevision": "0", "memory": {}}, "expectedRevision must be a whole number"),
    ({"expectedRevision": None, "memory": {}}, "expectedRevision must be a whole number"),
    ({"expectedRevision": 0, "memory": None}, "memory must be an object, not null"),
    ({"expectedRevision": 0, "memory": []}, "memory must be an object, not an array"),
    ({"expectedRevision": 0, "memory": "{}"}, "memory must be an object, not a string"),
    ({"expectedRevision": 0, "memory": {"a": DEEP}}, "memory must be nested at most 32 deep"),
    ({"expectedRevision": 0, "memory": {"a": "x" * 65_529}}, "at most 65536 bytes as compact JSON, not 65537"),
    ({"expectedRevision": 0, "memory": {"a": "é" * 32_765}}, "at most 65536 bytes as compact JSON, not 65538"),
]


@pytest.mark.parametrize(("request_", "message"), BAD)
def test_what_is_not_allowed_is_refused(call: Call, request_: Any, message: str) -> None:
    """The message names the field and the rule."""
    result, said = call("update", request_)
    assert result == -10
    assert message in said
    assert call("get", {}) == (0, EMPTY)


def test_get_takes_no_fields(call: Call) -> None:
    """Not even one that would be somebody else's memory."""
    result, said = call("get", {"agent": "other"})
    assert (result, 'undefined field "agent": getMemory takes none' in said) == (-10, True)


@pytest.mark.parametrize(
    "memory", [{}, DEEP, {"a": "x" * 65_528}, {"a": "é" * 32_764}, {"a": [1, 1.5, None, True, "\n"]}]
)
def test_the_largest_and_deepest_are_kept(call: Call, memory: Any) -> None:
    """At each limit a memory comes back as it was."""
    assert call("update", {"expectedRevision": 0, "memory": memory}) == (0, {"revision": 1})
    assert call("get", {}) == (0, {"revision": 1, "memory": memory})


def test_a_reply_without_room_changes_nothing(call: Call, agents: dict[str, Agent]) -> None:
    """A guest that cannot be told the new revision has not made it."""
    assert call("small", {"expectedRevision": 0, "memory": {}})[0] == -1
    assert call("get", {}) == (0, EMPTY)
    assert not agents["get"]._project.audit_path.exists()


def test_the_deployer_s_schema_comes_before_the_memory(call: Call) -> None:
    """What it does not allow is refused as input, whatever the revision."""
    schema = {"type": "object", "required": ["scene"], "properties": {"scene": {"type": "string"}}}
    for memory, said in (({}, "'scene' is a required property"), ({"scene": 3}, "memory['scene']: 3 is not of type")):
        result, message = call("update", {"expectedRevision": 5, "memory": memory}, schema=schema)
        assert result == -10
        assert said in message
    assert call("update", {"expectedRevision": 0, "memory": {"scene": "门"}}, schema=schema) == (0, {"revision": 1})
    assert call("update", {"expectedRevision": 1, "memory": {}}, schema=False)[0] == -10


def test_every_update_is_on_record(call: Call, agents: dict[str, Agent]) -> None:
    """One line a change, without what was written."""
    call("update", {"expectedRevision": 0, "memory": {"secret": "x"}})
    call("update", {"expectedRevision": 0, "memory": {"secret": "y"}})
    (line,) = audited(agents["get"])
    assert (line["action"], line["key"], line["actor"], line["seq"]) == ("json.update", "memory", "gene", 1)
    assert "secret" not in json.dumps(line)


def test_a_damaged_memory_is_a_storage_error(agents: dict[str, Agent]) -> None:
    """What another format kept is neither shown nor replaced."""
    agent = agents["update"]
    with agent._opened() as memory:
        from rotifer_host.json_memory.agent_store import _NAME  # noqa: PLC0415

        memory.documents.change(None, "json.update", _NAME, lambda _old: b'{"v":2,"revision":1,"memory":{}}')
    run = agent.run({"expectedRevision": 1, "memory": {}})
    assert only_call(run)[1] == {-13: 1}
    assert run.error is not None
    assert "kept in another format than 1" in run.error.message
    with agent._opened() as memory:
        memory.documents.change(None, "json.update", _NAME, lambda _old: None)
