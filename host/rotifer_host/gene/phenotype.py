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
from urllib.parse import urlsplit

from rotifer_host import contract
from rotifer_host.errors import GeneError
from rotifer_host.files import read_json

__all__ = ["PHENOTYPE_FILE", "Phenotype", "Schema", "read_phenotype"]

PHENOTYPE_FILE: Final = "phenotype.json"

Schema = dict[str, object] | bool

_LARGEST_INTEGER: Final = 2**53 - 1
"""Beyond it two numbers have the same RFC 8785 text, and two genes could have the same id."""
_MAX_DEPTH: Final = 100
_SCHEMAS: Final = ("inputSchema", "outputSchema")
_RULES: Final = (
    ("domain", contract.DOMAIN_PATTERN, "lower-case words of letters and digits joined by dots, such as format.code"),
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

    def check_schemas(self, where: Path) -> None:
        """Refuse schemas that are not JSON Schema; draft 7 is meant where `$schema` names none.

        Slower than the rest (it loads a validator), so only compiling asks for it.
        Raises `GeneError` with code `PHENOTYPE`.
        """
        from jsonschema import Draft7Validator, SchemaError  # noqa: PLC0415 - 40 ms that no run needs
        from jsonschema.validators import validator_for  # noqa: PLC0415

        errors = []
        for name, schema in zip(_SCHEMAS, (self.input_schema, self.output_schema), strict=True):
            draft = schema.get("$schema", "") if isinstance(schema, dict) else ""
            if not _is_uri(draft):
                errors.append(f"{name}['$schema'] must be a URI, not {_shown(draft)}")
                continue
            try:
                validator_for(schema, default=Draft7Validator).check_schema(schema)
            except SchemaError as error:
                place = "".join(f"[{part!r}]" for part in error.absolute_path)
                errors.append(f"{name}{place} is not JSON Schema: {error.message}")
        _refuse(where, errors)


def read_phenotype(folder: Path) -> Phenotype:
    """Read the phenotype of the gene in `folder`.

    Raises `GeneError` with code `PHENOTYPE` that names every field that is wrong, and
    what it may be.
    """
    where = folder / PHENOTYPE_FILE
    fields = read_json(where, _error)
    if not isinstance(fields, dict):
        message = f"{where} must be a JSON object"
        raise _error(message)
    errors = [f"{name} is missing" for name in ("domain", "version", *_SCHEMAS) if name not in fields]
    for name, pattern, rule in _RULES:
        value = fields.get(name)
        if name in fields and not (isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII)):
            errors.append(f"{name} must be {rule}, not {_shown(value)}")
    for name in _SCHEMAS:
        value = fields.get(name)
        if name in fields and not isinstance(value, dict | bool):
            errors.append(f"{name} must be a JSON Schema, an object or true or false, not {_shown(value)}")
        else:
            errors.extend(_not_canonical(value, name))
    created = fields.get("createdAt")
    created_ms = _milliseconds(created)
    if created is not None and created_ms is None:
        errors.append(f"createdAt must be milliseconds since 1970 or ISO 8601 text, not {_shown(created)}")
    _refuse(where, errors)
    return Phenotype(
        domain=cast("str", fields["domain"]),
        version=cast("str", fields["version"]),
        input_schema=cast("Schema", fields["inputSchema"]),
        output_schema=cast("Schema", fields["outputSchema"]),
        created_ms=created_ms,
        fields=fields,
    )


_error = partial(GeneError, code="PHENOTYPE")


def _refuse(where: Path, errors: list[str]) -> None:
    if errors:
        message = f"{where}: {'; '.join(errors)}"
        raise _error(message)


def _is_uri(value: object) -> bool:
    try:
        return isinstance(value, str) and urlsplit(value) is not None
    except ValueError:
        return False


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - a line's worth


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
