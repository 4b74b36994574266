"""A Par, Cond or Try with a gene that is not compiled runs all of its genes one after another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent.conftest import MakeAgent
from tests.agent.guests import ECHO, calling, constant, meeting, write
from tests.agent.shapes import attempt, cond, par, seq

from rotifer_host import Limits, Project, Recorder
from rotifer_host.agent.composed import compose
from rotifer_host.agent.composition import Branch, Seq, written
from rotifer_host.agent.composition_reader import read_composition
from rotifer_host.agent.run import LoadedGene
from rotifer_host.agent.runner import WasmRunner
from rotifer_host.errors import GeneError, RecordingError
from rotifer_host.node.program import find_node
from rotifer_host.testing import temporary_project

GENES = {"echo": ECHO, "one": constant([1]), "writes": calling(write("k"))}


class _Slow(WasmRunner):
    compiled = False


def loaded(*names: str) -> list[LoadedGene]:
    """Return genes, never run here, those whose name begins with `n` not compiled."""
    kinds = {name: _Slow if name.startswith("n") else WasmRunner for name in names}
    return [LoadedGene(name, None, None, kinds[name].__new__(kinds[name])) for name in names]


@pytest.mark.parametrize(
    ("composition", "runs", "slow"),
    [
        (par("a", "b"), "Par first(a, b)", {}),
        (par("a", "n1"), "Seq(a, n1)", {"Par": "n1"}),
        (cond("n1", "a"), "Seq(n1, a)", {"Cond": "n1"}),
        (attempt("a", "n1"), "Seq(a, n1)", {"Try": "n1"}),
        (seq("n1", "a"), "Seq(n1, a)", {}),
        (seq("n1", par("a", "b")), "Seq(n1, Par first(a, b))", {}),
        (seq(par("a", seq("n1", cond("b", "n2"))), "c"), "Seq(Seq(a, n1, b, n2), c)", {"Par": "n1, n2"}),
        (seq(par("n1", "a"), attempt("a", "n2"), par("b", "n3")), "Seq(Seq(n1, a), Seq(a, n2), Seq(b, n3))",
         {"Par": "n1, n3", "Try": "n2"}),
        (seq({"type": "Single", "gene": "n1"}, "a"), "Seq(Single(n1), a)", {}),
    ],
    ids=range(9),
)  # fmt: skip
def test_which_genes_run_one_after_another(composition: dict[str, Any], runs: str, slow: dict[str, str]) -> None:
    """The outermost Par, Cond or Try around such a gene becomes a Seq of its genes; one warning for each kind."""
    read, genome = read_composition(composition, [])
    composed, warnings = compose(read, loaded(*genome))
    assert composed is not None
    root: Branch = composed._root
    assert written(root) == runs
    assert warnings == tuple(
        f"all genes of the {kind} run one after another: not compiled are {names}" for kind, names in slow.items()
    )


def test_genes_in_their_order_need_no_plan() -> None:
    """A Seq of the agent's genes runs as it always did, whatever they are."""
    assert compose(Seq(), loaded("a", "n1")) == (None, ())


@pytest.mark.parametrize(
    ("composition", "ran"),
    [
        (par("echo", "one", "writes", merge="concat"), "echo one writes"),
        (attempt("echo", "writes"), "echo writes"),
        (cond("writes", "one"), "writes one"),
        (seq("echo", par("writes", "one")), "echo writes one"),
    ],
    ids=range(4),
)
@pytest.mark.parametrize("durability", ["call", "run"])
def test_such_a_run(
    make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch, composition: dict[str, Any], ran: str, durability: Any
) -> None:
    """Each gene gets the output of the one before, may use memory, and is reported; the output is the last one's.

    The one warning is of that: the run can be one transaction, a `Par`'s too.
    """
    agent = make_agent(GENES, composition)
    monkeypatch.setattr(WasmRunner, "compiled", False)
    result = agent.run({"type": "primary"}, durability=durability)
    assert result.status == "ok", result.error
    assert [gene.name for gene in result.genes] == ran.split()
    assert len(result.warnings) == 1
    last = ran.rsplit(maxsplit=1)[-1]
    assert result.output == [1] if last == "one" else result.output["key"] == "k"
    assert [entry.key for entry in agent.memory().list().entries] == ["k"]


SCRIPT = """
export function express(input, ctx) {
  ctx.memory.writeMemory("script/k", new TextEncoder().encode("x"), "CONTEXT");
  return [input, "script"];
}
"""


@pytest.fixture
def with_script() -> Iterator[Project]:
    """Return a project with a gene in JavaScript beside one in WebAssembly."""
    try:
        find_node()
    except GeneError as error:
        pytest.skip(f"needs Node.js: {error.message}")
    with temporary_project({"one": GENES["one"]}) as project:
        folder = project.genes_path / "script"
        folder.mkdir()
        (folder / "index.mjs").write_text(SCRIPT, encoding="utf-8")
        (folder / "phenotype.json").write_bytes((project.genes_path / "one" / "phenotype.json").read_bytes())
        yield project


def test_a_script_in_a_par(with_script: Project, tmp_path: Path) -> None:
    """A real gene on Node.js: it runs after the compiled one on its output, has memory, and cannot be recorded."""
    agent = with_script.create_agent("team", composition=par("one", "script", merge="concat"))
    with pytest.raises(RecordingError, match="holds WebAssembly, and script runs on Node"):
        agent.run({}, record=Recorder(tmp_path / "run.rec"))
    assert not (tmp_path / "run.rec").exists()
    result = agent.run({})
    assert (result.output, result.error) == ([[1], "script"], None)
    assert result.warnings == ("all genes of the Par run one after another: not compiled are script",)
    assert [entry.created_by for entry in agent.memory().list().entries] == [result.genes[1].gene_id]


def test_they_do_not_run_side_by_side(make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Genes that wait for each other do not meet."""
    agent = make_agent({"left": meeting("left", "right"), "right": meeting("right", "left")}, par("left", "right"))
    monkeypatch.setattr(WasmRunner, "compiled", False)
    result = agent.run({}, limits=Limits(fuel=20_000_000))
    assert (result.status, len(result.genes)) == ("limit", 1)
