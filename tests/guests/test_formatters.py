"""The formatter does the same in every language: same inputs, same outputs, same memory afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.guests.modules import COMPILED, Guests

from rotifer_host import Agent, MemoryEntry, Project, RunResult
from rotifer_host.memory import Category

FORMATTERS = tuple(name for name in COMPILED if name.startswith("formatter-"))
KEY = "formatter/indent"


class Pair:
    """The formatter in WAT and one in another language, each with an agent of its own."""

    def __init__(self, project: Project, other: str) -> None:
        self.genes = ("formatter", other)
        self.project = project
        self.agents: list[Agent] = [project.create_agent(f"with-{gene}", [gene]) for gene in self.genes]

    def run(self, document: Any) -> RunResult:
        """Run both; return the result they agree on."""
        first, second = (agent.run(document) for agent in self.agents)
        assert (first.status, first.output, first.error) == (second.status, second.output, second.error)
        before, after = (self.remembered(index) for index in (0, 1))
        assert before == after
        return first

    def remembered(self, index: int) -> tuple[Any, ...] | None:
        """Return what one of them keeps, without what tells genes and times apart."""
        agent, gene = self.agents[index], self.genes[index]
        entry = agent.memory(self.project.gene(gene)).read(KEY)
        return None if entry is None else (entry.value, entry.category, entry.access_policy, entry.retention_policy)

    def leave(self, value: bytes, category: Category = "PREFERENCE") -> list[MemoryEntry]:
        """Write the preference from outside of both."""
        return [
            agent.memory(self.project.gene(gene)).write(KEY, value, category)
            for agent, gene in zip(self.agents, self.genes, strict=True)
        ]


@pytest.fixture(params=FORMATTERS)
def pair(request: pytest.FixtureRequest, guests: Guests, tmp_path: Path) -> Pair:
    """Return each formatter beside the one in WAT."""
    return Pair(guests.project(tmp_path / "formatters", "formatter", request.param), request.param)


def test_there_are_formatters_in_every_language() -> None:
    """None of the languages that the documentation has a page for is left out."""
    assert {name.split("-")[1] for name in FORMATTERS} == {"assemblyscript", "c", "rust", "zig"}


TEXT = st.lists(
    st.sampled_from(
        [" ", "  ", "\t", "\n", "\r\n", "x", '"', "\\", "/", "{", "é", "\u2028", "😀", "\0", "\b\f", "\x1f", "\x7f"]
    )
).map("".join)


@given(code=TEXT, indent=st.none() | st.integers(1, 8), before=st.recursive(st.none() | TEXT, st.lists))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_same_output_and_memory(pair: Pair, code: str, indent: int | None, before: Any) -> None:
    """Any text, told a width or not, comes out alike and leaves the same entry."""
    document = {"before": before, "code": code} | ({} if indent is None else {"indent": indent})
    assert pair.run(document).status == "ok"


@pytest.mark.parametrize(
    "document",
    [
        {}, {"code": 1}, {"code": None}, [], [{"code": ""}], ["code", 4], "code", '{"code"', 5, None, {"Code": "x"},
        {"indent": 4}, {"code": "", "indent": 0}, {"code": "", "indent": 9}, {"code": "", "indent": 12},
        {"code": "", "indent": -1}, {"code": "", "indent": 1.5}, {"code": "", "indent": "4"},
        {"code": "", "indent": True}, {"code": "", "indent": None}, {"code": "", "indent": [4]},
        {"code": "", "indent": 10**30}, {"code": [], "indent": 9},
    ],
)  # fmt: skip
def test_same_refusals(pair: Pair, document: Any) -> None:
    """What is refused is refused in the same words, and leaves nothing."""
    assert pair.run(document).status == "rejected"
    assert pair.remembered(1) is None


@pytest.mark.parametrize(
    "value", [b"", b"0", b"9", b"44", b"x", b"4 ", b"\xff\xff\xff\xff", bytes(2000), bytes(5000), bytes(100_000)]
)
def test_same_doubts(pair: Pair, value: bytes) -> None:
    """What another gene left is used if it is a width, however large it is otherwise."""
    pair.leave(value)
    assert pair.run({"code": "a\n b"}).output == {"formatted": "a\n  b", "indent": 2}


def test_other_category_is_no_preference(pair: Pair) -> None:
    """Only a PREFERENCE counts."""
    pair.leave(b"7", "CONTEXT")
    assert pair.run({"code": "a\n b"}).output == {"formatted": "a\n  b", "indent": 2}


def test_same_deep_output(pair: Pair) -> None:
    """Output much longer than the input gets the memory it needs."""
    code = "\n".join(" " * depth + "x" for depth in range(300))
    output = pair.run({"code": code, "indent": 8}).output
    assert len(output["formatted"]) == 8 * sum(range(300)) + code.count("x") + code.count("\n")


def test_same_refusal_outside_an_agent(pair: Pair) -> None:
    """Without an agent the host's own error is handed on."""
    results = [pair.project.run_gene(gene, {"code": ""}) for gene in pair.genes]
    assert [result.status for result in results] == ["rejected"] * 2
    assert results[0].error == results[1].error
