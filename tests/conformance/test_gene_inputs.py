"""Example inputs: of the test suite, else made from the schema; and the features of a module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from rotifer_host.conformance.gene_inputs import inputs_beside, sample, with_text
from rotifer_host.gene.features import used_features
from rotifer_host.sandbox import assemble

SCHEMAS: list[dict[str, Any]] = [
    {"type": "object"},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "string", "minLength": 5}}, "required": ["a"]},
    {"type": "string", "maxLength": 0},
    {"type": "integer", "minimum": 3},
    {"type": "number", "exclusiveMinimum": 3},
    {"type": "array", "items": {"type": "integer"}, "minItems": 3},
    {"type": ["null", "string"]},
    {"type": "boolean"},
    {"enum": ["x", "y"]},
    {"const": [1]},
    {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    {"oneOf": [{"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"]}, {"type": "null"}]},
    {"allOf": [{"type": "string"}]},
    {"examples": [{"given": True}]},
    {"default": 7},
    {},
]
ZERO = "(v128.const i64x2 0 0)"


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
@pytest.mark.parametrize("full", [False, True])
def test_samples_are_what_the_schema_allows(schema: dict[str, Any], *, full: bool) -> None:
    """Both the smallest value and the one with its optional members."""
    Draft7Validator(schema).validate(sample(schema, full=full))


def test_optional_members_come_with_the_full_sample() -> None:
    """The small one has only what is required."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
    assert sample(schema, full=False) == {"a": "a"}
    assert sample(schema, full=True) == {"a": "a", "b": 0}


def test_the_test_suite_comes_before_the_schema(tmp_path: Path) -> None:
    """Inputs of testsuite.json, else two from the phenotype, else one empty object."""
    assert inputs_beside(tmp_path) == [{}]
    schema = {"properties": {"a": {"type": "string"}}, "required": []}
    (tmp_path / "phenotype.json").write_text(json.dumps({"inputSchema": schema}), encoding="utf-8")
    assert inputs_beside(tmp_path) == [{}, {"a": "a"}]
    (tmp_path / "testsuite.json").write_text('{"testCases": []}', encoding="utf-8")
    assert inputs_beside(tmp_path) == [{}, {"a": "a"}]
    (tmp_path / "testsuite.json").write_text('{"testCases": [{"input": 1}, {"input": null}]}', encoding="utf-8")
    assert inputs_beside(tmp_path) == [1, None]


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ("a", ["T"]),
        ({}, [{"text": "T"}]),
        (5, ["T"]),
        ({"a": "x", "b": [1, {"c": "y"}]}, [{"a": "T", "b": [1, {"c": "y"}]}, {"a": "x", "b": [1, {"c": "T"}]}]),
    ],
)
def test_each_text_of_an_input_is_replaced(document: Any, found: list[Any]) -> None:
    """One at a time; an input without text gets one."""
    assert list(with_text(document, "T")) == found


@pytest.mark.parametrize(
    ("body", "features"),
    [
        ("", ()),
        ("(block (loop (br_table 0 1 0 (i32.const 0))))", ()),
        ("(drop (f64.const 1.5)) (drop (f32.const 192)) (drop (i64.const -1))", ()),
        ("(drop (i32.extend8_s (i32.const 1)))", ("sign-extension",)),
        ("(drop (i32.trunc_sat_f64_s (f64.const 1)))", ("nontrapping-float-to-int",)),
        ("(memory.copy (i32.const 0) (i32.const 0) (i32.const 0))", ("bulk-memory",)),
        ("(memory.fill (i32.const 0) (i32.const 0xC0) (i32.const 0)) (drop (i32.const 0xC0))", ("bulk-memory",)),
        ("(drop (ref.is_null (ref.null func)))", ("reference-types",)),
        ("(drop (select (result i32) (i32.const 1) (i32.const 2) (i32.const 0)))", ("reference-types",)),
        ("(drop (table.size 0))", ("reference-types",)),
        ("(block (result i32 i32) (i32.const 1) (i32.const 2)) (drop) (drop)", ("multi-value",)),
        (f"(drop (i8x16.shuffle {' '.join(map(str, range(16)))} {ZERO} {ZERO}))", ("simd",)),
        ("(drop (v128.load8_lane offset=64 0 (i32.const 0) (v128.const i64x2 0 0)))", ("simd",)),
        ("(drop (i32x4.extract_lane 3 (v128.const i64x2 0 0)))", ("simd",)),
        ("(drop (i8x16.relaxed_swizzle (v128.const i64x2 0 0) (v128.const i64x2 0 0)))", ("relaxed-simd", "simd")),
        ("(return_call $other)", ("tail-call",)),
    ],
)
def test_features_are_found_and_no_others(body: str, features: tuple[str, ...]) -> None:
    """By what a function does, wherever its constants look like other instructions."""
    wat = f"""(module (memory 1) (table 1 funcref) (func $other) (func {body} (drop (i32.const 192)))
      (func (drop (call_indirect (result i32) (i32.const 0)))))"""
    assert used_features(assemble(wat)) == features


def test_types_tell_features_too() -> None:
    """Results, parameters and locals."""
    assert used_features(assemble("(module (type (func (result i32 i32))))")) == ("multi-value",)
    assert used_features(assemble("(module (type (func (param v128))))")) == ("simd",)
    assert used_features(assemble("(module (func (local externref)))")) == ("reference-types",)
