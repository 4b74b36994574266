"""`run_agent`: the same run as `rotifer agent run`, with its status, output and error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.mcp.clients import Connection, audit, connected, put_gene, text_of

from rotifer_host import Project


def test_a_run_uses_the_agents_memory(greeter: Connection, shared: Project) -> None:
    """A run is one like any other: what it remembers, runs from elsewhere know, and its changes are on record."""
    shared.agent("greeter").run({"name": "Grace"})
    assert greeter.result("run_agent", input={"name": "Ada"}) == {
        "status": "ok",
        "output": {"greeting": "Hello, Ada!"},
        "error": None,
        "warnings": [],
    }
    assert shared.agent("greeter").run({"name": "Ada"}).output == {"greeting": "Welcome back, Ada!"}
    assert greeter.result("readMemory", key="greeting/last-name")["entry"]["value"] == "Ada"
    last = audit(shared)[-1]
    assert (last["action"], last["agent"], last["key"]) == ("memory.update", "greeter", "greeting/last-name")


def test_a_turn_that_memory_did_not_keep(shared: Project) -> None:
    """The output is the run's, and a warning says what its turn memory could not do."""
    sources = [{"id": "people", "agentRef": "people", "variable": "memoryTable"}]
    shared.create_agent("host", ["probe"], turn_memory={"memoryRuntime": "axon_go", "memorySources": sources})
    with connected(shared, "--agent", "host") as host:
        result = host.result("run_agent", input={"tableEdits": 7})
        code, message = host.refusal("run_agent", input=[])
    assert (result["status"], result["output"]) == ("ok", {"tableEdits": 7})
    (warning,) = result["warnings"]
    assert warning.startswith("table.failed: people: tableEdits are no edits")
    assert code == "USAGE"
    assert "must be a JSON object" in message


@pytest.mark.parametrize(
    "value", [None, 0, -1.5, 10**30, [], {}, [[{"a": [None]}]], {"status": "failed", "é\u0001": "\U0001f600"}]
)
def test_any_json_value_goes_in_and_comes_out(prober: Connection, value: Any) -> None:
    """Input and output are the same JSON value, whatever its type."""
    output = prober.result("run_agent", input=value)["output"]
    assert (type(output), output) == (type(value), value)


@pytest.mark.parametrize(
    ("document", "status", "code"),
    [
        ({"__rotifer_error": {"message": "not this one"}}, "rejected", "INVALID_INPUT"),
        ("a string", "failed", "TRAP"),
        (True, "limit", "FUEL_EXHAUSTED"),
    ],
)
def test_a_run_without_output(prober: Connection, document: Any, status: str, code: str) -> None:
    """A run that gives no output is a failed call, whose document says how it ended and why."""
    result = prober.call("run_agent", {"input": document})
    assert result.is_error
    assert result.structured_content["status"] == status
    assert result.structured_content["output"] is None
    assert result.structured_content["error"]["code"] == code
    assert code in text_of(result)


def test_input_that_the_first_gene_does_not_take(greeter: Connection) -> None:
    """An input against the schema that clients are told is refused before anything runs, saying where it is wrong."""
    assert greeter.refusal("run_agent", input={"name": ""}) == (
        "INVALID_INPUT",
        "input['name']: '' should be non-empty",
    )
    code, message = greeter.refusal("run_agent", input={"nam": 1})
    assert (code, "'name' is a required property" in message) == ("INVALID_INPUT", True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "input is required: run_agent takes input"),
        ({"input": 1, "agent": "greeter"}, 'undefined argument "agent": run_agent takes input'),
    ],
)
def test_malformed_arguments(prober: Connection, arguments: dict[str, Any], message: str) -> None:
    """Arguments that a run does not take are refused, and no argument chooses another agent."""
    assert prober.refusal("run_agent", **arguments) == ("INVALID_INPUT", message)


def test_a_gene_that_cannot_run(prober: Connection, shared: Project) -> None:
    """A stale gene is an error with the command to type, and the next call takes the gene as it is then."""
    source = shared.genes_path / "probe" / "gene.wat"
    source.write_text(source.read_text(encoding="utf-8") + " ", encoding="utf-8")
    result = prober.call("run_agent", {"input": 1})
    assert result.is_error
    assert "GENE_STALE" in text_of(result)
    assert "rotifer compile" in text_of(result)
    shared.compile("probe")
    assert prober.result("run_agent", input=1)["output"] == 1


@pytest.fixture(scope="module")
def deep(shared: Project) -> Iterator[Connection]:
    """Connect to an agent whose output is nested 250 deep, with other limits than those that everybody has."""
    text = "[" * 250 + "]" * 250
    put_gene(
        shared,
        "deep",
        f"""(module (memory (export "memory") 1) (data (i32.const 1024) "{text}")
      (func (export "express") (param $ptr i32) (param i32) (result i32)
        (if (i32.eq (i32.load8_u (local.get $ptr)) (i32.const 116)) (then (loop $for_ever (br $for_ever))))
        i32.const 1024))""",
    )
    shared.compile("deep")
    shared.create_agent("deep", ["deep"])
    with connected(shared, "--agent", "deep", "--fuel", "9000000000000000000", "--deadline-ms", "1000") as connection:
        yield connection


def test_limits_of_the_server(deep: Connection) -> None:
    """Runs have the limits that the server was started with."""
    result = deep.call("run_agent", {"input": True})
    assert result.structured_content["error"] == {"code": "DEADLINE_EXCEEDED", "message": "not done after 1000 ms"}


def test_output_that_is_too_deep_for_the_protocol(deep: Connection) -> None:
    """An output that a client could not read is an error that says the run is done; the server goes on."""
    for _ in range(2):
        code, message = deep.refusal("run_agent", input={})
        assert code == "RESULT_TOO_DEEP"
        assert message.startswith("the call is done, but ")
