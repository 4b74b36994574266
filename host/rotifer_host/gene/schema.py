"""JSON Schema, as phenotypes and test suites use it; draft 7 is meant where `$schema` names none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from jsonschema import Draft7Validator
from jsonschema.validators import validator_for
from jsonschema_specifications import REGISTRY
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7, UnknownDialect, specification_with

from rotifer_host.errors import GeneError
from rotifer_host.text import shortened

__all__ = ["SchemaValidator", "schema_problems"]

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_SHOWN: Final = 200


def schema_problems(schema: Any, name: str) -> list[str]:  # noqa: ANN401 - whatever stands where a schema should
    """Return all that keeps a value from being a JSON Schema that can be used, each with its place in `name`.

    That is what its draft forbids, and references that lead nowhere: this host fetches nothing.
    """
    if not isinstance(schema, dict | bool):
        return [f"{name} is not JSON Schema: it must be an object, true or false"]
    draft = schema.get("$schema", "") if isinstance(schema, dict) else ""
    if not _is_uri(draft):
        return [f"{name}['$schema'] must be a URI, not {draft!r}"]
    chosen = validator_for(schema, default=Draft7Validator)
    meta = validator_for(chosen.META_SCHEMA, default=chosen)
    checker = meta(chosen.META_SCHEMA, format_checker=meta.FORMAT_CHECKER, registry=REGISTRY)
    errors = sorted(checker.iter_errors(schema), key=lambda error: [str(part) for part in error.absolute_path])
    if errors:
        return [f"{name}{_place(error)} is not JSON Schema: {error.message}" for error in errors]
    return [f"{name} refers to {reference!r}, which it does not hold" for reference in _dangling(schema)]


class SchemaValidator:
    """A JSON Schema that `schema_problems` found nothing wrong with, to check values by."""

    def __init__(self, schema: Any) -> None:  # noqa: ANN401 - a mapping, True or False
        # without this registry, references to other places would be fetched
        self._validator = validator_for(schema, default=Draft7Validator)(schema, registry=REGISTRY)

    def allows(self, value: Any) -> bool:  # noqa: ANN401 - any JSON value
        """Tell whether a JSON value is valid. Raises `GeneError` for a schema that never comes to an end."""
        return next(self._errors(value), None) is None

    def problems(self, value: Any, name: str) -> list[str]:  # noqa: ANN401 - any JSON value
        """Return what is wrong with a JSON value, each with its place in `name`. Raises `GeneError`, as `allows`."""
        errors = sorted(self._errors(value), key=lambda error: [str(part) for part in error.absolute_path])
        return [f"{name}{_place(error)}: {shortened(error.message, _SHOWN)}" for error in errors]

    def _errors(self, value: Any) -> Iterator[Any]:  # noqa: ANN401
        try:
            yield from self._validator.iter_errors(value)
        except RecursionError:
            message = "the schema refers to itself without end, or the value is nested too deep for it"
            raise GeneError(message, code="PHENOTYPE") from None


def _place(error: Any) -> str:  # noqa: ANN401 - jsonschema has no types
    return "".join(f"[{part!r}]" for part in error.absolute_path)


def _is_uri(value: object) -> bool:
    try:
        return isinstance(value, str) and urlsplit(value) is not None
    except ValueError:
        return False


def _dangling(schema: Any) -> Iterator[str]:  # noqa: ANN401 - a mapping, True or False
    draft = schema.get("$schema") if isinstance(schema, dict) else None
    try:
        specification = DRAFT7 if draft is None else specification_with(draft)
    except UnknownDialect:
        specification = DRAFT7
    root = specification.create_resource(schema)
    resolver = REGISTRY.with_resource("", root).resolver_with_root(root)
    left = [(resolver, root)]
    while left:
        resolver, resource = left.pop()
        found = resource.contents if isinstance(resource.contents, dict) else {}
        for keyword in _REFERENCES:
            if isinstance(found.get(keyword), str):
                try:
                    resolver.lookup(found[keyword])
                except Unresolvable:
                    yield found[keyword]
        left += [(resolver.in_subresource(each), each) for each in resource.subresources()]
