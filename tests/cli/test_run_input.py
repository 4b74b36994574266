"""`--input`: where it comes from, and what is not JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import contract
from rotifer_host.cli.common import Session
from rotifer_host.cli.run_input import read_input
from rotifer_host.errors import UsageError

VALUES: list[tuple[str, Any]] = [
    ("{}", {}),
    ("null", None),
    (' [1, 1.5, "é", true]\n', [1, 1.5, "é", True]),
    ("1e2", 100.0),
    ("123456789012345678901234567890", 123456789012345678901234567890),
    ('{"a": 1, "a": 2}', {"a": 2}),
]
BAD = {
    "empty": "",
    "single quotes": "{'a': 1}",
    "trailing comma": "[1,]",
    "two documents": "{} {}",
    "NaN": "NaN",
    "infinity": "[1e999]",
    "lone surrogate": '"\\ud800"',
    "byte order mark": "\ufeff{}",
    "not UTF-8": '"\udcff"',
    "too deep": "[" * 100_000,
}


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_input_comes_from_three_places(
    text: str,
    value: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """JSON text, a file and standard input give the same value."""
    (tmp_path / "in.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text.encode())))
    session = Session(json=False, directory=tmp_path)
    values = [read_input(session, source) for source in (text, "@in.json", "-")]
    assert [(item, type(item)) for item in values] == [(value, type(value))] * 3


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_is_not_json_is_wrong_usage(rotifer: Callable[..., Any], text: str) -> None:
    """What is not one JSON document is refused before anything runs, with what --input takes."""
    outcome = rotifer("run", "gene", f"--input={text}")
    assert (outcome.status, outcome.stdout) == (2, "")
    reason = "UTF-8: byte 1\n" if "\udcff" in text else "JSON: "
    assert outcome.stderr.startswith(f"error[USAGE]: the input is not {reason}")
    assert "help: --input takes" in outcome.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": \xff}', "is not UTF-8: byte 6"),
        (b'{"a":', "is not JSON: Input data was truncated"),
        (b"", "is not JSON: it is empty"),
        (b" " * (contract.MAX_INPUT_BYTES + 1), "is larger than 16 MB"),
    ],
)
def test_what_is_wrong_with_a_file_names_it(tmp_path: Path, content: bytes, said: str) -> None:
    """An input that comes from a file is called by the file's name."""
    (tmp_path / "in put.json").write_bytes(content)
    with pytest.raises(UsageError, match=f"^the input in in put.json {said}"):
        read_input(Session(json=False, directory=tmp_path), "@in put.json")


def test_bad_json_names_the_place(tmp_path: Path) -> None:
    """The error says at which byte the input stops being JSON."""
    with pytest.raises(UsageError, match="byte 8"):
        read_input(Session(json=False, directory=tmp_path), '{"a": 1 "b"}')


@pytest.mark.parametrize("name", ["missing.json", ".", "x\0y"])
def test_a_file_that_cannot_be_read_is_wrong_usage(rotifer: Callable[..., Any], name: str) -> None:
    """An input file that is missing or none is named in the error."""
    outcome = rotifer("run", "gene", "--input", f"@{name}")
    assert outcome.status == 2
    assert outcome.stderr.startswith("error[USAGE]: cannot read the input from ")


def test_a_file_has_a_name(rotifer: Callable[..., Any]) -> None:
    """A lone @ names no file, and not the folder one is in."""
    outcome = rotifer("run", "gene", "--input", "@")
    assert outcome.status == 2
    assert outcome.stderr.startswith("error[USAGE]: cannot read the input: no name follows the @\nhelp: --input takes")


@pytest.mark.parametrize("source", ["@big.json", "-"])
def test_input_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """16 MiB are taken, one byte more is not, from a file or from standard input."""
    text = b'"' + b"x" * (contract.MAX_INPUT_BYTES - 2) + b'"'
    session = Session(json=False, directory=tmp_path)
    for padding, fits in ((b"", True), (b" ", False)):
        (tmp_path / "big.json").write_bytes(text + padding)
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text + padding)))
        if fits:
            assert len(read_input(session, source)) == contract.MAX_INPUT_BYTES - 2
        else:
            with pytest.raises(UsageError, match="larger than 16 MB"):
                read_input(session, source)
