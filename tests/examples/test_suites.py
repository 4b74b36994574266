"""Each example gene passes the test suite it comes with."""

from __future__ import annotations

from typing import Any

import pytest

from rotifer_host import Limits, Project

GENES = (
    "cache-c",
    "calls-assemblyscript",
    "calls-c",
    "calls-rust",
    "calls-zig",
    "counter",
    "csv-typescript",
    "errors-assemblyscript",
    "formatter",
    "formatter-assemblyscript",
    "formatter-assemblyscript-json",
    "formatter-c",
    "formatter-rust",
    "formatter-rust-serde",
    "formatter-zig",
    "journal-assemblyscript",
    "journal-c",
    "journal-rust",
    "journal-zig",
    "pattern-rust",
    "scene-assemblyscript",
    "scene-c",
    "scene-rust",
    "scene-zig",
    "wasi-c",
    "wasi-rust",
)


def test_every_example_is_tested(project: Project) -> None:
    """A new example gene cannot be left out of the tests here."""
    assert sorted([*GENES, "hello"]) == [gene.name for gene in project.genes()]


@pytest.mark.parametrize("gene", GENES)
def test_passes_its_test(project: Project, gene: str) -> None:
    """`rotifer test` finds nothing wrong, and the suite has all that a suite must have."""
    test = project.test_gene(gene)
    assert [check for check in test.checks if check.verdict != "pass"] == []
    assert test.gate_passed


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
