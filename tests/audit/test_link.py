"""Linking of lines: in Python, and in C where this machine can."""

from __future__ import annotations

import gc
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


def test_lines_that_change_while_they_are_linked() -> None:
    """A collection of garbage may run what shortens the list that C is handed: nothing behind its end is read."""
    extension = pytest.importorskip("rotifer_host.audit._line", reason=ABSENT, exc_type=ImportError)
    many = lines(1000)

    def shorten(phase: str, _info: object) -> None:
        if phase == "start":
            del many[3:]

    def link_at_a_collection() -> None:
        kept = [[number] for number in range(300)]  # so that Python has no used list to give again
        gc.enable()  # with more objects than the threshold: the list of what is linked begins one
        extension.link(many, None, b"")
        assert not kept

    threshold = gc.get_threshold()
    gc.disable()
    gc.callbacks.append(shorten)
    gc.set_threshold(1)
    try:
        with pytest.raises(RuntimeError, match="the lines changed while they were linked"):
            link_at_a_collection()
    finally:
        gc.enable()
        gc.set_threshold(*threshold)
        gc.callbacks.remove(shorten)
    assert len(many) == 3
