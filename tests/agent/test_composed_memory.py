"""What branches that run at the same time do with one memory."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from tests.agent.conftest import MakeAgent, audit_lines
from tests.agent.guests import ASKING, READING, TRAP, calling, constant, filling, read, ticking, watching, write
from tests.agent.shapes import attempt, cond, par, seq

from rotifer_host import Agent, Limits

pytestmark = pytest.mark.usefixtures("call_path")

ONE, OTHER = (b64encode(letter * 3000).decode() for letter in (b"a", b"b"))


def value(agent: Agent, key: str, gene: str) -> bytes:
    """Return what a gene reads."""
    entry = agent.memory(caller=agent._project.gene(gene)).read(key)
    assert entry is not None
    return entry.value


def test_two_branches_that_write_one_key(make_agent: MakeAgent) -> None:
    """The entry is one of the two whole, created by whoever came first; both writes succeed and are audited."""
    agent = make_agent({"a": calling(write("k", ONE)), "b": calling(write("k", OTHER))}, par("a", "b", merge="concat"))
    for _ in range(10):
        result = agent.run({})
        assert result.status == "ok", result.error
        ids = {gene.gene_id for gene in result.genes}
        assert value(agent, "k", "a") in {b"a" * 3000, b"b" * 3000}
        (entry,) = agent.memory().list().entries
        lines = audit_lines(agent)[-2:]
        assert [line["action"] for line in lines] == ["memory.create", "memory.update"]
        assert {line["geneId"] for line in lines} == ids
        assert entry.created_by == lines[0]["geneId"]
        agent.memory().delete(key="k")


def test_a_branch_sees_what_another_writes_in_its_order(make_agent: MakeAgent) -> None:
    """A response that is given again is never older than one given before, while another branch writes."""
    genes = {"tick": ticking(150), "watch": watching(150)}
    agent = make_agent(genes, par("watch", "tick", "watch", merge="concat"))
    result = agent.run({}, limits=Limits(fuel=10**13))
    assert result.output == [True] * 3, result.error


def test_who_read_last_is_told_though_a_response_could_be_given_again(make_agent: MakeAgent) -> None:
    """Two branches read one entry by turns, and each is shown, and kept, as its last reader."""
    agent = make_agent({"ask": ASKING, "read": READING}, par("ask", "read", merge="concat"))
    agent.memory(caller=agent._project.gene("ask")).write("k", b"1", "CACHE")
    result = agent.run({}, limits=Limits(fuel=1 << 60, deadline_ms=60_000))
    assert result.output == [6, 1], result.error


def test_two_branches_of_other_domains_that_write_one_key(make_agent: MakeAgent) -> None:
    """The second of two genes that may not write each other's entries is refused, whichever it is; the first stays."""
    agent = make_agent(
        {"a": calling(write("k", ONE)), "b": calling(write("k", OTHER))},
        par("a", "b", merge="concat"),
        domains={"a": "text.one", "b": "text.other"},
    )
    result = agent.run({})
    assert sorted((gene.status, gene.denied) for gene in result.genes) == [("ok", 0), ("rejected", 1)]
    winner = next(gene for gene in result.genes if gene.status == "ok")
    assert value(agent, "k", winner.name) == {"a": b"a", "b": b"b"}[winner.name] * 3000


def test_a_branch_that_fills_the_quota_while_another_reads(make_agent: MakeAgent) -> None:
    """Eviction is whole: the quota holds, and a reader gets the entry as it was or null, never a part or an error."""
    readers = calling(*[read("early")] * 40)
    agent = make_agent(
        {"fill": filling(60), "look": readers, "early": calling(write("early", ONE, "CACHE"))},
        seq("early", par("look", "fill", "look", merge="concat")),
        memory_quota=20 * 1024,
    )
    result = agent.run({}, limits=Limits(fuel=10**12))
    assert result.status == "ok", result.error
    (
        early,
        *looks,
    ) = [gene for gene in result.genes if gene.name != "fill"]
    assert all(not gene.host_calls["readMemory"].errors for gene in looks)
    assert all(output is None or output["value"] == ONE for output in (result.output[0], result.output[2]))
    listing = agent.memory().list()
    assert listing.used <= 20 * 1024
    assert "early" not in {entry.key for entry in listing.entries}
    assert result.genes[2].evicted == sum(line["action"] == "memory.evict" for line in audit_lines(agent))
    assert early.evicted == looks[0].evicted == looks[1].evicted == 0


def test_branches_that_share_a_quota_of_preferences(make_agent: MakeAgent) -> None:
    """Where nothing can be evicted, some writes of both are refused for space, and what fits stays."""
    agent = make_agent(
        {"a": filling(20, "PREFERENCE"), "b": filling(20, "PREFERENCE").replace("fill/", "full/")},
        par("a", "b", merge="concat"),
        memory_quota=20 * 1024,
    )
    result = agent.run({})
    refused = [gene.host_calls["writeMemory"].errors.get(-8, 0) for gene in result.genes]
    entries = agent.memory().list().entries
    assert len(entries) == 40 - sum(refused) == 20 * 1024 // (1026 + len("fill/0000"))
    assert sum(line["action"] == "memory.reject" for line in audit_lines(agent)) == sum(refused)


@pytest.mark.parametrize(
    ("composition", "status", "kept"),
    [
        (par("traps", "writes", merge="concat"), "failed", ["traps", "writes"]),
        (par("traps", "writes"), "ok", ["traps", "writes"]),
        (attempt("traps", "writes"), "ok", ["traps", "writes"]),
        (attempt("traps", "trap"), "failed", ["traps"]),
        (cond("writes", "traps"), "failed", ["traps"]),
        (seq("writes", "traps"), "failed", ["traps", "writes"]),
    ],
    ids=range(6),
)
@pytest.mark.parametrize("durability", ["call", "run"])
def test_what_a_failed_branch_wrote_stays(
    make_agent: MakeAgent, composition: dict[str, Any], status: str, kept: list[str], durability: Any
) -> None:
    """Each call stands on its own, in every composition."""
    genes = {"traps": calling(write("traps"), ends="unreachable"), "writes": calling(write("writes")), "trap": TRAP}
    named = {name: genes[name] for name in genes if f"'{name}'" in str(composition)}
    agent = make_agent(named, composition)
    result = agent.run({}, durability=durability)
    assert result.status == status
    assert [entry.key for entry in agent.memory().list().entries] == kept


def test_a_par_runs_with_durability_call(make_agent: MakeAgent) -> None:
    """Asked for durability run, a composition that holds a Par says in its report that it is call."""
    agent = make_agent({"a": calling(write("a")), "b": calling(write("b"))}, seq("a", par("a", "b", merge="concat")))
    result = agent.run({}, durability="run")
    assert result.status == "ok"
    assert result.to_json()["warnings"] == ["durability is call: genes of a Par do not share one transaction"]
    assert agent.run({}).warnings == ()


def test_the_other_compositions_save_a_run_at_its_end(make_agent: MakeAgent) -> None:
    """A Try with durability run is one transaction: the failed primary's write and the fallback's, saved together."""
    agent = make_agent(
        {"traps": calling(write("a"), ends="unreachable"), "b": calling(write("b")), "c": constant(1)},
        seq(attempt("traps", "b"), "c"),
    )
    result = agent.run({}, durability="run")
    assert (result.status, result.output, result.warnings) == ("ok", 1, ())
    assert [entry.key for entry in agent.memory().list().entries] == ["a", "b"]
