"""Each example gene passes the test suite it comes with."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Limits, Project, contract
from rotifer_host.cli import main
from rotifer_host.gene.schema import SchemaValidator

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


@pytest.mark.parametrize("gene", GENES)
def test_inputs_of_its_page_are_valid(guests: Path, gene: str) -> None:
    """What a gene's README.md runs it with is what its inputSchema allows: a run itself does not check that."""
    schema = json.loads((guests / gene / "phenotype.json").read_bytes())["inputSchema"]
    text = (guests / gene / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    words = [word for block in blocks for word in shlex.split(block)]
    inputs = [json.loads(after) for word, after in pairwise(words) if word == "--input"]
    assert inputs
    assert [value for value in inputs if not SchemaValidator(schema).allows(value)] == []


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


def test_the_command_says_which_budget_was_used_up(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """The run is failed, as the gene returned a number of its own; the help names the call and the fuel."""
    project.create_agent("poor", ["counter"])
    assert main(["agent", "run", "poor", "--fuel", "100", "-C", str(project.root)]) == contract.EXIT_FAILED
    error, advice = capsys.readouterr().err.splitlines()[-2:]
    assert error == "error[GENE_ERROR]: express returned -4"
    assert advice.startswith(
        "help: readMemory was answered -4: what is left of the fuel, 100, does not pay for it; --fuel N"
    )
