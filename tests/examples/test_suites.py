"""Each example gene passes the test suite it comes with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft7Validator

from rotifer_host import Limits, Project

GENES = (
    "cache-c",
    "calls-assemblyscript",
    "calls-c",
    "calls-rust",
    "calls-zig",
    "counter",
    "errors-assemblyscript",
    "formatter",
    "formatter-assemblyscript",
    "formatter-assemblyscript-json",
    "formatter-c",
    "formatter-rust",
    "formatter-rust-serde",
    "formatter-zig",
    "pattern-rust",
    "wasi-c",
    "wasi-rust",
)


def load(project: Project, gene: str, file: str) -> Any:
    """Read one of a gene's JSON files."""
    return json.loads((project.root / "genes" / gene / file).read_text(encoding="utf-8"))


def test_every_example_is_tested(project: Project) -> None:
    """A new example gene cannot be left out of the tests here."""
    assert sorted([*GENES, "hello"]) == [gene.name for gene in project.genes()]


@pytest.mark.parametrize("gene", GENES)
def test_suite_passes(project: Project, gene: str) -> None:
    """Cases share one memory: valid inputs give the expected output, invalid ones are rejected."""
    agent = project.create_agent("tested", [gene])
    phenotype = load(project, gene, "phenotype.json")
    kinds = set()
    for case in load(project, gene, "testsuite.json")["testCases"]:
        valid = Draft7Validator(phenotype["inputSchema"]).is_valid(case["input"])
        kinds.add(valid)
        result = agent.run(case["input"])
        if valid:
            assert ("ok", case["expectedOutput"]) == (result.status, result.output)
            Draft7Validator(phenotype["outputSchema"]).validate(result.output)
        else:
            assert result.status == "rejected"
            assert result.error is not None
            assert result.error.code == "INVALID_INPUT"
    assert kinds == {True, False}


@pytest.mark.parametrize(("gene", "document"), [("counter", {}), ("formatter", {"code": ""})])
def test_refused_memory_is_passed_on(project: Project, gene: str, document: Any) -> None:
    """Outside an agent memory is refused, and the gene hands the host's error on as its output."""
    result = project.run_gene(gene, document)
    assert result.status == "rejected"
    assert result.error is not None
    assert "outside of any" in result.error.message


@pytest.mark.parametrize(("gene", "document"), [("counter", {}), ("formatter", {"code": ""})])
def test_used_up_budget_fails_the_run(project: Project, gene: str, document: Any) -> None:
    """A call that fuel cannot pay leaves no payload, so the gene returns the -4 itself."""
    result = project.create_agent("poor", [gene]).run(document, limits=Limits(fuel=19_000))
    assert result.status == "failed"
    assert result.error is not None
    assert "-4" in result.error.message
    assert result.genes[0].host_calls["readMemory"].errors == {-4: 1}
