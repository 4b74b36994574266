"""Foreign text never reaches a terminal as it is."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotifer_host.text import encodable, indented, printable, quoted, shortened

HOSTILE = {
    "colour": ("\x1b[31mred\x1b[0m", r"\u001b[31mred\u001b[0m"),
    "clear screen": ("\x1b[2J\x1b[H", r"\u001b[2J\u001b[H"),
    "window title": ("\x1b]0;owned\x07", r"\u001b]0;owned\u0007"),
    "link": ("\x1b]8;;http://x\x1b\\y", "\\u001b]8;;http://x\\u001b\\y"),
    "clipboard": ("\x1b]52;c;aGk=\x07", r"\u001b]52;c;aGk=\u0007"),
    "eight-bit CSI": ("\x9b31m", r"\u009b31m"),
    "next line": ("a\x85b", r"a\u0085b"),
    "overwritten line": ("error\rok   ", r"error\u000dok   "),
    "backspace": ("bad\b\b\bok", r"bad\u0008\u0008\u0008ok"),
    "delete": ("a\x7f", r"a\u007f"),
    "NUL": ("a\0b", r"a\u0000b"),
    "bidirectional override": ("a\u202eb\u202c", r"a\u202eb\u202c"),
    "bidirectional isolate": ("\u2066a\u2069", r"\u2066a\u2069"),
    "marks of direction": ("\u200e\u200f\u061c", r"\u200e\u200f\u061c"),
    "zero width": ("a\u200bb\u200dc\ufeff", r"a\u200bb\u200dc\ufeff"),
    "separators": ("a\u2028b\u2029", r"a\u2028b\u2029"),
    "tag characters": ("\U000e0041\U000e007f", r"\udb40\udc41\udb40\udc7f"),
    "lone surrogate": ("\ud800x", r"\ud800x"),
    "private use": ("\ue000", r"\ue000"),
    "newline": ("a\nb\tc", r"a\u000ab\u0009c"),
}
HARMLESS = ["", "plain ~ text", "Zoë", "日本語", "全角\u3000空白", "👍", "a\u00a0b", "naïve — “quoted”", "back\\slash"]


@pytest.mark.parametrize(("text", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_escaped(text: str, shown: str) -> None:
    """Whatever could move, hide, colour or reorder text is shown as its JSON escape."""
    assert printable(text) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays(text: str) -> None:
    """Letters, signs and blanks of any script are left alone."""
    assert printable(text) == text


def test_lines_keep_line_feeds_and_tabs_alone() -> None:
    """Text of several lines keeps line feeds and tabs, and nothing else that controls."""
    assert printable("a\n\tb\r\n\x1b", lines=True) == "a\n\tb\\u000d\n\\u001b"


def test_every_code_point_is_visible_or_escaped() -> None:
    """No control, format, surrogate, private, unassigned or separating character gets through."""
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    left = {unicodedata.category(character) for character in printable(text)}
    assert not left & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text(st.characters(codec="utf-8")))
def test_escaped_json_is_the_same_json(text: str) -> None:
    """A JSON document means the same after escaping."""
    assert json.loads(printable(json.dumps(text, ensure_ascii=False))) == text


@given(st.text(st.characters(codec="utf-8"), max_size=6), st.text(st.characters(codec="utf-8"), max_size=6))
def test_two_keys_never_look_the_same(one: str, other: str) -> None:
    """Quoting tells texts apart that escaping alone would not."""
    assert (quoted(one) == quoted(other)) == (one == other)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("formatter/indent", "formatter/indent"),
        ("a b", "a b"),
        ("", '""'),
        (" a", '" a"'),
        ("a\x1b", '"a\\u001b"'),
        ("a\\u001b", '"a\\\\u001b"'),
        ('say "hi"', '"say \\"hi\\""'),
    ],
)
def test_keys_are_quoted_when_they_could_mislead(text: str, shown: str) -> None:
    """A plain key is shown plain, any other as a JSON string."""
    assert quoted(text) == shown


def test_a_log_cannot_pass_for_the_report() -> None:
    """Every line of foreign text carries the prefix."""
    assert indented("one\nerror[X]: no\n", "| ") == "| one\n| error[X]: no"


def test_a_narrow_encoding_gets_escapes() -> None:
    """What the terminal's encoding cannot write is escaped, not lost and no error."""
    assert encodable("é 😀 ok", "ascii") == r"\u00e9 \ud83d\ude00 ok"


def test_long_text_is_cut_and_says_so() -> None:
    """What a guest says at length takes a bounded place, and its length is told."""
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "abc… (4 characters)"
