"""Compositions as data: in an agent's record, in a file, from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.agent.shapes import attempt, cond, par, seq

from rotifer_host import contract
from rotifer_host.agent.composition import has_par, written
from rotifer_host.agent.composition_reader import CompositionError, read_composition
from rotifer_host.agent.record import AgentRecord
from rotifer_host.errors import AgentError, UsageError
from rotifer_host.project import ProjectFolder

COND = cond("a", "b")
NESTED = seq("a", par(attempt("b", COND), seq("c", {"type": "Single", "gene": "a"}), merge="merge"))


def tree(record: AgentRecord, project: ProjectFolder) -> Any:
    """Return the composition as the record's file has it."""
    return json.loads((project.agents_dir / f"{record.id}.json").read_bytes())["composition"]


@pytest.fixture
def project(tmp_path: Path) -> ProjectFolder:
    """Return a project with the genes a, b and c, none of them compiled."""
    project = ProjectFolder.init(tmp_path / "project", "project")
    hello = (project.genes_dir / "hello" / "phenotype.json").read_bytes()
    for name in "abc":
        (project.genes_dir / name).mkdir()
        (project.genes_dir / name / "phenotype.json").write_bytes(hello)
    return project


@pytest.mark.parametrize(
    ("document", "genome", "stored", "genes"),
    [
        (None, "a", {"type": "Single"}, "a"),
        (None, "a b", {"type": "Seq"}, "a b"),
        ("Seq", "a a", {"type": "Seq"}, "a a"),
        ("Par", "a b c", par("a", "b", "c"), "a b c"),
        ("Par", "a a", par("a", "a"), "a a"),
        ("Cond", "a b", COND, "a b"),
        ("Try", "a b", attempt("a", "b"), "a b"),
        ({"type": "Par", "merge": "concat"}, "a b", par("a", "b", merge="concat"), "a b"),
        ({"type": "Par", "branches": ["a"]}, "", par("a"), "a"),
        ({"type": "Cond", "predicate": {"field": "type", "equals": "primary"}}, "a b", COND, "a b"),
        ({"type": "Cond", "predicate": {"field": "type", "value": "primary"}}, "a b", COND, "a b"),
        (NESTED, "", NESTED, "a b c"),
        (NESTED, "c b a", NESTED, "c b a"),
    ],
    ids=range(13),
)
def test_compositions_are_kept_in_the_record(
    project: ProjectFolder, document: Any, genome: str, stored: dict[str, Any], genes: str
) -> None:
    """A composition is stored whole, its branches filled in from the genes, and read back as it was."""
    record = project.create_agent("team", genome.split(), composition=document)
    assert (tree(record, project), record.genome) == (stored, genes.split())
    assert project.agent("team") == record


BAD_PREDICATE = {"field": 1, "op": "Matches", "value": 1, "equals": 1}
DEEP: Any = "a"
for _ in range(contract.MAX_COMPOSITION_DEPTH + 1):
    DEEP = seq(DEEP)


@pytest.mark.parametrize(
    ("document", "genome", "problems"),
    [
        ("par", "a", ['composition.type must be one of Single, Seq, Par, Cond, Try, not "par"']),
        ("TryPool", "a b", ['not "TryPool"']),
        (7, "a", ["composition must be an object with a type, not 7"]),
        ({"type": "Par", "branches": []}, "a", ["must be a list of at least one gene or composition, not []"]),
        ({"type": "Seq", "steps": "a"}, "a", ["composition.steps must be a list of at least one"]),
        ("Try", "a b c", ["composition Try runs two genes, primary and fallback, not 3"]),
        ("Cond", "a", ["composition Cond runs two genes, thenBranch and elseBranch, not 1"]),
        (None, "", ["an agent needs at least one gene"]),
        ("Par", "", ["composition.branches must be a list of at least one"]),
        ({"type": "Try", "primary": "a"}, "a b", ["composition.fallback must be the name of a gene"]),
        (seq({"type": "Single"}), "", ["composition.steps[0].gene must be the name of a gene"]),
        (seq({"type": "Seq"}), "a", ["composition.steps[0].steps must be a list"]),
        (seq({"type": "Par"}), "a", ["composition.steps[0].branches must be a list"]),
        ({"type": "Single", "gene": seq("a")}, "", ["composition.gene must be the name of a gene, not an object"]),
        ({"type": "Single"}, "a b", ["composition Single runs one gene, not 2"]),
        (seq("a"), "a b", ["the composition has no place for the gene b"]),
        (seq("a", "b"), "a", ["the composition runs b, which is none of the genes"]),
        (DEEP, "", [f"is nested more than {contract.MAX_COMPOSITION_DEPTH} deep"]),
        (par(*["a"] * (contract.MAX_COMPOSED_GENES + 1)), "", ["must have at most 256 elements, not 257"]),
        (seq(par(*["a"] * 200), par(*["a"] * 200)), "", ["composition has places for more than 256 genes"]),
        (
            par(3, {"type": "Zip"}, {**COND, "predicate": BAD_PREDICATE, "x": 1}, merge="any"),
            "",
            [
                'composition.merge must be one of first, concat, merge, not "any"',
                "composition.branches[0] must be the name of a gene or a composition, not 3",
                "composition.branches[1].type must be one of",
                'composition.branches[2] has no member "x" (Cond has predicate, thenBranch, elseBranch)',
                "composition.branches[2].predicate.field must name a member of the input, not 1",
                "composition.branches[2].predicate.op must be one of Eq, Neq, Gt, Lt, Gte, Lte, Contains",
                "composition.branches[2].predicate must have either value or equals",
            ],
        ),
    ],
    ids=range(21),
)  # fmt: skip
def test_everything_wrong_with_a_composition_is_told_at_once(
    project: ProjectFolder, document: Any, genome: str, problems: list[str]
) -> None:
    """Each problem names its place and what is allowed, and no agent is made."""
    with pytest.raises(UsageError) as caught:
        project.create_agent("team", genome.split(), composition=document)
    assert len(caught.value.message.split("; ")) == len(problems)
    for problem in problems:
        assert problem in caught.value.message
    assert project.agents() == []


@pytest.mark.parametrize(
    ("composition", "expected"),
    [
        ({"type": "Par", "branches": ["a", "b"], "merge": "first"}, "Par first(a, b)"),
        ({"type": "Cond", "predicate": {"field": "type", "equals": "primary"}, "thenBranch": "a", "elseBranch": "b"},
         'Cond(type Eq "primary" ? a : b)'),
        ({"type": "Try", "primary": "a", "fallback": "b"}, "Try(a, b)"),
        ("Par", "Par first(a, b)"),
        ({"type": "Par"}, "Par first(a, b)"),
        ({"type": "Seq"}, "Seq"),
        (NESTED, None),
        ({"type": "Par", "branches": ["a", "z"]}, None),
        ({"type": "TryPool"}, None),
    ],
    ids=range(9),
)  # fmt: skip
def test_records_of_other_hosts(project: ProjectFolder, composition: Any, expected: str | None) -> None:
    """The original's spellings are read; a composition that names other genes than the genome is refused by file."""
    record = project.create_agent("team", ["a", "b"])
    path = project.agents_dir / f"{record.id}.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "composition": composition}), encoding="utf-8")
    if expected is not None:
        assert written(project.agent("team").composition) == expected
        return
    with pytest.raises(AgentError, match=str(path)):
        project.agent("team")


@pytest.mark.parametrize("composition", [None, COND, NESTED, "Par"])
def test_which_compositions_run_genes_at_once(composition: Any) -> None:
    """A Par anywhere in it does."""
    read, _ = read_composition(composition, [] if isinstance(composition, dict) else ["a", "b"])
    assert has_par(read) is (composition in (NESTED, "Par"))


@pytest.mark.parametrize(
    "document", [{1: 2}, {"type": "Par", 5: []}, float("nan"), object(), b"Par", {"type": "Par", "branches": {"a": 1}}]
)
def test_what_only_python_can_pass_is_refused(document: Any) -> None:
    """Values that JSON does not have are wrong, not a crash."""
    with pytest.raises(CompositionError):
        read_composition(document, ["a"])


@pytest.mark.parametrize("exclusive", [True, False])
def test_exclusive_is_kept(project: ProjectFolder, exclusive: bool) -> None:  # noqa: FBT001 - a table of one column
    """An agent is exclusive from the day it is made; a record without the word is not."""
    record = project.create_agent("team", ["a"], exclusive=exclusive)
    path = project.agents_dir / f"{record.id}.json"
    document = json.loads(path.read_bytes())
    assert document.pop("exclusive") is exclusive
    assert project.agent("team").exclusive is exclusive
    path.write_text(json.dumps(document), encoding="utf-8")
    assert project.agent("team").exclusive is False


def test_exclusive_is_true_or_false(project: ProjectFolder) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError, match="exclusive must be true or false, not 1"):
        project.create_agent("team", ["a"], exclusive=1)  # type: ignore[arg-type]
