"""`rotifer wrap`: a phenotype for a gene's folder, and its v2 id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.gene_test.conftest import GOOD, NUMBER, AddGene, rotifer

from rotifer_host import Project
from rotifer_host.errors import GeneError, UsageError
from rotifer_host.testing import ManualClock


def read(folder: Path, file: str = "phenotype.json") -> Any:
    """Read one of a gene's JSON files."""
    return json.loads((folder / file).read_text(encoding="utf-8"))


@pytest.fixture
def folder(project: Project) -> Path:
    """Return the folder of a gene with nothing in it."""
    path = project.genes_path / "new"
    path.mkdir()
    return path


def test_a_new_phenotype_is_whole(tmp_path: Path) -> None:
    """A folder without one gets a phenotype that compiles, and a manifest with the id that compiling gives."""
    project = Project.init(tmp_path / "project", clock=ManualClock("2026-05-01T00:00:00Z"))
    folder = project.genes_path / "new"
    folder.mkdir()
    (folder / "gene.wat").write_text(GOOD, encoding="utf-8")
    result = project.wrap("new", domain="text.new")
    assert read(folder) == {
        "domain": "text.new",
        "version": "0.1.0",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"},
        "author": "local-dev",
        "createdAt": "2026-05-01T00:00:00.000Z",
        "fidelity": "Native",
    }
    assert read(folder, ".gene-manifest.json") == {
        "v": 1,
        "geneId": result.gene_id,
        "name": "new",
        "domain": "text.new",
        "fidelity": "Native",
        "wrappedAt": "2026-05-01T00:00:00.000Z",
    }
    assert result.gene_id == project.compile("new").gene_id
    assert (result.change, result.warnings) == ("new", ())


def test_defaults(project: Project, folder: Path) -> None:
    """Without a domain it is general, without a module Wrapped; with nothing to run there is no id yet."""
    result = project.wrap("new")
    assert (result.domain, result.fidelity, result.gene_id) == ("general", "Wrapped", None)
    assert "put gene.wasm" in result.next
    assert read(folder)["domain"] == "general"


def test_only_the_domain_of_an_old_one_changes(project: Project, add_gene: AddGene) -> None:
    """Everything else stays as it stands, in its order; with the same domain the file is not touched."""
    folder = add_gene(description="Zählt", tags=["a"])
    old, text = read(folder), (folder / "phenotype.json").read_bytes()
    same = project.wrap("number", domain="test.number")
    assert ((folder / "phenotype.json").read_bytes(), same.change) == (text, "as it was")
    assert project.wrap("number").gene_id == same.gene_id
    changed = project.wrap("number", domain="other")
    assert changed.change == "changed"
    assert changed.gene_id not in {None, same.gene_id}
    assert list(read(folder).items()) == list((old | {"domain": "other"}).items())
    assert project.compile("number", check_only=True).gene_id == changed.gene_id


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"domain": "A"}, "domain must be lower-case words"),
        ({"domain": ""}, "domain must be lower-case words"),
        ({"domain": "a\n"}, "domain must be lower-case words"),
        ({"fidelity": "native"}, "fidelity must be one of Wrapped, Hybrid, Native, Unknown, not 'native'"),
    ],
)
def test_wrong_arguments_make_nothing(project: Project, folder: Path, arguments: dict[str, str], message: str) -> None:
    """A domain or fidelity that is none is named with what is allowed."""
    with pytest.raises(UsageError, match=message):
        project.wrap("new", **arguments)
    assert list(folder.iterdir()) == []


def test_fidelity_is_for_a_new_phenotype(project: Project, add_gene: AddGene) -> None:
    """It would not be taken over, so it is refused and not ignored."""
    add_gene()
    with pytest.raises(UsageError, match="is there already; --fidelity is for a new one"):
        project.wrap("number", fidelity="Native")


def test_all_errors_come_at_once_and_nothing_is_written(project: Project, folder: Path) -> None:
    """A wrong phenotype is not touched, even when the domain given is right."""
    (folder / "phenotype.json").write_text('{"domain": "A", "inputSchema": {"type": 1}, "tags": 1}', encoding="utf-8")
    with pytest.raises(GeneError) as caught:
        project.wrap("new", domain="right")
    for part in ("version is missing", "outputSchema is missing", "inputSchema['type'] is not JSON", "tags must be"):
        assert part in caught.value.message
    assert "domain" not in caught.value.message
    assert [path.name for path in folder.iterdir()] == ["phenotype.json"]
    assert read(folder)["domain"] == "A"


def test_the_command_prints_the_id(project: Project, add_gene: AddGene) -> None:
    """`Gene ID (v2)` as in the Memory API, and the same with --json; warnings go to standard error."""
    folder = add_gene(descripton="x")
    done = rotifer(project, "wrap", "number", "-d", "other")
    document = json.loads(rotifer(project, "wrap", "number", "--json").stdout)
    assert done.returncode == 0
    assert done.stdout == (
        "wrapped number\n"
        f"  Gene ID (v2): {document['geneId']}\n"
        "  Domain:       other\n"
        "  Fidelity:     -\n"
        f"  Phenotype:    {folder / 'phenotype.json'}, changed\n"
    )
    assert "did you mean description?" in done.stderr
    assert document == {
        "v": 1,
        "gene": "number",
        "geneId": document["geneId"],
        "domain": "other",
        "fidelity": None,
        "phenotype": str(folder / "phenotype.json"),
        "change": "as it was",
        "warnings": document["warnings"],
    }
    assert len(document["warnings"]) == 1


def test_there_must_be_a_folder(project: Project) -> None:
    """Wrapping makes no gene out of nothing."""
    done = rotifer(project, "wrap", "none")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[GENE_NOT_FOUND]: there is no gene none" in done.stderr


def test_unwritable_folders_are_named(project: Project, folder: Path) -> None:
    """What is in the way of a file is said."""
    (folder / ".gene-manifest.json").mkdir()
    (folder / "phenotype.json").write_text(json.dumps(NUMBER), encoding="utf-8")
    with pytest.raises(GeneError, match=r"cannot write .*new/\.gene-manifest\.json: Is a directory"):
        project.wrap("new")


def test_what_lies_in_the_place_of_a_phenotype_is_named(project: Project, folder: Path) -> None:
    """A folder of that name is neither read nor replaced."""
    (folder / "phenotype.json").mkdir()
    with pytest.raises(GeneError, match=r"cannot read .*new/phenotype\.json: Is a directory"):
        project.wrap("new")
    assert [path.name for path in folder.iterdir()] == ["phenotype.json"]


def test_fidelity_is_what_the_phenotype_says(project: Project, folder: Path) -> None:
    """Where it says nothing, `wrap` and `list` say so alike: nothing is made up."""
    (folder / "phenotype.json").write_text(json.dumps(NUMBER), encoding="utf-8")
    assert "fidelity" not in NUMBER
    assert "  Fidelity:     -\n" in rotifer(project, "wrap", "new").stdout
    assert json.loads(rotifer(project, "wrap", "new", "--json").stdout)["fidelity"] is None
    (listed,) = json.loads(rotifer(project, "list", "--name", "new", "--json").stdout)["genes"]
    assert listed["fidelity"] is None


def test_the_help_lists_every_fidelity(project: Project, folder: Path) -> None:
    """What the option takes stands in its help, as in its error."""
    listed = "one of Wrapped, Hybrid, Native, Unknown"
    assert listed in " ".join(rotifer(project, "wrap", "--help").stdout.split())
    assert listed in rotifer(project, "wrap", folder.name, "--fidelity", "x").stderr
