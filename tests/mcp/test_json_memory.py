"""`get_memory` and `update_memory`: the JSON memory that the agent's genes see, where it is granted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.mcp.clients import Connection, audit

from rotifer_host import Project

SCENE = {"type": "object", "required": ["scene"], "properties": {"scene": {"type": "string"}}}


def test_read_change_read_again(greeter: Connection, shared: Project) -> None:
    """A change is saved when its call returns, whole and never merged, and the log has its line as the gene's."""
    revision = greeter.result("get_memory")["revision"]
    first = {"scene": "城门", "keyHolder": "user"}
    assert greeter.result("update_memory", expectedRevision=revision, memory=first) == {"revision": revision + 1}
    assert greeter.result("get_memory") == {"revision": revision + 1, "memory": first}
    second = {"keyHolder": "guard"}
    assert greeter.result("update_memory", expectedRevision=revision + 1, memory=second) == {"revision": revision + 2}
    last = audit(shared)[-1]
    assert (last["action"], last["actor"], last["agent"]) == ("json.update", "gene", "greeter")
    assert last["geneId"] == shared.gene("hello").current_id()
    assert shared.agent("greeter").json_memory().get() == {"revision": revision + 2, "memory": second}


def test_a_stale_revision(greeter: Connection) -> None:
    """An update that was made for another revision changes nothing, and names the present one."""
    revision = greeter.result("get_memory")["revision"]
    greeter.result("update_memory", expectedRevision=revision, memory={"mine": 1})
    code, message = greeter.refusal("update_memory", expectedRevision=revision, memory={"mine": 2})
    assert code == "MEMORY_CONFLICT"
    assert f"revision {revision + 1}" in message
    assert greeter.result("get_memory") == {"revision": revision + 1, "memory": {"mine": 1}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "expectedRevision is required"),
        ({"expectedRevision": 0}, "memory is required"),
        ({"expectedRevision": -1, "memory": {}}, "expectedRevision must be"),
        ({"expectedRevision": 0.0, "memory": {}}, "expectedRevision must be"),
        ({"expectedRevision": 2**53 - 1, "memory": {}}, "expectedRevision must be"),
        ({"expectedRevision": 0, "memory": None}, "memory must be an object"),
        ({"expectedRevision": 0, "memory": []}, "memory must be an object"),
        ({"expectedRevision": 0, "memory": {"a": "x" * 65536}}, "at most 65536 bytes"),
        ({"expectedRevision": 0, "memory": {}, "user": "other"}, 'undefined argument "user"'),
    ],
)
def test_malformed_arguments(greeter: Connection, arguments: dict[str, Any], said: str) -> None:
    """What an update does not take is refused, and no argument chooses another memory."""
    code, message = greeter.refusal("update_memory", **arguments)
    assert code == "MEMORY_INVALID_INPUT"
    assert said in message


def test_the_deployers_check(prober: Connection, shared: Project) -> None:
    """The schema in the agent's record binds the client as it binds genes; grants and revocations are seen at once."""
    assert "get_memory" not in prober.tools()
    shared.agent("prober").grant({"json": {"schema": SCENE}})
    try:
        assert "get_memory" in prober.tools()
        assert prober.result("get_memory") == {"revision": 0, "memory": None}
        code, message = prober.refusal("update_memory", expectedRevision=0, memory={"scene": 1})
        assert code == "MEMORY_INVALID_INPUT"
        assert "scene" in message
        assert prober.result("update_memory", expectedRevision=0, memory={"scene": "gate"}) == {"revision": 1}
        last = audit(shared)[-1]
        assert (last["action"], last["actor"], last["agent"]) == ("json.update", "deployer", "prober")
    finally:
        shared.agent("prober").grant(revoke=["json"])
    assert "get_memory" not in prober.tools()
