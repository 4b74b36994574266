"""What each composition gives, on every call path."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agent.conftest import MakeAgent, audit_lines
from tests.agent.guests import ECHO, LOOP, TRAP, calling, constant, filling, read, rejecting, write
from tests.agent.shapes import attempt, cond, par, seq

from rotifer_host import Limits

pytestmark = pytest.mark.usefixtures("call_path")

GENES = {
    "echo": ECHO,
    "null": constant(None),
    "one": constant({"n": 1, "deep": {"a": 1, "b": 1}}),
    "two": constant({"deep": {"b": [2], "c": 2}, "m": 2}),
    "list": constant([3]),
    "trap": TRAP,
    "refuse": rejecting("not today"),
    "loop": LOOP,
}


def failure(code: str, message: str, original: Any) -> dict[str, Any]:
    """Return what a fallback is given."""
    error = {"code": code, "message": message, "retryable": False, "details": None}
    return {"error": error, "original_input": original}


@pytest.mark.parametrize(
    ("composition", "document", "output", "ran"),
    [
        (par("one", "two"), 0, {"n": 1, "deep": {"a": 1, "b": 1}}, "one two"),
        (par("trap", "null", "one"), 0, None, "trap null one"),
        (par("refuse", "echo"), 7, 7, "refuse echo"),
        (par("echo", "one", "null", "list", merge="concat"), 5,
         [5, {"n": 1, "deep": {"a": 1, "b": 1}}, None, [3]], "echo one null list"),
        (par("null", merge="concat"), 5, [None], "null"),
        (par("one", "two", merge="merge"), 0, {"n": 1, "deep": {"a": 1, "b": [2], "c": 2}, "m": 2}, "one two"),
        (par("two", "one", merge="merge"), 0, {"deep": {"b": 1, "c": 2, "a": 1}, "m": 2, "n": 1}, "two one"),
        (par("echo", "echo", merge="concat"), "é", ["é", "é"], "echo echo"),
        (cond("null", "one"), {"type": "primary"}, None, "null"),
        (cond("one", "null"), {"type": "other"}, None, "null"),
        (cond("one", "echo"), [], [], "echo"),
        (attempt("null", "one"), 0, None, "null"),
        (attempt("refuse", "echo"), {"a": 1}, failure("INVALID_INPUT", "not today", {"a": 1}), "refuse echo"),
        (attempt("refuse", "null"), 0, None, "refuse null"),
        (attempt(seq("one", "refuse"), "echo"), 3, failure("INVALID_INPUT", "not today", 3), "one refuse echo"),
        (attempt("refuse", attempt("refuse", "echo")), 3,
         failure("INVALID_INPUT", "not today", failure("INVALID_INPUT", "not today", 3)), "refuse refuse echo"),
        (seq("one", "echo"), 0, {"n": 1, "deep": {"a": 1, "b": 1}}, "one echo"),
        (seq("null", "echo"), 0, None, "null echo"),
        (seq("list", cond("one", "echo"), {"type": "Single", "gene": "echo"}), 0, [3], "list echo echo"),
        (par(seq("one", "echo"), par("list", "null", merge="concat"), cond("two", "echo"), merge="concat"), 8,
         [{"n": 1, "deep": {"a": 1, "b": 1}}, [[3], None], 8], "one echo list null echo"),
        ({"type": "Single", "gene": "echo"}, 1, 1, "echo"),
    ],
    ids=range(21),
)  # fmt: skip
def test_what_a_composition_gives(
    make_agent: MakeAgent, composition: dict[str, Any], document: Any, output: Any, ran: str
) -> None:
    """Outputs and reports go by the order of branches; null is a result; only what the composition says runs."""
    agent = make_agent(GENES, composition)
    result = agent.run(document)
    assert (result.status, result.error, result.output) == ("ok", None, output)
    assert [gene.name for gene in result.genes] == ran.split()
    assert result.to_json()["composition"] == composition["type"]
    assert result.warnings == ()


@pytest.mark.parametrize(
    ("composition", "status", "code", "statuses"),
    [
        (par("trap", "refuse"), "failed", "TRAP", "failed rejected"),
        (par("refuse", "trap"), "rejected", "INVALID_INPUT", "rejected failed"),
        (par("one", "trap", "refuse", merge="concat"), "failed", "TRAP", "ok failed rejected"),
        (par("one", "refuse", "trap", merge="merge"), "rejected", "INVALID_INPUT", "ok rejected failed"),
        (par("one", "list", merge="merge"), "failed", "MERGE_FAILED", "ok ok"),
        (par("one", "null", merge="merge"), "failed", "MERGE_FAILED", "ok ok"),
        (par("one", "loop", merge="concat"), "limit", "FUEL_EXHAUSTED", "ok limit"),
        (seq("one", "trap", "echo"), "failed", "TRAP", "ok failed"),
        (seq(par("one", "trap", merge="concat"), "echo"), "failed", "TRAP", "ok failed"),
        (par(seq("trap", "echo"), "one", merge="concat"), "failed", "TRAP", "failed ok"),
        (attempt("trap", "refuse"), "rejected", "INVALID_INPUT", "failed rejected"),
        (cond("one", "trap"), "failed", "TRAP", "failed"),
    ],
    ids=range(12),
)
def test_how_a_composition_fails(
    make_agent: MakeAgent, composition: dict[str, Any], status: str, code: str, statuses: str
) -> None:
    """The first branch that did not end ok decides; the others end nevertheless, and each says how."""
    agent = make_agent(GENES, composition)
    result = agent.run(0, limits=Limits(fuel=1_000_000))
    assert result.error is not None
    assert (result.status, result.error.code, result.output) == (status, code, None)
    assert [gene.status for gene in result.genes] == statuses.split()
    assert all((gene.error is None) == (gene.status == "ok") for gene in result.genes)


def test_a_failing_branch_is_reported_where_another_one_counts(make_agent: MakeAgent) -> None:
    """What the first of several gives is the output, and the report still says how the others ended."""
    agent = make_agent(GENES, par("refuse", "one", "trap"))
    result = agent.run(0)
    assert result.status == "ok"
    documents = result.to_json()["genes"]
    assert documents[0]["error"] == {"code": "INVALID_INPUT", "message": "not today"}
    assert documents[1]["error"] is None
    assert documents[2]["error"]["code"] == "TRAP"
    assert documents[2]["status"] == "failed"


@pytest.mark.parametrize("kind", ["Par", "Try"])
def test_fuel_is_each_place_s_own(make_agent: MakeAgent, kind: str) -> None:
    """A branch that burns all of its fuel leaves the others theirs."""
    composition = par("loop", "echo", "loop") if kind == "Par" else attempt("loop", "echo")
    result = make_agent(GENES, composition).run(1, limits=Limits(fuel=100_000))
    assert result.status == "ok"
    assert [gene.fuel for gene in result.genes if gene.name == "loop"] == [100_000] * (2 if kind == "Par" else 1)


@pytest.mark.parametrize("composition", [par("loop", "loop"), attempt("loop", "loop"), attempt(seq("loop"), "loop")])
def test_one_deadline_ends_a_whole_composition(make_agent: MakeAgent, composition: dict[str, Any]) -> None:
    """All branches share the run's deadline, and no fallback begins after it."""
    result = make_agent(GENES, composition).run(1, limits=Limits(fuel=10**15, deadline_ms=60))
    assert (result.status, result.error and result.error.code) == ("limit", "DEADLINE_EXCEEDED")
    assert [gene.status for gene in result.genes] == ["limit"] * (2 if composition["type"] == "Par" else 1)


def test_memory_limit_is_each_place_s_own(make_agent: MakeAgent) -> None:
    """A limit that one gene meets is not shared out among branches."""
    result = make_agent(GENES, par("echo", "echo", "echo", merge="concat")).run(
        1, limits=Limits(memory_bytes=8 * 65536)
    )
    assert result.output == [1, 1, 1]
    assert [gene.peak_memory_bytes for gene in result.genes] == [8 * 65536] * 3


def test_the_primary_of_a_try_runs_once(make_agent: MakeAgent) -> None:
    """A primary that gives null has written once, and no fallback has run."""
    counted = calling(write("primary"), output=None, ends="(return (i32.const 16))").replace(
        "(memory ", '(data (i32.const 16) "null\\00") (memory '
    )
    agent = make_agent({"counted": counted, "other": calling(write("fallback"))}, attempt("counted", "other"))
    result = agent.run({})
    assert (result.status, result.output, len(result.genes)) == ("ok", None, 1)
    assert result.genes[0].host_calls["writeMemory"].count == 1
    assert [entry.key for entry in agent.memory().list().entries] == ["primary"]


@pytest.mark.parametrize("composition", [seq("fill", "fill"), par("fill", "fill", merge="concat")])
def test_a_gene_with_two_places_counts_for_each_apart(make_agent: MakeAgent, composition: dict[str, Any]) -> None:
    """A gene that has two places is reported twice, each with what it caused itself."""
    agent = make_agent({"fill": filling(24)}, composition, memory_quota=18 * 1024)
    first, second = agent.run({}).genes
    assert first.name == second.name == "fill"
    removed = sum(1 for line in audit_lines(agent) if line["action"] == "memory.evict")
    assert removed > 0
    assert first.evicted + second.evicted == removed
    if composition["type"] == "Seq":
        assert first.evicted > 0
        assert second.evicted > 0


def test_each_branch_acts_as_its_own_gene(make_agent: MakeAgent) -> None:
    """Entries are created by the v2 id of the gene in the branch, and audited so."""
    agent = make_agent({"a": calling(write("a")), "b": calling(write("b"))}, par("a", "b", merge="concat"))
    result = agent.run({})
    ids = {gene.name: gene.gene_id for gene in result.genes}
    assert len(set(ids.values())) == 2
    assert [entry["createdBy"] for entry in result.output] == [ids["a"], ids["b"]]
    assert {entry.key: entry.created_by for entry in agent.memory().list().entries} == ids


def test_reading_what_an_earlier_step_wrote(make_agent: MakeAgent) -> None:
    """Genes after a Par see what its branches wrote."""
    agent = make_agent(
        {"a": calling(write("a")), "b": calling(write("b")), "look": calling(read("b"))}, seq(par("a", "b"), "look")
    )
    assert agent.run({}).output["key"] == "b"
