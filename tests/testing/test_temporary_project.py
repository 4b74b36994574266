"""Projects and agents for the length of a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from rotifer_host import DataPolicy, Project
from rotifer_host.errors import BadModuleError, GeneError, QuotaExceededError
from rotifer_host.sandbox import assemble
from rotifer_host.testing import GeneSource, ManualClock, temporary_agent, temporary_project

ECHO = """;; gives back its input
(module (memory (export "memory") 1)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "express") (param i32 i32) (result i32) (local.get 0)))"""
COUNTER = Path(__file__).parents[2] / "guest-examples" / "counter"


def test_an_agent_runs_and_remembers() -> None:
    """A gene's folder becomes an agent with a memory of its own, empty at first."""
    with temporary_agent({"counter": COUNTER}) as agent:
        assert [agent.run({}).output for _ in range(3)] == [{"count": 1}, {"count": 2}, {"count": 3}]
    with temporary_agent({"counter": COUNTER}) as agent:
        assert agent.memory().list().entries == ()


def test_nothing_is_left_behind() -> None:
    """The folder is gone after the block, also when the test in it fails, and the original is as it was."""
    before = sorted(COUNTER.rglob("*"))
    roots = []

    def fail_in_it() -> None:
        with temporary_project({"counter": COUNTER}) as project:
            roots.append(project.root)
            assert (project.root / "genes" / "counter" / "gene.ir.wasm").exists()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_in_it()
    assert not roots[0].parent.exists()
    assert sorted(COUNTER.rglob("*")) == before


def test_genes_come_in_every_form(tmp_path: Path) -> None:
    """A folder, a file of text or of a module, bytes and text all become genes, in the given order."""
    text, module = tmp_path / "a.wat", tmp_path / "a.wasm"
    text.write_text(ECHO, encoding="utf-8")
    module.write_bytes(assemble(ECHO))
    genes: dict[str, GeneSource] = {
        "text": ECHO,
        "bytes": module.read_bytes(),
        "wat": text,
        "wasm": module,
        "path": str(text),
        "folder": COUNTER,
    }
    with temporary_agent(genes) as agent:
        assert agent.genome == tuple(genes)
        assert agent.composition == "Seq"
        assert agent.run({}).output == {"count": 1}


def test_a_gene_may_have_the_starters_name() -> None:
    """The gene that `init` puts into a project makes way."""
    with temporary_project({"hello": ECHO}) as project:
        assert project.run_gene("hello", [1]).output == [1]


def test_the_clock_is_the_hosts() -> None:
    """Entries are written and expire by the test's clock."""
    clock = ManualClock("2026-01-01T00:00:00Z")
    policy = DataPolicy(maxRetentionDays=1)
    with temporary_agent({"counter": COUNTER}, clock=clock, data_policy=policy) as agent:
        agent.run({})
        assert [entry.updated_at for entry in agent.memory().list().entries] == ["2026-01-01T00:00:00.000Z"]
        clock.advance(seconds=86_399)
        assert len(agent.memory().list().entries) == 1
        clock.advance(seconds=1)
        assert agent.memory().list().entries == ()
        assert agent.run({}).output == {"count": 1}


def test_memory_is_a_real_one() -> None:
    """Rules hold: a write beyond the quota is refused."""
    with temporary_project({"counter": COUNTER}) as project:
        agent = project.create_agent("small", ["counter"], memory_quota=9)
        with pytest.raises(QuotaExceededError):
            agent.memory(caller=project.gene("counter")).write("key", b"a value", "CACHE")


def test_the_phenotype_can_be_chosen() -> None:
    """Members of the phenotype of a gene without a folder can be replaced."""
    with temporary_project({"echo": ECHO}, phenotype={"domain": "mine", "version": "2.0.0"}) as project:
        phenotype = project.gene("echo").phenotype
        assert (phenotype.domain, phenotype.version) == ("mine", "2.0.0")


def test_what_is_no_gene_is_refused() -> None:
    """Text that is no module, and a folder without a phenotype, raise what compiling raises."""
    with pytest.raises(BadModuleError), temporary_project({"bad": "(module (oops"}):
        pass
    with pytest.raises(GeneError), temporary_project({"bad": COUNTER.parent}):
        pass


def test_it_is_an_ordinary_project() -> None:
    """Another handle, as another process would have, sees the same project."""
    with temporary_agent({"counter": COUNTER}) as agent, temporary_project({}) as other:
        assert other.agents() == []
        assert Project.open(other.root).root == other.root
        assert agent.name == "test-agent"
