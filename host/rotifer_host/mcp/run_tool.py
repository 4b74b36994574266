"""`run_agent`: a run of the agent's genes on one input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from rotifer_host.errors import InvalidInputError, RotiferError
from rotifer_host.mcp.tool import Answer, Tool, object_of

if TYPE_CHECKING:
    from rotifer_host.api import Agent, Project
    from rotifer_host.gene import Gene
    from rotifer_host.limits import Limits
    from rotifer_host.sandbox import Deadline

__all__ = ["run_tool"]

_INVALID: Final = "INVALID_INPUT"
"""As the code of an input that a gene rejects."""
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_IN_ANOTHER_PLACE: Final = {"$ref", "$dynamicRef", "$id", "$anchor", "$dynamicAnchor"}
_IN_ANOTHER_DRAFT: Final = {
    *("dependencies", "additionalItems", "prefixItems", "dependentRequired", "dependentSchemas"),
    *("minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties"),
}
_OTHERWISE: Final = _IN_ANOTHER_PLACE | _IN_ANOTHER_DRAFT
"""What means something else inside another schema, or in draft 7, which a phenotype's is in unless it says so."""

_RETURNS: Final = object_of(
    {
        "status": {
            "type": "string",
            "enum": ["ok", "rejected", "failed", "limit"],
            "description": "rejected: a gene does not take this input. limit: fuel, time or memory ran out.",
        },
        "output": {"description": "The output, any JSON value; null unless status is ok."},
        "error": {
            **object_of({"code": {"type": "string"}, "message": {"type": "string"}}),
            "type": ["object", "null"],
            "description": "Why there is no output.",
        },
        "warnings": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What is not as it should be, such as a turn that the agent's turn memory did not keep.",
        },
    }
)


def run_tool(project: Project, agent: Agent, limits: Limits, call_path: str | None) -> Tool:
    """Return the tool that runs `agent` within `limits`; its cancelled deadline ends a run at once."""
    schema: dict[str, Any] = {"description": "The input, any JSON value."}
    told = [f"Run the agent {agent.name}: {agent.composition_text}."]
    genes = [project.gene(name) for name in dict.fromkeys(agent.genome)]
    told += [f"{gene.name}: {said}" for gene in genes if (said := _description(gene))]
    first = _first(agent)
    if first is not None:
        expected = _schema_of(project.gene(first))
        if expected is not None:
            schema = {"description": f"The input of the gene {first}.", **expected}
    told.append(
        f"A run takes at most {limits.deadline_ms} ms; it may change the agent's memory, which the next run sees."
    )

    def run(arguments: Mapping[str, Any], deadline: Deadline) -> Answer:
        document = arguments["input"]
        problems = _problems(schema, document)
        if problems:
            raise InvalidInputError("; ".join(problems), code=_INVALID)
        result = agent.run(document, limits=limits, call_path=call_path, deadline=deadline)
        error = None if result.error is None else result.error.to_json()
        document = {
            "status": result.status,
            "output": result.output,
            "error": error,
            "warnings": list(result.warnings),
        }
        return Answer(document, failed=result.status != "ok")

    return Tool(
        "run_agent",
        f"Run the agent {agent.name}",
        "\n".join(told),
        object_of({"input": schema}),
        _RETURNS,
        "changes",
        run,
        invalid=_INVALID,
    )


def _first(agent: Agent) -> str | None:
    """Return the gene that gets the input, None where several do or what the input holds decides."""
    branch: Any = agent.composition_tree
    while isinstance(branch, dict):
        match branch:
            case {"gene": inner} | {"steps": [inner, *_]} | {"primary": inner}:
                branch = inner
            case {"type": "Single" | "Seq"}:
                branch = agent.genome[0]
            case _:
                return None
    return str(branch)


def _description(gene: Gene) -> str | None:
    try:
        said = gene.phenotype.fields.get("description")
    except RotiferError:  # the run says what is wrong with it
        return None
    return said if isinstance(said, str) else None


def _schema_of(gene: Gene) -> dict[str, Any] | None:
    """Return a gene's input schema where it means the same among a tool's arguments; a gene that takes all has none."""
    from rotifer_host.gene.schema import schema_problems  # noqa: PLC0415 - slow to load

    try:
        schema = gene.phenotype.input_schema
    except RotiferError:
        return None
    if not isinstance(schema, dict) or schema.get("$schema", _DIALECT) != _DIALECT or _means_otherwise(schema):
        return None
    if schema_problems({**schema, "$schema": _DIALECT}, "inputSchema"):
        return None
    return {keyword: value for keyword, value in schema.items() if keyword != "$schema"}


def _means_otherwise(value: object) -> bool:
    """Look everywhere, in examples too: what is passed over for nothing is a hint less."""
    if isinstance(value, dict):
        return (
            not _OTHERWISE.isdisjoint(value)
            or isinstance(value.get("items"), list)
            or any(map(_means_otherwise, value.values()))
        )
    return isinstance(value, list) and any(map(_means_otherwise, value))


def _problems(schema: Mapping[str, Any], document: object) -> list[str]:
    from rotifer_host.gene.schema import SchemaValidator  # noqa: PLC0415 - slow to load

    return SchemaValidator({**schema, "$schema": _DIALECT}).problems(document, "input")
