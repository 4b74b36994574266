"""`rotifer test`, as typed."""

from __future__ import annotations

import json

import pytest
from tests.gene_test.conftest import AddGene, constant, rotifer

from rotifer_host import Project
from rotifer_host.extras import how_to_install

CASES = [{"input": {"n": 1}, "expectedOutput": {"m": 1}}, {"input": {}}]


def test_all_genes_are_tested(project: Project, add_gene: AddGene) -> None:
    """Without a name each gene is; one that fails makes the exit status 1, and says what to type."""
    add_gene(cases=CASES)
    done = rotifer(project, "test")
    assert done.returncode == 1
    assert "hello  no v2 id\n" in done.stdout
    assert "gene hello is not compiled\n  todo: type `rotifer compile hello" in done.stdout
    assert "7 passed, 0 failed, 0 skipped; suite: positive met, negative met, property met" in done.stdout
    project.compile("hello")
    assert rotifer(project, "test").returncode == 0


def test_a_failure_is_shown_whole(project: Project, add_gene: AddGene) -> None:
    """Input, expectation, what came and what lay in memory; foreign text cannot move the cursor."""
    add_gene(constant(r'{"m":2,"x":"\u001b[2J\u202e"}'), cases=CASES)
    done = rotifer(project, "test", "number")
    assert done.returncode == 1
    text = done.stdout[done.stdout.index("t1-positive-0 failed:") :]
    assert "the output is not the expected one" in text
    for part in ('  input:\n  | {\n  |   "n": 1\n  | }', "  expected:\n", "  got:\n", "  memory it left:\n  | nothing"):
        assert part in text
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert r"\u001b[2J" in text


def test_json_is_one_document(project: Project, add_gene: AddGene) -> None:
    """With --json everything is in one document, whether it passes or not."""
    add_gene(constant('{"m":2}', otherwise='{"__rotifer_error":{}}'), cases=CASES)
    project.compile("hello")
    done = rotifer(project, "test", "--json", "hello", "number")
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (1, "")
    assert {"v": document["v"], "passed": document["passed"]} == {"v": 1, "passed": False}
    hello, number = document["genes"]
    assert (hello["passed"], hello["gatePassed"], hello["counts"]["fail"]) == (True, True, 0)
    assert number["requirements"] == {"positive": False, "negative": True, "property": True}
    assert number["geneId"].startswith("v2:")
    assert number["conformance"]["passed"]
    (failed,) = [check for check in number["checks"] if check["verdict"] == "fail"]
    assert failed["evidence"]["got"] == {"status": "ok", "output": {"m": 2}}
    assert set(failed) == {"id", "title", "verdict", "reason", "todo", "durationMs", "evidence"}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["none"], 1, "error[GENE_NOT_FOUND]: there is no gene none"),
        (["../x"], 2, "error[USAGE]: gene name must be"),
        (["hello", "--seed"], 2, "error[USAGE]: rotifer test has no option '--seed'"),
        (["hello", "number", "--scaffold"], 2, "error[USAGE]: --scaffold writes the suite of one gene"),
        (["hello", "--scaffold"], 1, "testsuite.json is there already"),
    ],
)
def test_wrong_usage(project: Project, arguments: list[str], status: int, message: str) -> None:
    """What is wrong is named on standard error, and nothing is tested."""
    done = rotifer(project, "test", *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr


def test_a_project_without_genes(project: Project) -> None:
    """Nothing to test is no success."""
    (project.genes_path / "hello" / "phenotype.json").unlink()
    done = rotifer(project, "test", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "GENE_NOT_FOUND"


def test_scaffold_writes_a_suite_that_passes(project: Project, add_gene: AddGene) -> None:
    """The suite to start from has an input that is allowed and one that is not, and the gate passes with it."""
    folder = add_gene(constant('{"m":1}', otherwise='{"__rotifer_error":{}}'))
    done = rotifer(project, "test", "number", "--scaffold")
    assert (done.returncode, done.stdout) == (0, f"wrote {folder / 'testsuite.json'}\n")
    suite = json.loads((folder / "testsuite.json").read_text(encoding="utf-8"))
    assert suite == {
        "testCases": [{"input": {"n": 0}}, {"input": None}],
        "config": {"fuzzIterations": 10, "seed": 1},
    }
    assert project.test_gene("number").gate_passed


def test_the_generator_may_be_missing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra `test` the command says what to install, before anything else."""
    monkeypatch.setattr("rotifer_host.suite.inputs.find_spec", lambda _: None)
    done = rotifer(project, "test", "hello")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"help: {how_to_install('test')}" in done.stderr
