"""How cases are judged: each sloppy gene fails the check that is for it, and only that."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gene_test.conftest import GOOD, REJECTION, SLEEPER, AddGene, constant, failures, first_case

from rotifer_host import Project
from rotifer_host.errors import DocumentError
from rotifer_host.suite.judge import same_json

TRAP = '(module (memory (export "memory") 1) (func (export "express") (param i32 i32) (result i32) (unreachable)))'
POSITIVE: dict[str, Any] = {"input": {"n": 1}, "expectedOutput": {"m": 1}}
NEGATIVE: dict[str, Any] = {"input": {}}


def test_a_good_gene_passes(project: Project, add_gene: AddGene) -> None:
    """Every check of a gene with a full suite passes, and so do the three requirements and the gate."""
    add_gene(cases=[POSITIVE, NEGATIVE])
    test = project.test_gene("number")
    assert {check.id: check.verdict for check in test.checks} == dict.fromkeys(
        (
            "phenotype",
            "ready",
            "suite",
            "t1-positive-0",
            "t1-negative-1",
            "t1-property-schema-legality",
            "conformance",
        ),
        "pass",
    )
    assert test.requirements == {"positive": True, "negative": True, "property": True}
    assert (test.passed, test.gate_passed, test.exit_status) == (True, True, 0)
    assert test.gene_id == project.compile("number", check_only=True).gene_id


@pytest.mark.parametrize(
    ("output", "case", "reason"),
    [
        ('{"m":1}', {"expectedOutput": {"m": 1}}, ""),
        ('{"m":1}', {"expectedOutput": {"m": 1.0}}, "not the expected one"),
        ('{"m":1.0}', {"expectedOutput": {"m": 1}}, "not the expected one"),
        ('{"m":1,"x":true}', {"expectedOutput": {"m": 1, "x": 1}}, "not the expected one"),
        ('{"m":1,"x":false}', {"expectedOutput": {"m": 1, "x": 0}}, "not the expected one"),
        ('{"m":1,"x":"1"}', {"expectedOutput": {"m": 1, "x": 1}}, "not the expected one"),
        ('{"m":1,"x":null}', {"expectedOutput": {"m": 1}}, "not the expected one"),
        ('{"m":1,"x":{"b":1,"a":2}}', {"expectedOutput": {"x": {"a": 2, "b": 1}, "m": 1}}, ""),
        ('{"m":1,"x":[1,2]}', {"expectedOutput": {"m": 1, "x": [2, 1]}}, "not the expected one"),
        ('{"m":1}', {"expectedOutput": None}, "not the expected one"),
        ('{"m":1}', {"expectedSchema": {"required": ["m"]}}, ""),
        ('{"m":1}', {"expectedSchema": {"properties": {"m": {"const": 2}}}}, "output['m']: 2 was expected"),
        ('{"m":1}', {"expectedOutput": {"m": 1}, "expectedSchema": {"not": {}}}, ""),
        ('{"m":1}', {}, ""),
        (REJECTION, {"expectedOutput": {"m": 1}}, "ended rejected, INVALID_INPUT: n is missing"),
        (REJECTION, {}, "ended rejected"),
        ("oops", {}, "ended failed, BAD_OUTPUT"),
    ],
)
def test_positive_cases(project: Project, add_gene: AddGene, output: str, case: Any, reason: str) -> None:
    """The run succeeds, with the expected output and its types, else by the expected schema, else by outputSchema."""
    check = first_case(project, add_gene(constant(output), cases=[{"input": {"n": 1}, **case}]))
    assert (check.id, check.verdict) == ("t1-positive-0", "fail" if reason else "pass"), check.reason
    assert reason in check.reason


def test_output_must_fit_the_output_schema(project: Project, add_gene: AddGene) -> None:
    """Without an expectation of its own, outputSchema is what a case asserts."""
    check = first_case(project, add_gene(constant('{"m":"1"}'), cases=[{"input": {"n": 1}}]))
    assert check.reason == "output['m']: '1' is not of type 'number'"


@pytest.mark.parametrize("schema", [True, {}])
def test_a_case_must_assert_something(project: Project, add_gene: AddGene, schema: Any) -> None:
    """An outputSchema that allows anything, and no expectation: such a case could not fail."""
    check = first_case(project, add_gene(cases=[{"input": {"n": 1}}], outputSchema=schema))
    assert check.reason.startswith("it asserts nothing")


def test_null_is_an_output(project: Project, add_gene: AddGene) -> None:
    """An expected null is an expectation, and null fulfils it."""
    folder = add_gene(constant("null"), cases=[{"input": {"n": 1}, "expectedOutput": None}])
    assert first_case(project, folder).verdict == "pass"


@pytest.mark.parametrize(
    ("wat", "case", "reason"),
    [
        (GOOD, {}, ""),
        (GOOD, {"expectedOutput": {"m": 1}}, ""),
        (constant('{"m":1}'), {}, "returned an output that the case does not expect"),
        (constant('{"m":1}'), {"expectedOutput": {"m": 1}}, ""),
        (constant('{"m":1}'), {"expectedOutput": {"m": 2}}, "not the expected one"),
        (constant('{"m":1}'), {"expectedSchema": {"required": ["m"]}}, ""),
        (constant('{"m":1}'), {"expectedSchema": {"required": ["k"]}}, "'k' is a required property"),
        (TRAP, {}, "the gene must reject this input, and the run ended failed, TRAP"),
        (TRAP, {"expectedOutput": {"m": 1}}, "the run ended failed, TRAP"),
        (constant('{"__rotifer_error":1,"m":1}'), {}, "returned an output"),
    ],
)
def test_negative_cases(project: Project, add_gene: AddGene, wat: str, case: Any, reason: str) -> None:
    """An input that inputSchema forbids is rejected in words, or answered as the case expects; never a crash."""
    check = first_case(project, add_gene(wat, cases=[{"input": {}, **case}]))
    assert (check.id, check.verdict) == ("t1-negative-0", "fail" if reason else "pass"), check.reason
    assert reason in check.reason


def test_no_failing_case_is_outvoted(project: Project, add_gene: AddGene) -> None:
    """One negative case that fails beside one that passes meets the requirement, and fails test and gate."""
    add_gene(cases=[POSITIVE, NEGATIVE, {"input": {"n": "1"}}])
    test = project.test_gene("number")
    assert list(failures(test)) == ["t1-negative-2"]
    assert test.requirements["negative"]
    assert (test.passed, test.gate_passed, test.exit_status) == (False, False, 1)


def test_requirements_that_are_not_met_are_told(project: Project, add_gene: AddGene) -> None:
    """A suite without a negative case passes the test and not the gate."""
    add_gene(cases=[POSITIVE])
    test = project.test_gene("number")
    assert (test.passed, test.gate_passed) == (True, False)
    assert test.requirements == {"positive": True, "negative": False, "property": True}


def test_a_timeout_is_the_deadline_of_its_case(project: Project, add_gene: AddGene) -> None:
    """A case with a timeout ends there, as a failure that says so; the gene would sleep for 25 seconds."""
    check = first_case(project, add_gene(SLEEPER, cases=[{"input": {"n": 1}, "timeout": 20.5}]))
    assert "ended limit, DEADLINE_EXCEEDED" in check.reason


def test_values_too_deep_to_be_compared_are_a_failure() -> None:
    """What the interpreter's stack cannot hold is an error of its own, and no crash."""
    deep: Any = None
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DocumentError, match="too deep"):
        same_json(deep, 1)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": [None]}, {"b": [None], "a": 1}, True),
        (1, 1.0, False),
        (1, True, False),
        (0, False, False),
        (10**30, 10**30, True),
        (10**30, 1e30, False),
        ("\u00e9", "e\u0301", False),
        ([1, 2], [2, 1], False),
        ({}, [], False),
        (None, False, False),
    ],
)
def test_values_are_compared_with_their_types(one: Any, other: Any, same: bool) -> None:  # noqa: FBT001 - a column
    """JSON values are the same when their types are, and their members in any order."""
    assert same_json(one, other) is same
    assert same_json([{"x": one}], [{"x": other}]) is same
