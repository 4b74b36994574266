"""`rotifer list` with filters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.gene_test.conftest import GOOD, put_gene, rotifer

from rotifer_host import Project


@pytest.fixture(scope="module")
def genes(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project with genes of several domains and states."""
    project = Project.init(tmp_path_factory.mktemp("listed") / "project")
    put_gene(project, name="a-text", domain="text", fidelity="Native")
    put_gene(project, name="b-text", domain="text.format", fidelity="Hybrid")
    put_gene(project, name="texts", domain="textile")
    stale = put_gene(project, name="stale", domain="text.stale")
    (stale / "gene.wat").write_text(GOOD + ";;", encoding="utf-8")
    broken = put_gene(project, name="broken")
    (broken / "phenotype.json").write_text("{}", encoding="utf-8")
    return project


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ([], ["a-text", "b-text", "broken", "hello", "stale", "texts"]),
        (["--domain", "text"], ["a-text", "b-text", "stale"]),
        (["--domain", "text.format"], ["b-text"]),
        (["--domain", "tex"], []),
        (["--domain", "None"], []),
        (["--fidelity", "Native"], ["a-text"]),
        (["--fidelity", "Wrapped"], []),
        (["--state", "ready"], ["a-text", "b-text", "texts"]),
        (["--state", "stale"], ["stale"]),
        (["--state", "not-compiled"], ["hello"]),
        (["--state", "broken"], ["broken"]),
        (["--name", "*text"], ["a-text", "b-text"]),
        (["--name", "text?"], ["texts"]),
        (["--name", "TEXTS"], []),
        (["--domain", "text", "--state", "ready", "--name", "b*"], ["b-text"]),
    ],
)
def test_filters(genes: Project, filters: list[str], names: list[str]) -> None:
    """A domain means itself and those below it; several filters must all be passed."""
    done = rotifer(genes, "list", "--json", *filters)
    assert done.returncode == 0
    assert [gene["name"] for gene in json.loads(done.stdout)["genes"]] == names


def test_nothing_found_is_said(genes: Project) -> None:
    """A filter that nothing passes is told from a project without genes."""
    done = rotifer(genes, "list", "--domain", "none")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "none of 6 genes passes the filters\n"


def test_fidelity_is_shown(genes: Project) -> None:
    """It stands in the table and in the document."""
    table = rotifer(genes, "list", "--name", "?-text").stdout
    assert [line.split()[3] for line in table.splitlines()[1:]] == ["Native", "Hybrid"]
    (gene,) = json.loads(rotifer(genes, "list", "--name", "b-text", "--json").stdout)["genes"]
    assert gene["fidelity"] == "Hybrid"


def test_a_script_without_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gene for Node.js is not broken where there is none: that is a state of its own, with what to install."""
    project = Project.init(tmp_path / "project", template="typescript")
    monkeypatch.setenv("ROTIFER_NODE", str(tmp_path / "none"))
    done = rotifer(project, "list", "--state", "no-node")
    assert done.stdout.splitlines()[1].split() == ["formatter", "code.format", "1.0.0", "-", "no", "node", "-"]
    assert "formatter: a gene in TypeScript or JavaScript needs Node.js" in done.stderr


def test_unknown_choices_are_refused(genes: Project) -> None:
    """A state there is not is named with those there are."""
    done = rotifer(genes, "list", "--state", "fresh")
    assert done.returncode == 2
    assert "'ready', 'not-compiled', 'stale', 'no-node', 'broken'" in done.stderr
