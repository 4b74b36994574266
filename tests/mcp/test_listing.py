"""What a client is told of the tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.mcp.clients import PROBE, Connection, make_project, put_gene

from rotifer_host import Limits, Project
from rotifer_host.mcp.run_tool import run_tool

PARAMETERS = {
    "run_agent": {"input"},
    "readMemory": {"key", "category"},
    "writeMemory": {"key", "value", "encoding", "category", "accessPolicy", "retentionPolicy"},
    "queryMemory": {"category", "keyPrefix", "since", "until", "limit"},
    "deleteMemory": {"key"},
    "get_memory": set(),
    "update_memory": {"expectedRevision", "memory"},
    "memory_write": {"key", "content", "target", "tags"},
    "memory_update": {"key", "content", "tags"},
    "memory_read": {"key"},
    "memory_search": {"query", "tags", "limit"},
}


def test_the_tools(greeter: Connection) -> None:
    """There is a tool for each thing that the agent can do, and no argument of any says whose memory it is."""
    tools = greeter.tools()
    assert {name: set(tool.input_schema["properties"]) for name, tool in tools.items()} == PARAMETERS
    assert all(tool.title and tool.description for tool in tools.values())


def keywords(schema: Any) -> Iterator[str]:
    """Yield every word a schema is written with, names of properties too."""
    if isinstance(schema, dict):
        yield from schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from keywords(inner)


def test_schemas_are_precise(greeter: Connection) -> None:
    """Each schema is an object's, of the protocol's own draft, refuses what is undefined, and refers to nothing."""
    for tool in greeter.tools().values():
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert schema["additionalProperties"] is False
            assert set(schema["required"]) <= set(schema["properties"])
            assert not {"$ref", "$id"} & set(keywords(schema))


def test_hints(greeter: Connection) -> None:
    """A client that asks people first is told which tools change something."""
    hints = {name: tool.annotations for name, tool in greeter.tools().items()}
    assert all(hint is not None for hint in hints.values())
    reads = {name for name, hint in hints.items() if hint is not None and hint.read_only_hint}
    assert reads == {"readMemory", "queryMemory", "get_memory", "memory_read", "memory_search"}
    changes = {name for name, hint in hints.items() if hint is not None and hint.destructive_hint}
    assert changes == set(hints) - reads - {"memory_write"}


def test_without_a_gene_and_grants(prober: Connection) -> None:
    """A server that acts as no gene offers nothing of the agent's own memory, and of other memories what is granted."""
    assert set(prober.tools()) == {"run_agent"}


STRICT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Make a project of the test's own."""
    return make_project(tmp_path / "project")


OF_STRICT = "The input of the gene strict."
ANYTHING = {"description": "The input, any JSON value."}


def input_of(project: Project, agent: str) -> Any:
    """Return the schema of a run's input."""
    return run_tool(project, project.agent(agent), Limits(), None).parameters["properties"]["input"]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (STRICT, STRICT),
        ({**STRICT, "$schema": "https://json-schema.org/draft/2020-12/schema"}, STRICT),
        ({**STRICT, "description": "A number."}, {**STRICT, "description": "A number."}),
        ({"type": "no such type"}, None),
        ({"$ref": "#/definitions/n", "definitions": {"n": STRICT}}, None),
        ({"properties": {"n": {"$ref": "#"}}}, None),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, None),
        ({"items": [STRICT]}, None),
        (True, None),
    ],
)
def test_input_of_a_run(project: Project, schema: Any, told: Any) -> None:
    """The tool takes what the first gene's schema says, where that means the same in it, and everything otherwise."""
    put_gene(project, "strict", PROBE, inputSchema=schema)
    project.create_agent("strict", ["strict", "probe"])
    assert input_of(project, "strict") == (ANYTHING if told is None else {"description": OF_STRICT, **told})


@pytest.mark.parametrize(
    ("composition", "described"),
    [
        ({"type": "Try", "primary": "strict", "fallback": "probe"}, OF_STRICT),
        ({"type": "Seq", "steps": [{"type": "Try", "primary": "strict", "fallback": "probe"}, "probe"]}, OF_STRICT),
        ({"type": "Par", "branches": ["strict", "probe"], "merge": "first"}, ANYTHING["description"]),
        ("Cond", ANYTHING["description"]),
    ],
)
def test_input_of_a_composition(project: Project, composition: Any, described: str) -> None:
    """Where several genes get the input, or what it holds decides which, the tool takes everything."""
    put_gene(project, "strict", PROBE, inputSchema=STRICT)
    genes = ["strict", "probe"] if isinstance(composition, str) else []
    project.create_agent("strict", genes, composition=composition)
    assert input_of(project, "strict")["description"] == described


def test_description(greeter: Connection) -> None:
    """A model learns of a run what the genes say of themselves, and how long it may take."""
    description = greeter.tools()["run_agent"].description
    assert description is not None
    assert "Run the agent greeter: Single." in description
    assert "hello: Greets a person" in description
    assert "at most 60000 ms" in description
