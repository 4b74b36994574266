"""What a phenotype may say, and what is said about a wrong one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.errors import GeneError
from rotifer_host.gene.phenotype import Phenotype, read_phenotype
from rotifer_host.gene.phenotype_check import check_phenotype

GOOD: dict[str, Any] = {"domain": "text", "version": "1.0.0", "inputSchema": {}, "outputSchema": True}


def read(folder: Path, document: object) -> Phenotype:
    """Write a phenotype and read it."""
    (folder / "phenotype.json").write_text(json.dumps(document), encoding="utf-8")
    return read_phenotype(folder)


def refusal(folder: Path, document: object, *, compiling: bool = False) -> str:
    """Return what is said about a wrong phenotype, without its path."""
    (folder / "phenotype.json").write_text(json.dumps(document), encoding="utf-8")
    check: Callable[[Path], object] = check_phenotype if compiling else read_phenotype
    with pytest.raises(GeneError) as caught:
        check(folder)
    assert caught.value.code == "PHENOTYPE"
    path, _, message = caught.value.message.partition(": ")
    assert path.startswith(f"{folder / 'phenotype.json'}")
    return message


def test_a_good_one_is_read_with_its_other_fields(tmp_path: Path) -> None:
    """Required fields are read, and those this host does not know are kept."""
    phenotype = read(tmp_path, {**GOOD, "fidelity": "Native", "anything": [1]})
    assert (phenotype.domain, phenotype.version) == ("text", "1.0.0")
    assert (phenotype.input_schema, phenotype.output_schema) == ({}, True)
    assert phenotype.fields["anything"] == [1]


@pytest.mark.parametrize("field", ["domain", "version", "inputSchema", "outputSchema"])
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    """Each required field is missed by its name."""
    assert refusal(tmp_path, {name: value for name, value in GOOD.items() if name != field}) == f"{field} is missing"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("domain", ""),
        ("domain", "Text"),
        ("domain", "text."),
        ("domain", ".text"),
        ("domain", "text..code"),
        ("domain", "text-code"),
        ("domain", "text\n"),
        ("domain", "tëxt"),
        ("domain", 1),
        ("domain", None),
        ("version", "1.0"),
        ("version", "1.0.0\n"),
        ("version", "v1.0.0"),
        ("version", "1.0.0-"),
        ("version", "1.0.0+build"),
        ("version", "١.0.0"),  # noqa: RUF001 - a digit that is not ASCII
        ("version", 1.5),
        ("inputSchema", None),
        ("inputSchema", "object"),
        ("inputSchema", []),
        ("outputSchema", 1),
        ("createdAt", True),
        ("createdAt", -1),
        ("createdAt", 1.5),
        ("createdAt", "yesterday"),
    ],
)
def test_a_wrong_field_is_named_with_its_value(tmp_path: Path, field: str, value: object) -> None:
    """A field that breaks its rule is named, with what it may be and what it is."""
    message = refusal(tmp_path, {**GOOD, field: value})
    assert message.startswith(f"{field} must be ")
    assert message.endswith(f"not {json.dumps(value)}")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"maximum": 2**53}, f"outputSchema['maximum'] must be a whole number within ±{2**53 - 1}"),
        ({"enum": [0, -(2**53)]}, f"outputSchema['enum'][1] must be a whole number within ±{2**53 - 1}"),
        ({"const": float("inf")}, None),
        ({"title": "\ud800"}, "outputSchema['title'] holds a surrogate without its other half"),
        ({"\udc00": 1}, "a member name in outputSchema holds a surrogate without its other half"),
    ],
)
def test_what_has_no_canonical_text_is_named(tmp_path: Path, schema: object, expected: str | None) -> None:
    """A schema that RFC 8785 cannot write is refused with the place of what is wrong."""
    if expected is None:
        (tmp_path / "phenotype.json").write_text(
            json.dumps({**GOOD, "outputSchema": "HUGE"}).replace('"HUGE"', "[1e400]")
        )
        with pytest.raises(GeneError, match="outputSchema must be a JSON Schema"):
            read_phenotype(tmp_path)
        (tmp_path / "phenotype.json").write_text(
            json.dumps({**GOOD, "outputSchema": {"const": "HUGE"}}).replace('"HUGE"', "1e400")
        )
        with pytest.raises(GeneError, match=r"outputSchema\['const'\] is a number too large"):
            read_phenotype(tmp_path)
    else:
        assert refusal(tmp_path, {**GOOD, "outputSchema": schema}) == expected


def test_nesting_is_bounded(tmp_path: Path) -> None:
    """A schema nested beyond reason is refused before anything recurses into it; a hundred levels are fine."""

    def nested(levels: int) -> dict[str, object]:
        schema: dict[str, object] = {}
        for _ in range(levels):
            schema = {"not": schema}
        return schema

    assert "is nested deeper than 100 levels" in refusal(tmp_path, {**GOOD, "inputSchema": nested(101)})
    read(tmp_path, {**GOOD, "inputSchema": nested(100)})


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    """Who made several mistakes learns of all of them."""
    message = refusal(tmp_path, {"domain": "A", "version": "1", "inputSchema": 3})
    for part in ("domain must", "version must", "inputSchema must", "outputSchema is missing"):
        assert part in message


@pytest.mark.parametrize("document", [[], None, "text", 1])
def test_it_must_be_an_object(tmp_path: Path, document: object) -> None:
    """Any other JSON value is refused."""
    (tmp_path / "phenotype.json").write_text(json.dumps(document))
    with pytest.raises(GeneError, match="must be a JSON object") as caught:
        read_phenotype(tmp_path)
    assert caught.value.code == "PHENOTYPE"


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    """No file, and one that is not JSON, are errors with the file's path and the place."""
    with pytest.raises(GeneError, match=r"cannot read .*phenotype\.json: No such file") as missing:
        read_phenotype(tmp_path)
    assert missing.value.help == f"type `rotifer wrap {tmp_path.name}`, which makes one"
    (tmp_path / "phenotype.json").write_text('{"domain": text}')
    with pytest.raises(GeneError, match="line 1, column 12") as caught:
        read_phenotype(tmp_path)
    assert caught.value.code == "PHENOTYPE"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (0, 0),
        (1_700_000_000_123, 1_700_000_000_123),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00", 0),
        (None, None),
    ],
)
def test_created_at_is_milliseconds_or_text(tmp_path: Path, written: object, expected: int | None) -> None:
    """Both spellings of `createdAt` that are about mean the same instant."""
    assert read(tmp_path, {**GOOD, "createdAt": written}).created_ms == expected


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "strin"}, "inputSchema['type'] is not JSON Schema"),
        ({"properties": {"a": {"minimum": "1"}}}, "inputSchema['properties']['a']['minimum'] is not JSON Schema"),
        ({"required": "a"}, "inputSchema['required'] is not JSON Schema"),
        ({"$schema": 7}, "inputSchema['$schema'] must be a URI, not 7"),
        ({"$schema": None}, "inputSchema['$schema'] must be a URI, not None"),
        ({"$schema": []}, "inputSchema['$schema'] must be a URI, not []"),
        ({"$schema": {}}, "inputSchema['$schema'] must be a URI, not {}"),
        ({"$schema": "http://["}, "inputSchema['$schema'] must be a URI, not 'http://['"),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "items": [{}]}, "inputSchema['items'] is not"),
    ],
)
def test_schemas_are_checked_when_asked(tmp_path: Path, schema: object, place: str) -> None:
    """What is not JSON Schema is refused with its place, by the draft it names or draft 7; reading does not look."""
    document = {**GOOD, "inputSchema": schema}
    read(tmp_path, document)
    assert refusal(tmp_path, document, compiling=True).startswith(place)


def test_drafts_are_told_apart(tmp_path: Path) -> None:
    """An array of schemas as `items` is draft 7, and a schema without `$schema` may use it."""
    read(tmp_path, {**GOOD, "inputSchema": {"items": [{}]}, "outputSchema": False})
    assert check_phenotype(tmp_path)[1] == []


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("description", 1, "text, not 1"),
        ("fidelity", "native", 'one of Wrapped, Hybrid, Native, Unknown, not "native"'),
        ("author", [256], "text, or a list of bytes, not [256]"),
        ("irHash", "abc", '64 hex digits, or a list of 32 bytes, not "abc"'),
        ("tags", ["a", 1], 'a list of texts, not ["a", 1]'),
        ("externalDependencies", [1], "a list of objects, not [1]"),
        ("transparency", "open", 'one of OPEN, OPAQUE, Open, Opaque, not "open"'),
        ("network", [], "an object, not []"),
        ("network", {"maxTimeoutMs": 0}, "a whole number from 1, not 0"),
        ("network", {"allowedDomains": "a"}, 'a list of texts, not "a"'),
    ],
)
def test_optional_fields_have_types(tmp_path: Path, field: str, value: object, rule: str) -> None:
    """A field no run needs is checked when compiling; a run does not look at it."""
    message = refusal(tmp_path, {**GOOD, field: value}, compiling=True)
    assert message.partition(" must be ")[0].partition(".")[0] == field
    assert message.endswith(rule)


def test_every_error_is_told_at_once_when_compiling(tmp_path: Path) -> None:
    """Missing fields, wrong types and errors of both schemas come in one message."""
    document = {
        "domain": "A",
        "inputSchema": {"type": "strin", "minimum": "1", "pattern": "("},
        "outputSchema": {"properties": {"a": {"$ref": "#/definitions/a"}, "b": {"$ref": "https://x.example/b"}}},
        "fidelity": 1,
    }
    (tmp_path / "phenotype.json").write_text(json.dumps(document))
    with pytest.raises(GeneError) as caught:
        check_phenotype(tmp_path)
    for part in (
        "domain must be",
        "version is missing",
        "fidelity must be one of",
        "inputSchema['minimum'] is not JSON Schema",
        "inputSchema['pattern'] is not JSON Schema: '(' is not a 'regex'",
        "inputSchema['type'] is not JSON Schema",
        "outputSchema refers to '#/definitions/a', which it does not hold",
        "outputSchema refers to 'https://x.example/b', which it does not hold",
    ):
        assert part in caught.value.message


def test_unknown_fields_are_warned_of(tmp_path: Path) -> None:
    """A field nobody knows keeps a gene from nothing, but whoever misspelt one learns of it; null is no value."""
    read(tmp_path, {**GOOD, "descripton": "x", "zzz": 1, "fidelity": None})
    _, warnings = check_phenotype(tmp_path)
    assert warnings == [
        'phenotype.json has a field "descripton" that this host does not know; did you mean description?',
        'phenotype.json has a field "zzz" that this host does not know',
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "http://json-schema.org/draft-07/schema#"},
        {"const": {"$ref": "#/none"}},
        {"properties": {"$ref": {"type": "string"}}},
        {"definitions": {"a": {}}, "items": {"$ref": "#/definitions/a"}},
        {"definitions": {"a": {"$id": "https://x.example/a"}}, "items": {"$ref": "https://x.example/a"}},
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"a": {"$anchor": "b"}},
            "items": {"$ref": "#b"},
        },
    ],
)
def test_references_that_lead_somewhere_are_fine(tmp_path: Path, schema: object) -> None:
    """References within a schema, by pointer, id and anchor, and to the drafts themselves are no errors."""
    read(tmp_path, {**GOOD, "inputSchema": schema})
    check_phenotype(tmp_path)
