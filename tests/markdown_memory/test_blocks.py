"""What is written into a Markdown file is found in it again, and nothing else is taken for a memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotifer_host.markdown_memory.blocks import parse_blocks, render_block

_LINES = st.sampled_from(
    [
        "",
        "### a",
        "\\### a",
        "\\\\### ",
        "<!-- agentool-memory: at=x tags= -->",
        "# T",
        "## U",
        "text",
        "\r",
        "a\r",
        " ",
        "```",
    ]
)
_CONTENT = st.lists(_LINES | st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=6).map("\n".join)
_KEY = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=10)
_TAGS = st.lists(st.text("ab c", min_size=1, max_size=3).map(str.strip).filter(bool), max_size=3)
_HAND_WRITTEN = st.sampled_from(
    ["", "notes\n", "# Title\n\nnotes", "### by hand\ntext\n\n## Section\n", "\ufeff# BOM\n"]
)


@given(st.lists(st.tuples(_KEY, _CONTENT, _TAGS), min_size=1, max_size=3), _HAND_WRITTEN)
def test_blocks_are_read_back_as_they_were_written(blocks: list[tuple[str, str, list[str]]], before: str) -> None:
    """Any key, content and tags come back the same, one below the other, whatever stands above them."""
    text = before + ("" if before.endswith("\n") else "\n")
    for key, content, tags in blocks:
        text += render_block(key, content, tags, "2026-01-31T12:00:00.000Z") + "\n"
    found = [(b.key, b.content, list(b.tags)) for b in parse_blocks(text) if b.at is not None]
    assert found == blocks


@given(st.lists(_LINES, max_size=12).map("\n".join))
def test_blocks_never_overlap(text: str) -> None:
    """The blocks of any file lie one after another within it."""
    place = 0
    for block in parse_blocks(text):
        assert place <= block.begin < block.end <= len(text)
        place = block.end


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("no heading\n", []),
        ("### \n", []),
        ("###\n", []),
        ("###key\n", []),
        ("#### key\n", []),
        (" ### key\n", []),
        ("### key", [("key", "", None)]),
        ("###   key  \ntext\n", [("key", "text", None)]),
        ("\ufeff### key\ntext\n", [("key", "text", None)]),
        ("### a\none\n### b\ntwo\n", [("a", "one", None), ("b", "two", None)]),
        ("### a\none\n\n## Section\ntext\n", [("a", "one", None)]),
        ("### a\none\n#hashtag\n#### deeper\n", [("a", "one\n#hashtag\n#### deeper", None)]),
        ("### a\none\n<!-- agentool-memory: at=T -->\nmore\n", [("a", "one", "T")]),
        ("### a\none\n<!-- agentool-memory: at= tags= -->\n", [("a", "one", None)]),
        ("### a\none\n<!-- agentool-memory: at=T tags=x|y z -->", [("a", "one", "T")]),
        ("### a\r\n\r\none\r\n\r\n<!-- agentool-memory: at=T tags= -->\r\n", [("a", "one", "T")]),
        ("### a\n<!-- agentool-memory: at=T tags= -->\n", [("a", "", "T")]),
        ("### a\n```\n### in a fence\n```\n", [("a", "```", None), ("in a fence", "```", None)]),
        ("### a\n\\### not a key\n", [("a", "### not a key", None)]),
    ],
)
def test_what_is_a_block(text: str, found: list[tuple[str, str, str | None]]) -> None:
    """A line `### KEY` begins one; it ends with its comment, the next such line or the next section."""
    assert [(block.key, block.content, block.at) for block in parse_blocks(text)] == found


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("### a\n<!-- agentool-memory: at=T tags= -->\n\n\nmore\n", "\nmore\n"),
        ("### a\n<!-- agentool-memory: at=T tags= -->\nmore\n", "more\n"),
        ("### a\r\n<!-- agentool-memory: at=T tags= -->\r\n\r\nmore\r\n", "more\r\n"),
        ("### a\n<!-- agentool-memory: at=T tags= -->\n\n### b\n", "### b\n"),
        ("### a\none\n\n# b\n", "# b\n"),
    ],
)
def test_where_a_block_ends(text: str, end: str) -> None:
    """The empty line below its comment is the block's; what follows is not."""
    block = next(parse_blocks(text))
    assert text[block.end :] == end


def test_one_long_line_is_looked_at_once() -> None:
    """A megabyte of beginnings of comments on one line takes as long as any other text."""
    content = "<!-- agentool-memory: at= tags=" * 40_000
    text = render_block("a", f"x{content}\n{content}", [], "T")
    assert [len(block.content) for block in parse_blocks(text)] == [2 * len(content) + 2]


def test_blocks_of_one_key() -> None:
    """Others are passed over, and end it."""
    text = "### a\n1\n### b\n2\n### a \n3\n"
    assert [block.content for block in parse_blocks(text, "a")] == ["1", "3"]


def test_tags_of_a_comment() -> None:
    """Tags stand between bars, and may have spaces in them; those a person put around them are no part of them."""
    for tags in ("x|y z", "x | y z", "| x|  |y z |"):
        (block,) = parse_blocks(f"### a\none\n<!-- agentool-memory: at=T tags={tags} -->\n")
        assert block.tags == ("x", "y z")
