"""Checking a phenotype whole, as `compile`, `wrap` and `test` do: all that is wrong with it, at once.

A run reads less (`read_phenotype`): the fields it does not use cannot keep it from running.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from rotifer_host import contract
from rotifer_host.gene.phenotype import (
    SCHEMAS,
    Phenotype,
    read_fields,
    refuse,
    required_problems,
    shown,
    to_phenotype,
)

__all__ = ["check_fields", "check_phenotype"]

_TEXT: Final = ({"type": "string"}, "text")
_TEXTS: Final = ({"type": "array", "items": {"type": "string"}}, "a list of texts")
_OBJECT: Final = ({"type": "object"}, "an object")
_OBJECTS: Final = ({"type": "array", "items": {"type": "object"}}, "a list of objects")
_COUNT: Final = ({"type": "integer", "minimum": 1}, "a whole number from 1")
_ANY: Final = (True, "anything")


def _one_of(*words: str) -> tuple[dict[str, Any], str]:
    return {"enum": list(words)}, f"one of {', '.join(words)}"


_OPTIONAL: Final[Mapping[str, tuple[dict[str, Any] | bool, str]]] = {
    "author": (
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}}]},
        "text, or a list of bytes",
    ),
    "createdAt": _ANY,  # checked with what a run needs
    "degradationSpec": _ANY,
    "dependencies": ({"type": "array"}, "a list"),
    "description": _TEXT,
    "executionModel": _one_of("CHAT", "BATCH", "EVENT_DRIVEN"),
    "externalDependencies": _OBJECTS,
    "fidelity": _one_of(*contract.FIDELITIES),
    "guardConfig": _OBJECT,
    "irHash": (
        {"anyOf": [{"type": "string", "pattern": "^[0-9a-f]{64}$"}, {"type": "array", "minItems": 32, "maxItems": 32}]},
        "64 hex digits, or a list of 32 bytes",
    ),
    "llmRequirements": _ANY,
    "network": _OBJECT,
    "network.allowedDomains": _TEXTS,
    "network.maxRequestsPerMin": _COUNT,
    "network.maxResponseBytes": _COUNT,
    "network.maxTimeoutMs": _COUNT,
    "pricingHint": _ANY,
    "regulatoryTags": _TEXTS,
    "semanticRequirements": _OBJECT,
    "simulationSpec": _ANY,
    "source": _ANY,
    "sourceFramework": _TEXT,
    "sourceLanguage": _TEXT,
    "streamingCapability": _ANY,
    "synthesisMethod": _TEXT,
    "systemPrompt": _TEXT,
    "tags": _TEXTS,
    "transparency": _one_of("OPEN", "OPAQUE", "Open", "Opaque"),
}
"""What each field may be that a run does not need, and how to say it; null stands for a field left out."""

_KNOWN: Final = ("domain", "version", *SCHEMAS, *(name for name in _OPTIONAL if "." not in name))


def check_phenotype(folder: Path) -> tuple[Phenotype, list[str]]:
    """Read and check the phenotype of the gene in `folder`; return it, and warnings of fields nobody knows.

    Raises `GeneError` with code `PHENOTYPE` that names all that is wrong: fields that
    are missing or of a wrong type, and what is not JSON Schema, with its place.
    """
    return check_fields(folder, read_fields(folder))


def check_fields(folder: Path, fields: Mapping[str, object]) -> tuple[Phenotype, list[str]]:
    """Do the same with the members of a phenotype that lies in `folder`, or is meant to."""
    from rotifer_host.gene.schema import schema_problems  # noqa: PLC0415 - 40 ms that no run needs

    problems = [*required_problems(fields), *_optional_problems(fields)]
    for name in SCHEMAS:
        if isinstance(fields.get(name), dict) and not any(name in problem for problem in problems):
            problems += schema_problems(fields[name], name)
    refuse(folder, problems)
    return to_phenotype(fields), list(_unknown(fields))


def _optional_problems(fields: Mapping[str, object]) -> Iterator[str]:
    from rotifer_host.gene.schema import SchemaValidator  # noqa: PLC0415

    for name, (schema, rule) in _OPTIONAL.items():
        outer, _, inner = name.partition(".")
        holder: object = fields
        if inner:
            holder = fields.get(outer)
        value = holder.get(inner or outer) if isinstance(holder, dict) else None
        if value is not None and not SchemaValidator(schema).allows(value):
            yield f"{name} must be {rule}, not {shown(value)}"


def _unknown(fields: Mapping[str, object]) -> Iterator[str]:
    for name in fields:
        if name not in _KNOWN:
            meant = get_close_matches(name, _KNOWN, n=1)
            guess = f"; did you mean {meant[0]}?" if meant else ""
            yield f"phenotype.json has a field {shown(name)} that this host does not know{guess}"
