"""Where a text stops being WebAssembly: the file, the place, and the line with a caret under it."""

from __future__ import annotations

import pytest

from rotifer_host.errors import BadModuleError
from rotifer_host.sandbox import assemble

NO_FIELD = "expected valid module field"
TEXTS = {
    "a word": (
        '(module\n  (data (i32.constt 0) "A"))',
        "2:10",
        "unknown operator or unexpected token",
        '2 |   (data (i32.constt 0) "A"))',
        "  |          ^",
    ),
    "after a tab": (
        "(module\n\t(nonsense))",
        "2:3",
        NO_FIELD,
        "2 |  (nonsense))",
        "  |   ^",
    ),
    "after letters of two bytes": (
        '(module (data "\u00e9\u00e9") (nonsense))',
        "1:22",
        NO_FIELD,
        '1 | (module (data "\u00e9\u00e9") (nonsense))',
        "  |                      ^",
    ),
    "after letters of other widths": (
        '(module (data "\u6f22\U0001f600e\u0301") (nonsense))',
        "1:24",
        NO_FIELD,
        '1 | (module (data "\u6f22\U0001f600e\u0301") (nonsense))',
        "  |                         ^",
    ),
    "after what is escaped": (
        '(module (data "\u200b") (nonsense))',
        "1:21",
        NO_FIELD,
        '1 | (module (data "\\u200b") (nonsense))',
        "  |                          ^",
    ),
    "at its end": ("(module", "1:8", "expected `)`", "1 | (module", "  |        ^"),
}


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("case", TEXTS.values(), ids=TEXTS)
def test_the_place_is_shown(case: tuple[str, str, str, str, str], *, encoded: bool) -> None:
    """File, line and column, both from 1 and in characters; below it the line as a terminal may see it."""
    text, place, reason, line, caret = case
    with pytest.raises(BadModuleError) as caught:
        assemble(text.encode() if encoded else text, name="a.wat")
    assert caught.value.message.split("\n") == [f"a.wat:{place}: not WebAssembly text: {reason}", line, caret]


@pytest.mark.parametrize("text", [b"(module \xff)", "(module \ud800)"])
def test_what_has_no_place(text: str | bytes) -> None:
    """What is not UTF-8 is named by its file alone."""
    with pytest.raises(BadModuleError, match=r"^a\.wat: not WebAssembly text: .*utf-8"):
        assemble(text, name="a.wat")


@pytest.mark.parametrize("blanks", [200, 100_000])
def test_long_lines_are_cut(blanks: int) -> None:
    """Of a line of any length only what surrounds the place is shown."""
    with pytest.raises(BadModuleError) as caught:
        assemble(f"(module {' ' * blanks}(nonsense) {' ' * blanks})")
    where, line, caret = caught.value.message.splitlines()
    assert where.startswith(f"text:1:{blanks + 10}: ")
    assert max(len(line), len(caret)) < 250
    assert line[caret.index("^") :].startswith("nonsense")
    assert line.startswith("1 | ...")
    assert line.endswith("...")
