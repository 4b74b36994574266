"""Inputs to test a gene on: given, of its test suite, or made from its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rotifer_host.errors import GeneError
from rotifer_host.files import read_json

__all__ = ["inputs_beside", "sample", "with_text"]

_SUITE: Final = "testsuite.json"
_PHENOTYPE: Final = "phenotype.json"
_MAX_DEPTH: Final = 20
_MAX_ITEMS: Final = 100


def inputs_beside(folder: Path) -> list[Any]:
    """Return the inputs of the test suite in a gene's folder, else two made from its phenotype's schema, else `{}`.

    Raises `GeneError` for a file that is not what it should be.
    """
    if (folder / _SUITE).is_file():
        suite = read_json(folder / _SUITE, GeneError)
        cases = suite.get("testCases") if isinstance(suite, dict) else None
        if not isinstance(cases, list) or not all(isinstance(case, dict) and "input" in case for case in cases):
            message = f"{folder / _SUITE} must hold testCases, a list of objects with an input"
            raise GeneError(message)
        if cases:
            return [case["input"] for case in cases]
    if (folder / _PHENOTYPE).is_file():
        phenotype = read_json(folder / _PHENOTYPE, GeneError)
        schema = phenotype.get("inputSchema") if isinstance(phenotype, dict) else None
        if isinstance(schema, dict):
            small, full = sample(schema, full=False), sample(schema, full=True)
            return [small] if small == full else [small, full]
    return [{}]


def sample(schema: object, *, full: bool, depth: int = 0) -> Any:  # noqa: ANN401, C901, PLR0911 - one for each type
    """Return a value that a simple JSON Schema allows, with its optional members if `full`.

    It looks at types, bounds, `const`, `enum`, `default`, `examples` and the first of
    alternatives; patterns and conditions are beyond it.
    """
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return {}
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    for name in ("examples", "enum"):
        if isinstance(schema.get(name), list) and schema[name]:
            return schema[name][0]
    for name in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(name), list) and schema[name]:
            return sample({**schema, name: None, **_mapping(schema[name][0])}, full=full, depth=depth + 1)
    kind = schema.get("type", "object")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "string":
            return "a" * max(_number(schema, "minLength"), min(1, _number(schema, "maxLength", 1)))
        case "integer" | "number":
            return max(_number(schema, "minimum", 0), _number(schema, "exclusiveMinimum", -1) + 1)
        case "boolean":
            return False
        case "null":
            return None
        case "array":
            count = min(max(_number(schema, "minItems"), int(full)), _MAX_ITEMS)
            return [sample(schema.get("items"), full=full, depth=depth + 1) for _ in range(count)]
    members = _mapping(schema.get("properties"))
    required = schema.get("required")
    wanted = members if full or not isinstance(required, list) else required
    return {name: sample(members.get(name), full=full, depth=depth + 1) for name in wanted if isinstance(name, str)}


def with_text(document: Any, text: str) -> Iterator[Any]:  # noqa: ANN401 - any JSON value
    """Yield the document with each of its strings replaced by `text`, one at a time; `text` alone if it has none."""
    found = False
    for place in _strings(document):
        found = True
        yield _replaced(document, place, text)
    if not found:
        yield {**document, "text": text} if isinstance(document, dict) else text


def _strings(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401
    if isinstance(value, str):
        yield place
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _strings(member, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, (*place, index))


def _replaced(value: Any, place: tuple[str | int, ...], text: str) -> Any:  # noqa: ANN401
    if not place:
        return text
    first, rest = place[0], place[1:]
    if isinstance(value, dict):
        return {name: _replaced(item, rest, text) if name == first else item for name, item in value.items()}
    return [_replaced(item, rest, text) if index == first else item for index, item in enumerate(value)]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(schema: Mapping[str, Any], name: str, default: int = 0) -> int:
    value = schema.get(name, default)
    return int(value) if isinstance(value, int | float) else default
