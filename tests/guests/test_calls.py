"""The guest libraries: what they ask the host, and what they make of its answers, in every language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.guests.modules import Guests

from rotifer_host import DataPolicy, Project
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
from rotifer_host.testing import ScriptedHost

LANGUAGES = ("assemblyscript", "c", "rust", "zig")
ACCESS = {"readScope": "ALL_GENES", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}
RETENTION = {"maxRetentionDays": 30, "autoDeleteOnTermination": True, "anonymizationSupported": False}
WRITE = {"call": "write", "key": "k", "value": "", "category": "CACHE"}
STORED = {"key": "k", "value": "", "category": "CACHE"}


def entry(value: str = "", **members: Any) -> dict[str, Any]:
    """Return an entry as the host writes it."""
    given = {
        "entryId": "0" * 64, "category": "CACHE", "key": "k", "value": value,
        "createdBy": "v2:a", "lastAccessedBy": "v2:b",
        "createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-02T00:00:00.000Z",
        "accessPolicy": ACCESS, "retentionPolicy": None,
    }  # fmt: skip
    return given | members


@pytest.fixture(params=LANGUAGES)
def module(request: pytest.FixtureRequest, guests: Guests) -> Path:
    """Return the module of each language's gene that makes any call."""
    return guests.module(f"calls-{request.param}")


ODD = 'é😀"\\\n\x1f/'
FILTER = {"category": "PATTERN", "keyPrefix": "p/", "since": "2026-01-01T00:00:00Z", "until": "t", "limit": 7}
SHARED = {"readScope": "SAME_DOMAIN", "writeScope": "ALL_GENES", "sharePolicy": "KNOWLEDGE_GENE"}
FOREVER = RETENTION | {"maxRetentionDays": None, "anonymizationSupported": True}
REQUESTS = [
    ({"call": "read", "key": "a/b"}, "readMemory", {"key": "a/b"}),
    ({"call": "read", "key": ODD, "category": "CONTEXT"}, "readMemory", {"key": ODD, "category": "CONTEXT"}),
    ({"call": "delete", "key": "k"}, "deleteMemory", {"key": "k"}),
    ({"call": "query"}, "queryMemory", {}),
    (FILTER | {"call": "query"}, "queryMemory", FILTER),
    ({"call": "query", "keyPrefix": ""}, "queryMemory", {"keyPrefix": ""}),
    (WRITE, "writeMemory", STORED),
    (WRITE | {"value": "é"}, "writeMemory", STORED | {"value": "w6k="}),
    (WRITE | {"value": "abc?>"}, "writeMemory", STORED | {"value": "YWJjPz4="}),
    (WRITE | {"value": "ÿÿ~ÿ\0"}, "writeMemory", STORED | {"value": "w7/Dv37DvwA="}),
    (WRITE | {"category": "PREFERENCE"}, "writeMemory", STORED | {"category": "PREFERENCE"}),
    (WRITE | {"access": ACCESS}, "writeMemory", STORED | {"accessPolicy": ACCESS}),
    (WRITE | {"access": SHARED}, "writeMemory", STORED | {"accessPolicy": SHARED}),
    (WRITE | {"retention": None}, "writeMemory", STORED | {"retentionPolicy": None}),
    (WRITE | {"retention": RETENTION}, "writeMemory", STORED | {"retentionPolicy": RETENTION}),
    (WRITE | {"retention": FOREVER}, "writeMemory", STORED | {"retentionPolicy": FOREVER}),
]


@pytest.mark.parametrize(("document", "call", "request_json"), REQUESTS)
def test_requests(module: Path, document: Any, call: str, request_json: Any) -> None:
    """A request has exactly the fields that were set, and `null` only where it was meant."""
    host = ScriptedHost()
    host.answer(call, {"writeMemory": entry(), "queryMemory": []}.get(call))
    result = host.run(module, document)
    assert result.status == "ok"
    (request,) = host.requests
    assert (request.call, request.json) == (call, request_json)
    assert json.dumps(request.json, sort_keys=True) == json.dumps(request_json, sort_keys=True)  # true is not 1


@pytest.mark.parametrize(
    ("value", "text"),
    [("", ""), ("YQ==", "a"), ("w6k=", "é"), ("YWJjPz4+", "abc?>>"), ("8J+YgA==", "😀"), ("AAEC", "\0\1\2")],
)
def test_values(module: Path, value: str, text: str) -> None:
    """Base64 of every length, and text beyond ASCII, come out as they were written."""
    host = ScriptedHost()
    host.answer("readMemory", entry(value))
    assert host.run(module, {"call": "read", "key": "k"}).output == {"entries": [entry(text)]}


@pytest.mark.parametrize("value", ["/w==", "wyg=", "7aCA", "gIA=", "8J+Y", "9JCAgA==", "AP//AA=="])
def test_values_that_are_no_text(module: Path, value: str) -> None:
    """Bytes that are no UTF-8 do not make the output no JSON."""
    host = ScriptedHost()
    host.answer("readMemory", entry(value))
    result = host.run(module, {"call": "read", "key": "k"})
    output: Any = result.output
    assert (result.status, output["entries"][0]["createdBy"]) == ("ok", "v2:a")


@pytest.mark.parametrize("policy", [None, RETENTION, RETENTION | {"maxRetentionDays": None}])
def test_entries(module: Path, policy: Any) -> None:
    """All members of an entry reach the gene, of one entry and of many, whatever is escaped in them."""
    one = entry(key='a"\\\u2028é😀', retentionPolicy=policy)
    other = entry("YQ==", category="PREFERENCE", createdBy="v2:c")
    host = ScriptedHost()
    host.answer("queryMemory", [one, other], [])
    host.answer("writeMemory", other)
    host.answer("readMemory", None)
    host.answer("deleteMemory", None, b"")
    assert host.run(module, {"call": "query"}).output == {"entries": [one, other | {"value": "a"}]}
    assert host.run(module, {"call": "query"}).output == {"entries": []}
    assert host.run(module, WRITE).output == {"entries": [other | {"value": "a"}]}
    assert host.run(module, {"call": "read", "key": "k"}).output == {"entries": []}
    assert host.run(module, {"call": "delete", "key": "k"}).output == {"entries": []}
    assert host.run(module, {"call": "delete", "key": "k"}).output == {"entries": []}


class LaterError(HostCallError):
    """A result that no host has yet."""

    result = -99
    code = "MEMORY_LATER"


@pytest.mark.parametrize(
    "error",
    [AccessDeniedError, QuotaExceededError, InvalidInputError, NotFoundError, StorageError, LaterError],
)
@pytest.mark.parametrize("message", ["why", "", 'é"\\\n😀' * 200])
def test_errors(module: Path, error: type[HostCallError], message: str) -> None:
    """Result, code and message of a failed call reach the gene."""
    host = ScriptedHost()
    host.answer("readMemory", error(message))
    output = host.run(module, {"call": "read", "key": "k"}).output
    assert output == {"failed": {"result": error.result, "code": error.code, "message": message}}


def test_used_up_budget_has_no_payload(module: Path) -> None:
    """-4 leaves nothing to read, and is told as such."""
    host = ScriptedHost()
    host.answer("readMemory", BudgetExhaustedError("no"))
    output = host.run(module, {"call": "read", "key": "k"}).output
    assert output == {"failed": {"result": -4, "code": "", "message": ""}}


@pytest.mark.parametrize("size", [5_000, 20_000, 1_400_000])
def test_retry_with_the_room_that_is_needed(module: Path, size: int) -> None:
    """After -1 the same request is made again, once, with the room the host named."""
    large = entry(createdBy="x" * size)
    host = ScriptedHost()
    host.answer("readMemory", large, large)
    assert host.run(module, {"call": "read", "key": "k"}).output == {"entries": [large]}
    first, second = host.requests
    assert first.body == second.body
    assert first.out_cap < size <= second.out_cap


def test_retry_when_the_entry_grew_meanwhile(module: Path) -> None:
    """Another run may make the entry larger between two tries: then there is a third."""
    answers = [entry(createdBy="x" * size) for size in (5_000, 50_000, 50_000)]
    host = ScriptedHost()
    host.answer("writeMemory", *answers)
    assert host.run(module, WRITE).output == {"entries": [answers[2]]}
    assert len(host.requests) == 3


def test_retry_without_a_size(module: Path) -> None:
    """A host that does not name the size is asked again with more room each time."""
    host = ScriptedHost()
    host.answer("queryMemory", BufferTooSmallError(""), BufferTooSmallError("too small"), [])
    assert host.run(module, {"call": "query"}).output == {"entries": []}
    caps = [request.out_cap for request in host.requests]
    assert caps == sorted(set(caps))


@pytest.fixture
def project(tmp_path: Path, guests: Guests) -> Project:
    """Return a project with the genes of all languages."""
    return guests.project(tmp_path / "calls", *(f"calls-{language}" for language in LANGUAGES))


def test_real_memory(project: Project) -> None:
    """Every request works at the real host, and one language reads what another wrote."""
    agents = {
        language: project.create_agent(
            language, [f"calls-{language}"], data_policy=DataPolicy(maxRetentionDays=30, anonymizationSupported=True)
        )
        for language in LANGUAGES
    }
    seen = []
    for agent in agents.values():
        steps = [
            WRITE | {"value": "é😀", "retention": RETENTION, "access": ACCESS | {"sharePolicy": "ANONYMIZED_SHARE"}},
            WRITE | {"value": "x", "retention": None, "category": "CONTEXT"},
            {"call": "query", "keyPrefix": "k", "category": "CONTEXT", "since": "2020-01-01T00:00:00Z", "limit": 1},
            {"call": "read", "key": "k", "category": "CACHE"},
            WRITE | {"key": "", "value": "y"},
            {"call": "delete", "key": "k"},
            {"call": "delete", "key": "k"},
        ]
        outputs = [agent.run(step).output for step in steps]
        for output in outputs:
            for found in output.get("entries", ()):
                for varying in ("createdBy", "lastAccessedBy", "createdAt", "updatedAt", "entryId"):
                    assert found.pop(varying)
        seen.append(outputs)
    assert all(outputs == seen[0] for outputs in seen)
    first, second, queried, other_category, bad, deleted, missing = seen[0]
    assert first["entries"][0]["retentionPolicy"] == RETENTION
    assert second["entries"][0] == first["entries"][0] | {"value": "x", "category": "CONTEXT", "retentionPolicy": None}
    assert queried == second
    assert other_category == deleted == {"entries": []}
    assert (bad["failed"]["result"], missing["failed"]["result"]) == (-10, -12)
