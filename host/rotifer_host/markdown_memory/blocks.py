"""One memory as a block of Markdown: how it is written, and found again in files that people edit.

    ### key

    content

    <!-- agentool-memory: at=2026-01-31T12:00:00.000Z tags=a|b -->

markdown-memory.zh.md, on the storage layout and hand-written Markdown. A line that begins
with `### ` begins a block. A block with the comment ends with it and the empty line below
it; one without, written by hand, ends before the next heading of level 1 or 2. What lies
outside blocks is nobody's memory, and stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

__all__ = ["Block", "parse_blocks", "render_block", "without_block"]

_HEADING: Final = re.compile(r"### [^\S\n]*(?P<key>\S[^\n]*)(?:\n|\Z)")
_COMMENT: Final = re.compile(r"<!-- agentool-memory: at=(?P<at>\S*)(?: tags=(?P<tags>[^\n]*?))? ?-->[ \t\r]*(?:\n|\Z)")
_COMMENT_BEGIN: Final = "\n<!-- agentool-memory: at="
_END: Final = "<!-- agentool-memory: at= -->\n"
_EMPTY_LINE: Final = re.compile(r"\r?\n")
_NEXT_SECTION: Final = re.compile(r"^#{1,2}(?!\S)", re.MULTILINE)
_BEGINS: Final = ("### ", "<!-- agentool-memory:")
_MISTAKABLE: Final = rf"(?=\\*(?:{'|'.join(_BEGINS)}))"
_TO_ESCAPE: Final = re.compile(rf"^{_MISTAKABLE}", re.MULTILINE)
_ESCAPED: Final = re.compile(rf"^\\{_MISTAKABLE}", re.MULTILINE)


class Block(NamedTuple):
    """A block of a file."""

    key: str
    content: str
    tags: tuple[str, ...]
    at: str | None
    """When it was written, as its comment says; None without one."""
    begin: int
    """Where it lies in the text of the file."""
    end: int


def render_block(key: str, content: str, tags: Sequence[str], at: str) -> str:
    r"""Return a block that `parse_blocks` reads back the same.

    A line of the content that would begin a block, or end it, gets a backslash in front,
    as a reader of Markdown writes `\###` for a line that is no heading.
    """
    text = _TO_ESCAPE.sub(r"\\", content)
    return f"### {key}\n\n{text}\n\n<!-- agentool-memory: at={at} tags={'|'.join(tags)} -->\n"


def parse_blocks(text: str, key: str | None = None) -> Iterator[Block]:
    """Yield the blocks of a file in their order, or those of one key.

    `###` without a key behind it is text like any other.
    """
    block: tuple[str, re.Match[str]] | None = None
    for heading in _HEADING.finditer(text):  # without `^`, which would look at every character
        if not _at_line_begin(text, heading.start()):
            continue
        if block is not None:
            yield _block(text, *block, heading.start())
        found = heading["key"].strip()
        block = (found, heading) if key is None or key == found else None
    if block is not None:
        yield _block(text, *block, len(text))


def without_block(text: str, block: Block) -> str:
    """Return the text of a file without a block of it; all others stay what they are.

    Text below the block that would become part of a hand-written one above it is kept
    apart by a comment without a time, which ends that one.
    """
    rest = text[: block.begin] + text[block.end :]
    blocks = [each for each in parse_blocks(text) if each.begin != block.begin]
    if [(each.key, each.content) for each in parse_blocks(rest)] == [(each.key, each.content) for each in blocks]:
        return rest
    end = max((each.end for each in blocks if each.end <= block.begin), default=block.begin)
    return rest[:end] + _END + rest[end:]


def _block(text: str, key: str, heading: re.Match[str], end: int) -> Block:
    comment = _comment(text, heading.end(), end)
    if comment is None:
        section = _NEXT_SECTION.search(text, heading.end(), end)
        end = end if section is None else section.start()
        return Block(key, _unescaped(text[heading.end() : end].strip()), (), None, heading.start(), end)
    below = _EMPTY_LINE.match(text, comment.end(), end) or comment
    tags = tuple(tag for each in (comment["tags"] or "").split("|") if (tag := each.strip()))
    body = text[heading.end() : comment.start()]
    if not comment["at"]:
        return Block(key, _unescaped(body.strip()), tags, None, heading.start(), below.end())
    line_end = "\r\n" if heading["key"].endswith("\r") else "\n"
    body = body.removesuffix(line_end).removeprefix(line_end).removesuffix(line_end)
    return Block(key, _unescaped(body), tags, comment["at"], heading.start(), below.end())


def _comment(text: str, begin: int, end: int) -> re.Match[str] | None:
    """Return the first comment; each line is looked at once, whatever stands in it."""
    place = begin - 1
    while (place := text.find(_COMMENT_BEGIN, place, end)) >= 0:
        comment = _COMMENT.match(text, place + 1, end)
        if comment is not None:
            return comment
        place += 1
    return None


def _at_line_begin(text: str, place: int) -> bool:
    return place == 0 or text[place - 1] == "\n" or (place == 1 and text[0] == "\ufeff")


def _unescaped(content: str) -> str:
    return _ESCAPED.sub("", content) if any(begin in content for begin in _BEGINS) else content
