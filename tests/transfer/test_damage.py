"""A file that is not what was written is refused whole, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.transfer.conftest import sealed, tree

from rotifer_host import Agent, Project
from rotifer_host.errors import TransferError

Refused = Callable[[bytes], str]
_FLIPS: Final = 100
_CUTS: Final = 30


def test_a_flipped_bit_anywhere(agent: Agent, file: Path, refused: Refused) -> None:
    """In any line, the last one included; the same places each time."""
    agent.export(file)
    data = file.read_bytes()
    choose = random.Random(20)  # noqa: S311 - to be repeated
    places = [*(choose.randrange(len(data)) for _ in range(_FLIPS)), *range(len(data) - 20, len(data))]
    for place in places:
        flipped = bytearray(data)
        flipped[place] ^= 1 << choose.randrange(8)
        assert refused(bytes(flipped)), place


def test_a_file_cut_short_anywhere(agent: Agent, file: Path, refused: Refused) -> None:
    """Between lines and in them, to nothing, and by its last byte alone."""
    agent.export(file)
    data = file.read_bytes()
    choose = random.Random(21)  # noqa: S311 - to be repeated
    ends = [place + 1 for place, byte in enumerate(data[:-1]) if byte == ord("\n")]
    for end in [0, 1, len(data) - 1, *ends, *(choose.randrange(len(data)) for _ in range(_CUTS))]:
        assert "nothing was imported" in refused(data[:end]), end


def test_more_than_there_should_be(agent: Agent, file: Path, refused: Refused) -> None:
    """After the last line: a byte, a line, the file once more."""
    agent.export(file)
    data = file.read_bytes()
    for more in (b"\n", b" ", b"{}\n", data):
        assert "goes on after its last line" in refused(data + more)


def test_lines_that_were_moved_or_left_out(lines: list[bytes], refused: Refused) -> None:
    """With the last line as it was, and with one that fits."""
    head, *entries = lines
    honest = sealed(lines)
    end = honest[len(b"".join(lines)) :]
    for changed in ([*reversed(entries)], entries[:-1], entries[1:], [*entries, entries[-1]]):
        assert refused(b"".join([head, *changed]) + end)
    assert "does not come after" in refused(sealed([head, *reversed(entries)]))


HEADS: dict[str, tuple[Any, str]] = {
    "another format": ({"format": "rotifer-recording"}, "holds no agent"),
    "no format": ({"format": None}, "holds no agent"),
    "another version": ({"v": 2}, "format version 2; this host reads 1"),
    "a version as text": ({"v": "1"}, 'format version "1"'),
    "a version as truth": ({"v": True}, "format version true"),
    "an undefined member": ({"more": 1}, "unknown field"),
    "genes of the wrong kind": ({"genes": [{"name": "x", "geneId": "x", "domain": None}]}, "geneId"),
    "no record": ({"agent": {}}, "its agent's record"),
    "a record's version": ({"agent": {"v": 9}}, "format version 1"),
    "an id that leads elsewhere": ({"agent": {"id": "../../../etc/x"}}, "must be a UUID"),
    "an id in capitals": ({"agent": {"id": "A" * 8 + "-AAAA-AAAA-AAAA-" + "A" * 12}}, "must be a UUID"),
    "a gene that leads elsewhere": ({"agent": {"genome": ["../x", "second"]}}, "gene name"),
    "a quota of nothing": ({"agent": {"memoryQuota": 0}}, "memoryQuota"),
    "a data policy": ({"agent": {"dataPolicy": {"maxRetentionDays": 0}}}, "dataPolicy"),
    "a composition": ({"agent": {"composition": {"type": "Single"}}}, "composition Single"),
}


@pytest.mark.parametrize(("change", "reason"), HEADS.values(), ids=HEADS)
def test_a_first_line_that_is_none(lines: list[bytes], refused: Refused, change: Any, reason: str) -> None:
    """With a digest that fits: what a file says is believed no more than what a request says."""
    head = json.loads(lines[0])
    if "agent" in change:
        change = {"agent": (head["agent"] | change["agent"]) if change["agent"] else {}}
    assert reason in refused(sealed([json.dumps(head | change).encode() + b"\n", *lines[1:]]))


ENTRIES: dict[str, tuple[Any, str]] = {
    "no key": ({"key": ""}, "key must not be empty"),
    "a key with NUL": ({"key": "a\0"}, "NUL"),
    "a long key": ({"key": "k" * 1025}, "at most 1024 bytes"),
    "a key that is no text": ({"key": 1}, "key"),
    "half a character": ({"key": "\ud800"}, "line 2"),
    "a category": ({"category": "preference"}, "category"),
    "base64 without padding": ({"value": "QQ"}, "canonical standard base64"),
    "base64 with stray bits": ({"value": "QR=="}, "canonical standard base64"),
    "a value of more than a megabyte": ({"value": "AAAA" * 349_526}, "at most 1048576 bytes"),
    "a creator": ({"createdBy": "v1:x"}, "createdBy"),
    "a reader": ({"lastAccessedBy": f"v2:{'A' * 64}"}, "lastAccessedBy"),
    "a domain": ({"creatorDomain": "Text"}, "creatorDomain"),
    "half an access policy": ({"accessPolicy": {"readScope": "ALL_GENES"}}, "accessPolicy"),
    "a scope": ({"accessPolicy": {"readScope": "A", "writeScope": "B", "sharePolicy": "C"}}, "readScope"),
    "days of retention": (
        {"retentionPolicy": {"maxRetentionDays": 0, "autoDeleteOnTermination": False, "anonymizationSupported": False}},
        "from 1 to 2147483647",
    ),
    "a flag of retention": (
        {"retentionPolicy": {"maxRetentionDays": 1, "autoDeleteOnTermination": 1, "anonymizationSupported": False}},
        "autoDeleteOnTermination",
    ),
    "a number that was never given": ({"sequence": 0}, "sequence"),
    "a number beyond all": ({"sequence": 1 << 60}, "sequence"),
    "a fraction": ({"updatedMs": 1.5}, "updatedMs"),
    "a time beyond all": ({"createdMs": 1 << 63}, "createdMs"),
    "an undefined member": ({"more": None}, "unknown field"),
}


@pytest.mark.parametrize(("change", "reason"), ENTRIES.values(), ids=ENTRIES)
def test_an_entry_that_breaks_a_rule(lines: list[bytes], refused: Refused, change: Any, reason: str) -> None:
    """Any that a gene's call would be refused for, with a digest that fits."""
    entry = json.loads(lines[1]) | change
    message = refused(sealed([lines[0], json.dumps(entry).encode() + b"\n", *lines[2:]]))
    assert reason in message
    assert "line 2" in message


def test_an_entry_that_lacks_something(lines: list[bytes], refused: Refused) -> None:
    """No member has a default."""
    entry = json.loads(lines[1])
    for member in entry:
        rest = {name: value for name, value in entry.items() if name != member}
        data = b"".join([lines[0], json.dumps(rest).encode() + b"\n", *lines[2:]])
        assert member in refused(data + b"the end does not matter\n")


def test_two_entries_with_one_key(lines: list[bytes], refused: Refused) -> None:
    """Though the file's digest and totals say so, too."""
    twin = json.loads(lines[-1])
    twin["sequence"] += 1
    message = refused(sealed([*lines, json.dumps(twin, ensure_ascii=False).encode() + b"\n"]))
    assert "two entries with the key" in message


@pytest.mark.parametrize("change", [{"entries": 4}, {"bytes": 0}, {"sha256": "0" * 64}, {"more": 1}])
def test_a_last_line_that_lies(lines: list[bytes], refused: Refused, change: Any) -> None:
    """About any of its numbers."""
    data = sealed(lines)
    body = b"".join(lines)
    end = {"end": json.loads(data[len(body) :])["end"] | change}
    assert "last line does not fit" in refused(body + json.dumps(end, separators=(",", ":")).encode() + b"\n")


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"{}\n", b"[]\n", b"null\n", b"\xff\xfe\n", b"x" * 3_000_000, b"[" * 100_000 + b"\n", b"\0" * 100],
    ids=["nothing", "a line", "{}", "[]", "null", "no text", "no lines", "too deep", "NULs"],
)
def test_what_is_no_such_file(refused: Refused, data: bytes) -> None:
    """Whatever it is."""
    assert refused(data)


def test_a_line_without_end(lines: list[bytes], refused: Refused) -> None:
    """It is read no further than an entry can be long."""
    assert "more than 2097152 bytes" in refused(lines[0] + b'{"key":"' + b"k" * 5_000_000)


def test_a_file_that_cannot_be_read(away: Project, tmp_path: Path) -> None:
    """Is named."""
    before = tree(away.root)
    for path in (tmp_path / "none", tmp_path, "\0"):
        with pytest.raises(TransferError, match="cannot read"):
            away.import_agent(path)
    assert tree(away.root) == before


def test_the_digest_is_of_all_bytes_before_the_last_line(agent: Agent, file: Path) -> None:
    """As other programs would check it."""
    agent.export(file)
    *body, last = file.read_bytes().splitlines(keepends=True)
    assert json.loads(last)["end"]["sha256"] == hashlib.sha256(b"".join(body)).hexdigest()
