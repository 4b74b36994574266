"""`rotifer conformance gene`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Project
from rotifer_host.cli import main
from rotifer_host.conformance.gene_subject import check_file
from rotifer_host.errors import GeneError

ROOT = Path(__file__).parents[2]
GUESTS = Path(__file__).parent / "guests"
EXAMPLES = sorted(path.parent for path in (ROOT / "guest-examples").glob("*/testsuite.json"))


def module_in(folder: Path) -> Path:
    """Return the module of an example gene."""
    return next(path for name in ("gene.wasm", "gene.wat") if (path := folder / name).is_file())


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    """Run the command; returns its status and the one document it printed."""
    capsys.readouterr()
    status = main(["conformance", "gene", *arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project with the starter gene and the example `counter`, neither compiled."""
    project = Project.init(tmp_path / "project")
    shutil.copytree(ROOT / "guest-examples" / "counter", project.root / "genes" / "counter")
    return project


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_the_example_genes_pass(folder: Path) -> None:
    """Whoever copies one begins with a gene that keeps the ABI."""
    report = check_file(module_in(folder))
    assert [verdict for verdict in report.verdicts if verdict.verdict == "fail"] == []
    assert report.passed


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("gene", ["hello", "counter"])
def test_a_gene_of_the_project_is_tested(
    project: Project, capsys: pytest.CaptureFixture[str], gene: str, *, compiled: bool
) -> None:
    """Compiled or not yet, on the inputs of its test suite; nothing is stored."""
    if compiled:
        project.compile(gene)
    status, report = document(capsys, gene, "-C", str(project.root))
    assert (status, report["passed"], report["counts"]["fail"]) == (0, True, 0)
    assert gene in report["subject"]
    assert not project.audit_path.exists()


def test_a_failure_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """For people a line with what was seen and what to do; with `--brief` without what passed; exit status 1."""
    guest = str(GUESTS / "leaky.wat")
    assert main(["conformance", "gene", guest, "--brief"]) == 1
    shown = capsys.readouterr().out
    assert "express.again" in shown
    assert "are not freed; free the input" in shown
    assert "exports.memory" not in shown
    assert main(["conformance", "gene", guest]) == 1
    assert "exports.memory" in capsys.readouterr().out
    status, report = document(capsys, guest)
    (failed,) = [verdict for verdict in report["verdicts"] if verdict["verdict"] == "fail"]
    assert (status, report["passed"], failed["point"]) == (1, False, "express.again")
    assert failed["todo"].startswith("free the input")
    assert failed["section"] == "Modules"


def test_inputs_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    """Each `--input` is an example; without one the guest below sees an input that it traps on."""
    guest = str(GUESTS / "trusting.wat")
    samples = {}
    for inputs in ((), ("--input", '{"n": 1}'), ("--input", '{"n": 1}', "--input", '{"n": 2}')):
        _, report = document(capsys, guest, *inputs)
        samples[inputs[1::2]] = next(v["seen"] for v in report["verdicts"] if v["point"] == "input.accepted")
    assert samples[()].startswith("none is")
    assert samples['{"n": 1}',] == "1 of 1 accepted"
    assert samples['{"n": 1}', '{"n": 2}'] == "2 of 2 accepted"


def test_random_output_can_be_meant(capsys: pytest.CaptureFixture[str]) -> None:
    """`--random` says so."""
    guest = str(GUESTS / "dice.wat")
    assert document(capsys, guest)[0] == 1
    assert document(capsys, guest, "--random")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (("none.wasm",), 2, "there is no file"),
        (("broken.wat",), 1, "not WebAssembly text"),
        (("hello", "--input", "{"), 2, "the input is not JSON"),
        (("none",), 1, "none"),
    ],
)
def test_what_cannot_be_tested_is_said(
    project: Project, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: int, error: str
) -> None:
    """A file that is not there, text that does not assemble, an input that is no JSON, an unknown gene."""
    (project.root / "broken.wat").write_text("(module", encoding="utf-8")
    assert main(["conformance", "gene", *arguments, "-C", str(project.root)]) == status
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("suite", ["[]", "{}", '{"testCases": 1}', '{"testCases": [{}]}', "{"])
def test_a_broken_test_suite_is_said(tmp_path: Path, suite: str) -> None:
    """A testsuite.json that holds no inputs is an error, not an empty list."""
    shutil.copy(GUESTS / "to-the-end.wat", tmp_path / "gene.wat")
    (tmp_path / "testsuite.json").write_text(suite, encoding="utf-8")
    with pytest.raises(GeneError, match=r"testsuite\.json"):
        check_file(tmp_path / "gene.wat")


def test_a_gene_that_runs_on_node_has_no_module(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told so, and not to be compiled: that would take its memory away."""
    folder = project.genes_path / "indent"
    folder.mkdir()
    shutil.copy(project.genes_path / "counter" / "phenotype.json", folder)
    (folder / "index.ts").write_text("export const express = () => null;", encoding="utf-8")
    here = ("-C", str(project.root))
    assert main(["conformance", "gene", "indent", *here]) == 1
    said = capsys.readouterr().err
    assert "error[GENE_NO_MODULE]: gene indent runs on Node.js: there is no module" in said
    assert "`rotifer test indent` tests it" in said
    text = (folder / "phenotype.json").read_text(encoding="utf-8").replace("{", '{"fidelity": "Native",', 1)
    (folder / "phenotype.json").write_text(text, encoding="utf-8")
    assert main(["conformance", "gene", "indent", *here]) == 1
    assert "type `rotifer compile indent" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["notes.txt", "genes", "genes/counter"])
def test_other_files_and_folders_are_no_targets(
    project: Project, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    """What is neither a module, nor its text, nor a gene's name is told what would do, in a project or outside."""
    (project.root / "notes.txt").write_text("hi", encoding="utf-8")
    for folder, name in ((project.root, target), (project.root.parent, f"project/{target}")):
        assert main(["conformance", "gene", name, "-C", str(folder)]) == 2
        said = capsys.readouterr().err
        assert f"error[USAGE]: {name} is neither a .wasm or .wat file nor the name of a gene" in said


def test_files_that_cannot_be_read_are_wrong_usage(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there and a folder with its name have the same exit status."""
    (project.root / "folder.wasm").mkdir()
    for name, said in (("none.wasm", "there is no file"), ("folder.wasm", "Is a directory")):
        assert main(["conformance", "gene", name, "-C", str(project.root)]) == 2
        assert said in capsys.readouterr().err
