"""Compositions on the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.agent.guests import ECHO, TRAP, constant, rejecting
from tests.agent.shapes import attempt, cond, par, seq

from rotifer_host.cli import main
from rotifer_host.testing import temporary_project

GENES = {
    "echo": ECHO,
    "one": constant({"a": 1}),
    "two": constant({"b": 2}),
    "trap": TRAP,
    "refuse": rejecting("no\nerror[X]: forged\u202e"),
}


@pytest.fixture
def rotifer(capfd: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs a command in a project with some genes."""
    with temporary_project(GENES) as project:

        def run(*arguments: str) -> tuple[int, str, str]:
            status = main(["-C", str(project.root), *arguments])
            out, err = capfd.readouterr()
            return status, out, err

        run.root = project.root  # type: ignore[attr-defined]
        yield run


@pytest.mark.parametrize(
    ("options", "tree", "document", "output"),
    [
        (["--genes", "one", "two", "--composition", "Par"], par("one", "two"), {}, {"a": 1}),
        (["--genes", "one,two", "--composition=Par", "--merge", "concat"], par("one", "two", merge="concat"), {},
         [{"a": 1}, {"b": 2}]),
        (["--genes", "one", "two", "--composition", "Par", "--par-merge=merge"], par("one", "two", merge="merge"), {},
         {"a": 1, "b": 2}),
        (["--genes", "one", "two", "--composition", "Cond"], cond("one", "two"), {"type": "primary"}, {"a": 1}),
        (["--genes", "one", "two", "--composition", "Cond", "--predicate", '{"field": "n", "op": "Gt", "value": 3}'],
         {**cond("one", "two"), "predicate": {"field": "n", "op": "Gt", "value": 3}}, {"n": 3}, {"b": 2}),
        (["--genes", "one", "two", "--composition", "Cond", "--predicate", "@predicate.json"],
         {**cond("one", "two"), "predicate": {"field": "n", "op": "Eq", "value": [1]}}, {"n": [1]}, {"a": 1}),
        (["--genes", "trap", "one", "--composition", "Try"], attempt("trap", "one"), {}, {"a": 1}),
        (["--composition", "@tree.json"], seq(par("one", "two", merge="merge"), "echo"), {}, {"a": 1, "b": 2}),
        (["--composition", "@tree.json", "--genes", "echo", "two", "one"],
         seq(par("one", "two", merge="merge"), "echo"), {}, {"a": 1, "b": 2}),
    ],
    ids=range(9),
)  # fmt: skip
def test_making_and_running(rotifer: Any, options: list[str], tree: dict[str, Any], document: Any, output: Any) -> None:
    """Each common composition is made with options, any other from a file; --json tells all of it."""
    (rotifer.root / "predicate.json").write_text('{"field": "n", "equals": [1]}', encoding="utf-8")
    (rotifer.root / "tree.json").write_text(json.dumps(seq(par("one", "two", merge="merge"), "echo")), encoding="utf-8")
    status, out, _ = rotifer("agent", "create", "team", *options, "--exclusive", "--json")
    made = json.loads(out)
    assert (status, made["v"], made["composition"], made["compositionTree"]) == (0, 1, tree["type"], tree)
    assert made["exclusive"] is True
    status, out, err = rotifer("agent", "run", "team", "--input", json.dumps(document), "--json")
    result = json.loads(out)
    assert (status, result["status"], result["output"]) == (0, "ok", output)
    assert err == "".join(
        f"{gene['name']} ended {gene['status']}: {gene['error']['code']}: {gene['error']['message']}\n"
        for gene in result["genes"]
        if gene["error"]
    )
    assert (result["composition"], result["warnings"]) == (tree["type"], [])


@pytest.mark.parametrize(
    ("file", "options", "expected"),
    [
        ("[]", [], "tree.json must hold a composition: a JSON object with a type"),
        ("null", ["--genes", "one"], "tree.json must hold a composition"),
        ("{", [], "tree.json is not JSON"),
        (json.dumps(par("one", 3, merge="any")), [], "composition.merge must be one of first, concat, merge, not"),
        (json.dumps(par("one", "none")), [], "there is no gene none"),
        (json.dumps(par("one", "../x")), [], "gene name must be"),
        (json.dumps(par("one")), ["--genes", "one", "two"], "the composition has no place for the gene two"),
        (json.dumps(par("one")), ["--merge", "first"], "--merge goes with --composition Par; a JSON file has its own"),
    ],
    ids=range(8),
)
def test_a_file_that_is_no_composition(rotifer: Any, file: str, options: list[str], expected: str) -> None:
    """What is wrong is told on standard error, and no agent is made."""
    (rotifer.root / "tree.json").write_text(file, encoding="utf-8")
    status, out, err = rotifer("agent", "create", "team", "--composition", "@tree.json", *options)
    assert (status in {1, 2}, out) == (True, "")
    assert expected in err
    assert "Traceback" not in err
    assert json.loads(rotifer("agent", "list", "--json")[1])["agents"] == []


def test_missing_genes_are_told_with_everything_else(rotifer: Any) -> None:
    """Those of a composition with what else is wrong with it, and several with each other."""
    file = rotifer.root / "tree.json"
    command = ("agent", "create", "team", "--composition", "@tree.json")
    file.write_text(json.dumps(par("one", "none", {"type": "Zip"}, "gone", merge="any")), encoding="utf-8")
    status, _, err = rotifer(*command)
    assert (status, err.startswith("error[USAGE]: ")) == (2, True)
    for part in ("there is no gene none", "there is no gene gone", "type must be one of", "merge must be one of"):
        assert part in err
    file.write_text(json.dumps(par("one", "none", "gone")), encoding="utf-8")
    status, _, err = rotifer(*command)
    assert (status, err.startswith("error[GENE_NOT_FOUND]: there is no gene none in ")) == (1, True)
    assert "; there is no gene gone in " in err
    file.write_text(json.dumps(par("none", "No")), encoding="utf-8")
    status, _, err = rotifer(*command)
    assert (status, "there is no gene none" in err, "gene name must be" in err) == (2, True, True)
    status, _, err = rotifer("agent", "create", "team", "--genes", "one", "none", "--composition", "Single")
    assert (status, "Single runs one gene" in err, "there is no gene none" in err) == (2, True, True)
    rotifer("agent", "create", "team", "--genes", "one")
    status, _, err = rotifer("agent", "set-genes", "team", "--genes", "none", "gone", "--composition", "Single")
    assert (status, "Single runs one gene" in err, "no gene none" in err, "no gene gone" in err) == (
        2,
        True,
        True,
        True,
    )
    assert json.loads(rotifer("agent", "list", "--json")[1])["agents"][0]["genes"] == ["one"]


def test_what_people_see(rotifer: Any) -> None:
    """Making and listing show the whole composition; a run names each gene that did not end ok, its text made safe."""
    _, out, _ = rotifer(
        "agent", "create", "team", "--genes", "refuse", "echo", "trap", "--composition", "Par", "--exclusive"
    )
    assert "  composition  Par first(refuse, echo, trap), exclusive\n" in out
    assert "Par first(refuse, echo, trap), exclusive" in rotifer("agent", "list")[1]
    status, out, err = rotifer("agent", "run", "team", "--input", "7")
    assert status == 0
    assert out.startswith("7\n")
    refused, trapped = err.splitlines()
    assert refused == "refuse ended rejected: INVALID_INPUT: no\\u000aerror[X]: forged\\u202e"
    assert trapped.startswith("trap ended failed: TRAP: ")


def test_a_warning_is_told_once(rotifer: Any) -> None:
    """What was not as asked for is on standard error, and in the document."""
    rotifer("agent", "create", "team", "--genes", "one", "two", "--composition", "Par")
    status, out, err = rotifer("agent", "run", "team", "--durability", "run", "--json")
    warning = "durability is call: genes of a Par do not share one transaction"
    assert (status, json.loads(out)["warnings"], err) == (0, [warning], f"warning: {warning}\n")


def test_bench_measures_a_composition(rotifer: Any) -> None:
    """`rotifer bench` runs what `agent run` runs: the first step of this Seq fails, and its Try does not."""
    (rotifer.root / "tree.json").write_text(json.dumps(attempt("trap", par("one", "two"))), encoding="utf-8")
    rotifer("agent", "create", "team", "--composition", "@tree.json")
    command = ("bench", "team", "--runs", "5", "--warmup", "0", "--call-path", "plain", "--json")
    status, out, err = rotifer(*command)
    assert (status, json.loads(out)["v"]) == (0, 1), err
    status, out, err = rotifer(*command, "--durability", "run")
    assert (status, json.loads(out)["durability"]) == (0, "call")
    assert err == "warning: durability is call: genes of a Par do not share one transaction\n"
