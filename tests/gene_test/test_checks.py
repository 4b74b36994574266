"""What is checked before and besides the cases."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.gene_test.conftest import GOOD, NUMBER, REJECTION, AddGene, constant, failures

from rotifer_host import Project

REST = ("t1-property-schema-legality", "conformance")


def verdicts(project: Project, gene: str = "number") -> dict[str, str]:
    """Return the verdict of each check."""
    return {check.id: check.verdict for check in project.test_gene(gene).checks}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"domain": "A"}, "domain must be"),
        ({"version": None}, "version must be"),
        ({"inputSchema": {"type": "strin"}}, "inputSchema['type'] is not JSON Schema"),
        ({"outputSchema": {"minimum": "1"}}, "outputSchema['minimum'] is not JSON Schema"),
        ({"outputSchema": {"$ref": "#/none"}}, "outputSchema refers to '#/none'"),
        ({"fidelity": "native"}, "fidelity must be one of"),
    ],
)
def test_a_wrong_phenotype_fails_the_first_check(
    project: Project, add_gene: AddGene, change: dict[str, Any], reason: str
) -> None:
    """Nothing runs by a phenotype that is wrong."""
    folder = add_gene()
    (folder / "phenotype.json").write_text(json.dumps(NUMBER | change), encoding="utf-8")
    test = project.test_gene("number")
    assert reason in failures(test)["phenotype"].reason
    assert {check.id: check.verdict for check in test.checks[1:]} == dict.fromkeys(("ready", "suite", *REST), "skipped")
    assert (test.passed, test.gene_id) == (False, None)


def test_unknown_fields_are_told_and_fail_nothing(project: Project, add_gene: AddGene) -> None:
    """A field nobody knows is mentioned with the check that passed."""
    add_gene(descripton="x")
    (check, *_) = project.test_gene("number").checks
    assert (check.verdict, "did you mean description?" in check.reason) == ("pass", True)


def test_a_gene_that_is_not_compiled_says_what_to_type(project: Project) -> None:
    """The command that compiles it is in the failed check."""
    check = failures(project.test_gene("hello"))["ready"]
    assert check.reason == "gene hello is not compiled"
    assert check.todo.startswith("type `rotifer compile hello")


def test_a_stale_gene_is_not_tested(project: Project, add_gene: AddGene) -> None:
    """A test of what the source does not say any more would be worth nothing."""
    folder = add_gene(cases=[{"input": {"n": 1}}])
    (folder / "gene.wat").write_text(GOOD + " ;; changed", encoding="utf-8")
    test = project.test_gene("number")
    assert "is stale" in failures(test)["ready"].reason
    assert "rotifer compile number" in failures(test)["ready"].todo
    assert [check.verdict for check in test.checks if check.id in REST] == ["skipped", "skipped"]


def test_a_gene_without_a_suite_is_tested_without(project: Project, add_gene: AddGene) -> None:
    """No suite is no failure, and how to get one is said."""
    add_gene()
    test = project.test_gene("number")
    assert test.passed
    assert not test.gate_passed
    (check,) = [check for check in test.checks if check.verdict == "skipped"]
    assert (check.id, check.reason) == ("suite", "there is no testsuite.json")
    assert "--scaffold" in check.todo


@pytest.mark.parametrize(
    ("suite", "problem"),
    [
        ([], "it must be an object"),
        ({}, "testCases must be a list of at least one case"),
        ({"testCases": []}, "testCases must be a list of at least one case"),
        ({"testCases": [1]}, "testCases[0] must be an object, not 1"),
        ({"testCases": [{"expectedOutput": 1}]}, "testCases[0] has no input"),
        ({"testCases": [{"input": 1, "expected": 1}]}, 'testCases[0] has a member "expected"; known are input, expec'),
        ({"testCases": [{"input": 1, "expectedSchema": []}]}, "testCases[0].expectedSchema must be an object, not []"),
        ({"testCases": [{"input": 1, "expectedSchema": {"type": 1}}]}, "testCases[0].expectedSchema['type'] is not JS"),
        ({"testCases": [{"input": 1, "expectedSchema": {"$ref": "#a"}}]}, "testCases[0].expectedSchema refers to '#a'"),
        ({"testCases": [{"input": 1, "timeout": 0}]}, "testCases[0].timeout must be milliseconds"),
        ({"testCases": [{"input": 1, "timeout": True}]}, "testCases[0].timeout must be milliseconds"),
        ({"testCases": [{"input": 1, "timeout": "1"}]}, "testCases[0].timeout must be milliseconds"),
        ({"testCases": [{"input": 1, "timeout": 1e99}]}, "testCases[0].timeout must be milliseconds"),
        ({"testCases": [{"input": 1}], "cases": 1}, 'it has a member "cases"; known are testCases, config'),
        ({"testCases": [{"input": 1}], "config": 1}, "config must be an object, not 1"),
        ({"testCases": [{"input": 1}], "config": None}, "config must be an object, not null"),
        (
            {"testCases": [{"input": 1}], "config": {"seeds": 1}},
            'config has a member "seeds"; known are fuzzIterations',
        ),
        ({"testCases": [{"input": 1}], "config": {"seed": -1}}, "config.seed must be a whole number from 0"),
        ({"testCases": [{"input": 1}], "config": {"seed": 1.0}}, "config.seed must be a whole number from 0"),
        ({"testCases": [{"input": 1}], "config": {"fuzzIterations": True}}, "config.fuzzIterations must be a whole"),
        ({"testCases": [{"input": 1}], "config": {"fuzzIterations": 10**9}}, "config.fuzzIterations must be a whole"),
    ],
)
def test_a_suite_that_is_none_fails(project: Project, suite: Any, problem: str) -> None:
    """Each rule of testsuite.json is checked, and what breaks it named."""
    (project.genes_path / "hello" / "testsuite.json").write_text(json.dumps(suite), encoding="utf-8")
    check = failures(project.test_gene("hello"))["suite"]
    assert check.reason.partition("testsuite.json: ")[2].startswith(problem)


def test_all_that_is_wrong_with_a_suite_is_told_at_once(project: Project) -> None:
    """Three mistakes make one message; a file that is not JSON says where."""
    path = project.genes_path / "hello" / "testsuite.json"
    path.write_text('{"testCases": [{}, {"input": 1, "x": 1}], "config": {"seed": "1"}}', encoding="utf-8")
    reason = failures(project.test_gene("hello"))["suite"].reason
    for part in ("testCases[0] has no input", 'testCases[1] has a member "x"', "config.seed must be"):
        assert part in reason
    path.write_text('{"testCases": [}', encoding="utf-8")
    assert "line 1, column 16" in failures(project.test_gene("hello"))["suite"].reason


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ('{"m":"1"}', "output['m']: '1' is not of type 'number'"),
        ("{}", "output: 'm' is a required property"),
        (REJECTION, "the run ended rejected, INVALID_INPUT: n is missing"),
        ("oops", "the run ended failed, BAD_OUTPUT"),
    ],
)
def test_generated_inputs_must_be_taken(project: Project, add_gene: AddGene, output: str, reason: str) -> None:
    """An input that inputSchema allows must succeed, and its output fit outputSchema; the input is shown."""
    add_gene(constant(output))
    check = failures(project.test_gene("number"))["t1-property-schema-legality"]
    assert check.reason.startswith("input 1 of 10, seed 1: ")
    assert reason in check.reason
    assert check.evidence is not None
    assert type(check.evidence.input["n"]) is int


def test_no_generated_input_is_no_pass(project: Project, add_gene: AddGene) -> None:
    """A check that asked nothing fails: no iterations, or a schema that allows nothing."""
    add_gene(cases=[{"input": {"n": 1}}], config={"fuzzIterations": 0})
    add_gene(name="nothing", inputSchema=False)
    for gene, reason in (("number", "fuzzIterations is 0"), ("nothing", "no input could be made")):
        assert reason in failures(project.test_gene(gene))["t1-property-schema-legality"].reason


def test_a_module_that_breaks_the_abi_fails(project: Project, add_gene: AddGene) -> None:
    """The points of `rotifer conformance gene` that fail are named, with what to do; its document comes along."""
    add_gene(GOOD.replace("(drop (memory.grow (i32.shr_u (local.get $length) (i32.const 16))))", ""))
    test = project.test_gene("number")
    check = failures(test)["conformance"]
    assert check.reason.startswith("input.large: ")
    assert "let alloc grow memory" in check.todo
    assert test.conformance is not None
    assert test.conformance["counts"]["fail"] == 1


def test_a_gene_may_be_random(project: Project, add_gene: AddGene) -> None:
    """Another output each time fails, unless it is said to be meant."""
    random = r"""(module
      (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
      (memory (export "memory") 1)
      (data (i32.const 0) "{\22m\22:1????????????????}\00")
      (func (export "alloc") (param i32) (result i32) (drop (memory.grow (i32.shr_u (local.get 0) (i32.const 16))))
        (i32.const 1024))
      (func (export "express") (param i32 i32) (result i32) (local $at i32)
        (drop (call $random (i32.const 6) (i32.const 16)))
        (loop $next
          (i32.store8 offset=6 (local.get $at)
            (i32.add (i32.const 0x30) (i32.rem_u (i32.load8_u offset=6 (local.get $at)) (i32.const 10))))
          (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1))) (i32.const 16))))
        (i32.const 0)))"""
    add_gene(random)
    assert failures(project.test_gene("number"))["conformance"].reason.startswith("output.same: ")
    assert failures(project.test_gene("number", random=True)) == {}
