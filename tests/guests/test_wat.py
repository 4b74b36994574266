"""The gene to start from in WAT: its functions do what they say."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.guests.modules import ROOT

from rotifer_host import Agent
from rotifer_host.errors import BudgetExhaustedError, BufferTooSmallError, HostCallError, StorageError
from rotifer_host.testing import ScriptedHost, temporary_agent

WAT = ROOT / "abi" / "guest" / "rotifer.wat"


@pytest.fixture(scope="module")
def agent() -> Any:
    """Return an agent that repeats its last input."""
    with temporary_agent({"echo": WAT}) as agent:
        yield agent


@given(st.lists(st.text(), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_gives_back_what_came_before(agent: Agent, documents: list[str]) -> None:
    """Any text comes back one run later as it was: base64 in, base64 out."""
    agent.run("")
    for before, document in zip(["", *documents], documents, strict=False):
        assert agent.run(document).output == {"before": before}


@pytest.mark.parametrize("size", [0, 1, 2, 3, 2_800, 2_900, 100_000, 700_000])
def test_every_size(agent: Agent, size: int) -> None:
    """Values of any size are read back, however many tries it takes to find how much room they need."""
    agent.run("é" + "x" * size)
    assert agent.run("").output == {"before": "é" + "x" * size}


@pytest.mark.parametrize(
    "entry",
    [
        {"value": "MQ=="},
        {"a": '"value":"Mg=="', "value": "MQ=="},
        {"a": {"value": "Mg=="}, "b": ['\\"', "]}", {}], "c": -1.5, "value": "MQ==", "d": None},
    ],
)
def test_members(entry: dict[str, Any]) -> None:
    """A member is found by its name, not by what looks like it in another one's value."""
    host = ScriptedHost()
    host.answer("readMemory", entry)
    host.answer("writeMemory", {})
    assert host.run(WAT, "").output == {"before": "1"}


@pytest.mark.parametrize("answer", [None, {}, {"valu": "MQ=="}, {"value ": "MQ=="}, [{"value": "MQ=="}]])
def test_no_member(answer: Any) -> None:
    """What has no such member has none."""
    host = ScriptedHost()
    host.answer("readMemory", answer)
    host.answer("writeMemory", {})
    assert host.run(WAT, "").output == {"before": None}


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [(StorageError("disk"), "rejected", "disk"), (BudgetExhaustedError(""), "failed", "-4")],
)
@pytest.mark.parametrize("call", ["readMemory", "writeMemory"])
def test_giving_up(call: str, error: HostCallError, status: str, words: str) -> None:
    """A failed call is handed on, or its result where there is no payload."""
    host = ScriptedHost()
    host.answer("readMemory", *([error] if call == "readMemory" else [None]))
    if call == "writeMemory":
        host.answer("writeMemory", error)
    result = host.run(WAT, "")
    assert result.status == status
    assert result.error is not None
    assert words in result.error.message


def test_retry_without_a_size() -> None:
    """A host that names no size is asked again with twice the room, one that does with just that."""
    host = ScriptedHost()
    host.answer(
        "readMemory", BufferTooSmallError(""), BufferTooSmallError("response needs 10000 bytes, out_cap is 8192"), None
    )
    host.answer("writeMemory", {})
    assert host.run(WAT, "").output == {"before": None}
    assert [request.out_cap for request in host.requests if request.call == "readMemory"] == [4096, 8192, 10000]


def test_request() -> None:
    """The write carries the input as it came, in base64."""
    host = ScriptedHost()
    host.answer("readMemory", None)
    host.answer("writeMemory", {})
    host.run(WAT, "é\n")
    assert host.requests[1].json == {"key": "echo/last", "category": "CONTEXT", "value": "w6lcbg=="}


@pytest.mark.parametrize(
    "value",
    [
        b'"', b"\n", b"\x7f\x1f", b"\\", b"a\\x", b"\\u12", b"\\u0g00", b"\\u1234", b"\x80", b"\xc3", b"\xc3(",
        b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf",
        b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xff",
        b"\xe2\x82", b"\xf0\x9f\x98", "é".encode("utf-16"),
    ],
)  # fmt: skip
def test_bytes_that_are_no_text(value: bytes) -> None:
    """What another gene wrote and cannot stand in a string counts as nothing."""
    assert echoed(value) is None


@pytest.mark.parametrize(
    "text", ["", "a", "\x7f", "\x80", "߿", "ࠀ", "\ud7ff", "\ue000", "\uffff", "𐀀", "\U0010ffff", '\\"/\b\f\n\r\t\0\x1f']
)
def test_bytes_that_are_text(text: str) -> None:
    """Characters at both ends of every length, and all escapes, are text."""
    assert echoed(json.dumps(text, ensure_ascii=False)[1:-1].encode()) == text


def echoed(value: bytes) -> Any:
    """Return what comes of a value that lies in memory."""
    host = ScriptedHost()
    host.answer("readMemory", {"value": base64.b64encode(value).decode()})
    host.answer("writeMemory", {})
    result = host.run(WAT, "")
    assert result.status == "ok"
    output: Any = result.output
    return output["before"]


@pytest.mark.parametrize("document", [{}, [], None, 5, True])
def test_input_must_be_a_string(document: Any) -> None:
    """Anything else is rejected before memory is asked."""
    host = ScriptedHost()
    assert host.run(WAT, document).status == "rejected"
    assert not host.requests
