"""What a gene says of itself: `phenotype.json`.

Read liberally: fields this host has no use for are kept and ignored. Required are
`domain`, `version`, `inputSchema` and `outputSchema`.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, cast

from rotifer_host import contract
from rotifer_host.errors import GeneError
from rotifer_host.files import read_json

__all__ = [
    "DOMAIN_RULE",
    "PHENOTYPE_FILE",
    "SCHEMAS",
    "Phenotype",
    "Schema",
    "read_fields",
    "read_phenotype",
    "refuse",
    "required_problems",
    "shown",
    "to_phenotype",
]

PHENOTYPE_FILE: Final = "phenotype.json"

Schema = dict[str, object] | bool

_LARGEST_INTEGER: Final = 2**53 - 1
"""Beyond it two numbers have the same RFC 8785 text, and two genes could have the same id."""
_MAX_DEPTH: Final = 100
SCHEMAS: Final = ("inputSchema", "outputSchema")
DOMAIN_RULE: Final = "lower-case words of letters and digits joined by dots, such as format.code"
_RULES: Final = (
    ("domain", contract.DOMAIN_PATTERN, DOMAIN_RULE),
    ("version", contract.VERSION_PATTERN, "a version of three numbers, such as 1.0.0 or 1.0.0-beta.1"),
)


@dataclass(frozen=True, slots=True)
class Phenotype:
    """A valid phenotype; its schemas are JSON that RFC 8785 can canonicalise."""

    domain: str
    version: str
    input_schema: Schema
    output_schema: Schema
    created_ms: int | None
    """`createdAt`, written as milliseconds since 1970 or as ISO 8601 text."""
    fields: Mapping[str, object]
    """The document as it was read."""


def read_phenotype(folder: Path) -> Phenotype:
    """Read the phenotype of the gene in `folder`, as far as running it needs.

    Raises `GeneError` with code `PHENOTYPE` that names every field that is wrong, and
    what it may be.
    """
    fields = read_fields(folder)
    refuse(folder, required_problems(fields))
    return to_phenotype(fields)


def read_fields(folder: Path) -> dict[str, object]:
    """Return the members of a gene's `phenotype.json`, unchecked. Raises `GeneError` with code `PHENOTYPE`."""
    where = folder / PHENOTYPE_FILE
    fields = read_json(where, _error, if_missing=f"type `rotifer wrap {folder.name}`, which makes one")
    if not isinstance(fields, dict):
        message = f"{where} must be a JSON object"
        raise _error(message)
    return fields


def required_problems(fields: Mapping[str, object]) -> list[str]:
    """Return all that is wrong with the fields this host runs by."""
    problems = [f"{name} is missing" for name in ("domain", "version", *SCHEMAS) if name not in fields]
    for name, pattern, rule in _RULES:
        value = fields.get(name)
        if name in fields and not (isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII)):
            problems.append(f"{name} must be {rule}, not {shown(value)}")
    for name in SCHEMAS:
        value = fields.get(name)
        if name in fields and not isinstance(value, dict | bool):
            problems.append(f"{name} must be a JSON Schema, an object or true or false, not {shown(value)}")
        else:
            problems.extend(_not_canonical(value, name))
    created = fields.get("createdAt")
    if created is not None and _milliseconds(created) is None:
        problems.append(f"createdAt must be milliseconds since 1970 or ISO 8601 text, not {shown(created)}")
    return problems


def to_phenotype(fields: Mapping[str, object]) -> Phenotype:
    """Return the phenotype of fields in which `required_problems` found none."""
    return Phenotype(
        domain=cast("str", fields["domain"]),
        version=cast("str", fields["version"]),
        input_schema=cast("Schema", fields["inputSchema"]),
        output_schema=cast("Schema", fields["outputSchema"]),
        created_ms=_milliseconds(fields.get("createdAt")),
        fields=fields,
    )


def refuse(folder: Path, problems: list[str]) -> None:
    """Raise `GeneError` with code `PHENOTYPE` if there are problems, naming all of them."""
    if problems:
        message = f"{folder / PHENOTYPE_FILE}: {'; '.join(problems)}"
        raise _error(message)


def shown(value: object) -> str:
    """Return a JSON value in a line's worth of text."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - a line's worth


_error = partial(GeneError, code="PHENOTYPE")


def _milliseconds(value: object) -> int | None:
    if isinstance(value, str):
        try:
            moment = dt.datetime.fromisoformat(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_INTEGER:
        return value
    return None


def _not_canonical(value: object, place: str, depth: int = 0) -> Iterator[str]:  # noqa: C901 - one branch per type
    """Name what RFC 8785 cannot write: numbers beyond doubles, lone surrogates, and nesting without end."""
    if depth > _MAX_DEPTH:
        yield f"{place} is nested deeper than {_MAX_DEPTH} levels"
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _not_canonical(name, f"a member name in {place}", depth + 1)
            yield from _not_canonical(member, f"{place}[{name!r}]", depth + 1)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _not_canonical(member, f"{place}[{index}]", depth + 1)
    elif isinstance(value, str):
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            yield f"{place} holds a surrogate without its other half"
    elif isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            yield f"{place} is a number too large for a double"
    elif isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        yield f"{place} must be a whole number within ±{_LARGEST_INTEGER}"
