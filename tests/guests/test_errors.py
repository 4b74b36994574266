"""The notes have an answer to every failure of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.guests.modules import Guests

from rotifer_host.errors import (
    AccessDeniedError,
    BudgetExhaustedError,
    BufferTooSmallError,
    HostCallError,
    InvalidInputError,
    NotFoundError,
    QuotaExceededError,
    StorageError,
)
from rotifer_host.testing import ScriptedHost, temporary_agent

NAME = "errors-assemblyscript"
SAVE = {"do": "save", "name": "n", "text": "t"}
ACTIONS = {"save": "writeMemory", "show": "readMemory", "list": "queryMemory", "forget": "deleteMemory"}


@pytest.fixture
def module(guests: Guests) -> Path:
    """Return the gene's module."""
    return guests.module(NAME)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    ("error", "output"),
    [
        (AccessDeniedError("not yours"), {"status": "denied", "message": "not yours"}),
        (BudgetExhaustedError("no"), {"status": "unfinished"}),
        (StorageError(""), {"status": "unavailable"}),
        (StorageError("disk"), {"status": "unavailable", "message": "disk"}),
    ],
)
def test_failures_are_told(module: Path, action: str, error: HostCallError, output: Any) -> None:
    """A failure that nothing can be done about is an output of its own, for each call."""
    host = ScriptedHost()
    host.answer(ACTIONS[action], error)
    result = host.run(module, SAVE | {"do": action})
    assert (result.status, result.output) == ("ok", output)


@pytest.mark.parametrize("action", ACTIONS)
def test_bad_input_is_rejected(module: Path, action: str) -> None:
    """What the host calls invalid rejects the gene's own input, in the host's words."""
    host = ScriptedHost()
    host.answer(ACTIONS[action], InvalidInputError("key: too long"))
    result = host.run(module, SAVE | {"do": action})
    assert result.status == "rejected"
    assert result.error is not None
    assert result.error.message == "key: too long"


def test_small_buffers_are_not_seen(module: Path) -> None:
    """-1 is answered with a larger buffer."""
    host = ScriptedHost()
    host.answer("queryMemory", BufferTooSmallError("response needs 9000 bytes, out_cap is 4096"), [])
    assert host.run(module, SAVE | {"do": "list"}).output == {"status": "listed", "names": []}
    assert [request.out_cap for request in host.requests] == [4096, 9000]


def test_forgetting_what_is_gone_is_done(module: Path) -> None:
    """-12 is what was wanted."""
    host = ScriptedHost()
    host.answer("deleteMemory", NotFoundError("gone"))
    assert host.run(module, SAVE | {"do": "forget"}).output == {"status": "forgotten"}


def note(name: str) -> dict[str, str]:
    """Return the part of an entry that the gene looks at."""
    return {"key": f"notes/{name}", "value": ""}


def test_full_memory_makes_room(module: Path) -> None:
    """On -8 the oldest note that may be forgotten goes, not the one being written, and the write is made again."""
    host = ScriptedHost()
    host.answer("writeMemory", QuotaExceededError("full"), note("n"))
    host.answer("queryMemory", [note("young"), note("old"), note("foreign"), note("n")])
    host.answer("deleteMemory", AccessDeniedError("not yours"), None)
    assert host.run(module, SAVE).output == {"status": "saved", "dropped": "old"}
    assert [request.json["key"] for request in host.requests if request.call == "deleteMemory"] == [
        "notes/foreign",
        "notes/old",
    ]


@pytest.mark.parametrize("notes", [[], StorageError("disk"), [note("n")]])
def test_full_memory_without_room_is_told(module: Path, notes: Any) -> None:
    """With nothing to forget the refusal stands, and the write is not made again."""
    host = ScriptedHost()
    host.answer("writeMemory", QuotaExceededError("full"))
    host.answer("queryMemory", notes)
    assert host.run(module, SAVE).output == {"status": "full", "message": "full"}


def test_second_refusal_is_told(module: Path) -> None:
    """Room for one note may not be enough: there is no third try."""
    host = ScriptedHost()
    host.answer("writeMemory", QuotaExceededError("full"), QuotaExceededError("still full"))
    host.answer("queryMemory", [note("old")])
    host.answer("deleteMemory", None)
    assert host.run(module, SAVE).output == {"status": "full", "message": "still full"}


def test_real_quota(module: Path) -> None:
    """In a real memory the oldest notes make room for new ones, and none of the others is touched."""
    with temporary_agent({"notes": module}, memory_quota=1024) as agent:
        outputs = [agent.run({"do": "save", "name": str(number), "text": "x" * 300}).output for number in range(5)]
        assert [output.get("dropped") for output in outputs] == [None, None, None, "0", "1"]
        assert agent.run(SAVE | {"do": "list"}).output == {"status": "listed", "names": ["4", "3", "2"]}
        assert agent.run({"do": "save", "name": "huge", "text": "x" * 2000}).output["status"] == "full"
