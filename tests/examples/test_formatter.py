"""The formatter indents as documented, and remembers."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rotifer_host import Agent, Project


@pytest.fixture
def agent(project: Project) -> Agent:
    """Return an agent of the formatter alone."""
    return project.create_agent("tidy", ["formatter"])


def reindent(code: str, indent: int) -> str:
    """Do what the gene does, from its documentation."""
    lines = []
    columns = [0]
    for line in re.split("([\r\n])", code):
        text = line.lstrip(" \t")
        column = 0
        for blank in line[: len(line) - len(text)]:
            column = column + 1 if blank == " " else column // 8 * 8 + 8
        if text and text not in "\r\n":
            while columns[-1] > column:
                columns.pop()
            if columns[-1] < column:
                columns.append(column)
            text = " " * (indent * (len(columns) - 1)) + text
        lines.append(text)
    return "".join(lines)


@given(
    code=st.lists(st.sampled_from([" ", "  ", "\t", "\n", "\r\n", "x", '"', "\\", "{", "é", "😀", "\0", "\x7f"])).map(
        "".join
    ),
    indent=st.integers(1, 8),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_agrees_with_its_documentation(agent: Agent, code: str, indent: int) -> None:
    """Any text comes out as the documented rules say, with nothing else changed."""
    result = agent.run({"before": {"code": [code]}, "code": code, "indent": indent})
    assert {"formatted": reindent(code, indent), "indent": indent} == result.output


def test_deep_code_outgrows_the_input(agent: Agent) -> None:
    """Output much longer than the input gets the memory it needs."""
    code = "\n".join(" " * depth + "x" for depth in range(1500))
    result = agent.run({"code": code, "indent": 8})
    assert result.output["formatted"] == reindent(code, 8)


def test_preference_outlives_the_gene(project: Project, agent: Agent) -> None:
    """Another version of the gene, with another id, finds what the old one was told."""
    agent.run({"code": "", "indent": 7})
    old = project.gene("formatter")
    old_id = old.gene_id(old.artefact())
    phenotype = old.path / "phenotype.json"
    phenotype.write_text(phenotype.read_text(encoding="utf-8").replace("1.0.0", "2.0.0"), encoding="utf-8")
    result = agent.run({"code": "a\n b"}, recompile=True)
    assert result.output == {"formatted": "a\n       b", "indent": 7}
    assert result.genes[0].gene_id != old_id


@pytest.mark.parametrize("value", [b"", b"0", b"9", b"44", b"x", b"4 ", b"\xff\xff\xff\xff", bytes(2000), bytes(5000)])
def test_stored_nonsense_is_no_preference(project: Project, agent: Agent, value: bytes) -> None:
    """What another gene left under the key is used only if it is a width."""
    agent.memory(project.gene("formatter")).write("formatter/indent", value, "PREFERENCE")
    assert agent.run({"code": "a\n b"}).output == {"formatted": "a\n  b", "indent": 2}


@pytest.mark.parametrize("indent", [0, 9, 12, -1, 1.5, "4", True, None, [4]])
def test_bad_indent_is_rejected_and_not_remembered(agent: Agent, indent: object) -> None:
    """An indent outside 1 to 8 rejects the input before memory is touched."""
    result = agent.run({"code": "", "indent": indent})
    assert result.status == "rejected"
    assert not agent.memory().list().entries


@pytest.mark.parametrize("document", [{}, {"code": 1}, {"code": None}, [], [{"code": ""}], "code", 5, None])
def test_code_must_be_a_string(agent: Agent, document: object) -> None:
    """Whatever is no object with a string `code` is rejected."""
    assert agent.run(document).status == "rejected"
