"""Linking of lines: in Python, and in C where this machine can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import pairwise

import msgspec
import pytest

from rotifer_host.audit import line as module

Link = Callable[[Sequence[bytes], bytes | None, bytes], tuple[list[bytes], bytes]]

ABSENT = "the extension is not built, or this processor has no instructions for SHA-256"
HEAD = sha256(b"the change before").digest()
ABOVE = sha256(b"the line above").digest()


@pytest.fixture(params=["Python", "C"])
def link(request: pytest.FixtureRequest) -> Link:
    """Give one of the two."""
    if request.param == "Python":
        return module._link_in_python
    extension = pytest.importorskip("rotifer_host.audit._line", reason=ABSENT, exc_type=ImportError)
    linked: Link = extension.link
    return linked


def lines(count: int) -> list[bytes]:
    """Return lines, each longer than the one before."""
    return [msgspec.json.encode({"n": "x" * number}) for number in range(count)]


@pytest.mark.parametrize("after", [None, b"", HEAD], ids=["not of a chain", "first of a chain", "goes on"])
@pytest.mark.parametrize("above", [b"", ABOVE], ids=["first of a file", "below another"])
def test_a_line_gets_its_last_members(link: Link, after: bytes | None, above: bytes) -> None:
    """`prev` where there is a chain, then `above`; each further line holds the one before it."""
    linked, last = link([b'{"n":1}', b'{"n":2}'], after, above)
    hashes = [sha256(text) for text in linked]
    assert last == hashes[-1].digest()
    begun = {"n": 1} if after is None else {"n": 1, "prev": after.hex() or None}
    followed = {"n": 2} if after is None else {"n": 2, "prev": hashes[0].hexdigest()}
    assert [msgspec.json.decode(text) for text in linked] == [
        begun | {"above": above.hex() or None},
        followed | {"above": hashes[0].hexdigest()},
    ]
    assert [list(msgspec.json.decode(text))[-1] for text in linked] == ["above", "above"]


def test_the_hash_is_right_for_every_length(link: Link) -> None:
    """Lines that end anywhere in a block of SHA-256, over four blocks and more, hold each other."""
    linked, last = link(lines(300), b"", b"")
    for before, text in pairwise(linked):
        said = msgspec.json.decode(text)
        assert said["prev"] == said["above"] == sha256(before).hexdigest()
    assert last == sha256(linked[-1]).digest()


def test_no_lines_are_none(link: Link) -> None:
    """Nothing is added to nothing, and the line above stays the last."""
    assert link((), HEAD, ABOVE) == ([], ABOVE)


NO_LINES = [([b""], None, b""), (["{}"], None, b""), ([b"{}"], "", b""), ([b"{}"], None, b"x"), (1, None, b""), ()]


@pytest.mark.parametrize("arguments", NO_LINES, ids=repr)
def test_what_is_no_line_is_refused(arguments: tuple[object, ...]) -> None:
    """C does not read what is not there."""
    extension = pytest.importorskip("rotifer_host.audit._line", reason=ABSENT, exc_type=ImportError)
    with pytest.raises(TypeError):
        extension.link(*arguments)
