"""The agent's own memory, as the gene that the server acts as: every rule, and the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.mcp.clients import PROBE, Connection, audit, connected, put_gene

from rotifer_host import Project

CLOSED = {"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}
FOR_A_DAY = {"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False}


@pytest.mark.parametrize(
    ("given", "raw", "shown"),
    [
        ({"value": "grün\n"}, "grün\n".encode(), ("grün\n", "text")),
        ({"value": "", "encoding": "text"}, b"", ("", "text")),
        ({"value": "AP8=", "encoding": "base64"}, b"\x00\xff", ("AP8=", "base64")),
        ({"value": "Z3LDvG4=", "encoding": "base64"}, "grün".encode(), ("grün", "text")),
        ({"value": "plain", "encoding": None}, b"plain", ("plain", "text")),
    ],
)
def test_values(
    greeter: Connection, shared: Project, given: dict[str, Any], raw: bytes, shown: tuple[str, str]
) -> None:
    """A value is text or base64 on the way in, and on the way out text wherever the bytes are."""
    written = greeter.result("writeMemory", key="greeting/value", category="CACHE", **given)
    assert greeter.result("readMemory", key="greeting/value") == written
    assert (written["entry"]["value"], written["entry"]["encoding"]) == shown
    entry = shared.agent("greeter").memory(shared.gene("hello")).read("greeting/value")
    assert entry is not None
    assert entry.value == raw


def test_an_entry(greeter: Connection, shared: Project) -> None:
    """An entry has the members of the Memory API in their order, with the encoding, and is the gene's own."""
    entry = greeter.result(
        "writeMemory",
        key="greeting/entry",
        value="x",
        category="PATTERN",
        accessPolicy=CLOSED,
        retentionPolicy=FOR_A_DAY,
    )["entry"]
    assert list(entry) == [
        *("entryId", "category", "key", "value", "encoding", "createdBy", "lastAccessedBy"),
        *("createdAt", "updatedAt", "accessPolicy", "retentionPolicy"),
    ]
    assert entry["createdBy"] == entry["lastAccessedBy"] == shared.gene("hello").current_id()
    assert (entry["accessPolicy"], entry["retentionPolicy"]) == (CLOSED, FOR_A_DAY)
    again = {"key": "greeting/entry", "value": "y", "category": "PATTERN"}
    assert greeter.result("writeMemory", **again)["entry"]["retentionPolicy"] == FOR_A_DAY
    assert greeter.result("writeMemory", **again, retentionPolicy=None)["entry"]["retentionPolicy"] is None


def test_reading_what_is_not_there(greeter: Connection) -> None:
    """A missing entry, and one of another category, is null and no error."""
    greeter.result("writeMemory", key="greeting/cached", value="x", category="CACHE")
    assert greeter.result("readMemory", key="greeting/missing") == {"entry": None}
    assert greeter.result("readMemory", key="greeting/cached", category="CONTEXT") == {"entry": None}
    assert greeter.result("readMemory", key="greeting/cached", category="CACHE")["entry"]["value"] == "x"


def test_queries(greeter: Connection) -> None:
    """A query finds what all its filters match, the newest first."""
    for key in ("list/a", "list/b", "list/c"):
        greeter.result("writeMemory", key=key, value=key, category="CONTEXT")

    def found(**filters: Any) -> list[str]:
        return [entry["key"] for entry in greeter.result("queryMemory", **filters)["entries"]]

    assert found(keyPrefix="list/") == ["list/c", "list/b", "list/a"]
    assert found(keyPrefix="list/", limit=2, category="CONTEXT") == ["list/c", "list/b"]
    assert found(keyPrefix="list/", category="CACHE") == []
    assert found(keyPrefix="list/", since="2001-01-01T00:00:00Z", until="2001-01-02T00:00:00+01:00") == []
    assert found(category=None, keyPrefix="list/a", since=None) == ["list/a"]


def test_deleting(greeter: Connection) -> None:
    """A deleted entry is gone, and deleting it again is an error."""
    greeter.result("writeMemory", key="greeting/gone", value="x", category="CACHE")
    assert greeter.result("deleteMemory", key="greeting/gone") == {"deleted": 1}
    assert greeter.result("readMemory", key="greeting/gone") == {"entry": None}
    assert greeter.refusal("deleteMemory", key="greeting/gone")[0] == "MEMORY_NOT_FOUND"


WRITE = {"key": "k", "value": "v", "category": "CACHE"}


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("readMemory", {}, "key is required"),
        ("readMemory", {"key": ""}, "key must not be empty"),
        ("readMemory", {"key": 5}, "key must be a string"),
        ("readMemory", {"key": "a\0b"}, "NUL"),
        ("readMemory", {"key": "k" * 1025}, "at most 1024 bytes"),
        ("readMemory", {"key": "k", "category": "cache"}, "category must be one of"),
        ("readMemory", {"key": "k", "agent": "prober"}, 'undefined argument "agent"'),
        ("writeMemory", {"key": "k", "category": "CACHE"}, "value is required"),
        ("writeMemory", WRITE | {"value": 5}, "value must be a string"),
        ("writeMemory", WRITE | {"value": "v" * (1 << 20) + "v"}, "at most 1048576 bytes"),
        ("writeMemory", WRITE | {"value": "Zh==", "encoding": "base64"}, "canonical standard base64"),
        ("writeMemory", WRITE | {"encoding": "hex"}, "encoding must be one of text, base64"),
        ("writeMemory", WRITE | {"category": "EVERYTHING"}, "category must be one of"),
        ("writeMemory", WRITE | {"accessPolicy": {"readScope": "ALL_GENES"}}, "accessPolicy"),
        ("writeMemory", WRITE | {"accessPolicy": CLOSED | {"readScope": "ANYBODY"}}, "readScope"),
        ("writeMemory", WRITE | {"retentionPolicy": FOR_A_DAY | {"maxRetentionDays": 0}}, "maxRetentionDays"),
        ("writeMemory", WRITE | {"retentionPolicy": 1}, "retentionPolicy"),
        ("queryMemory", {"limit": 0}, "limit must be a whole number from 1 to 1000"),
        ("queryMemory", {"limit": 1.0}, "limit must be a whole number"),
        ("queryMemory", {"since": "yesterday"}, "RFC 3339"),
        ("queryMemory", {"filter": {}}, 'undefined argument "filter"'),
        ("deleteMemory", {}, "key is required"),
        ("deleteMemory", {"key": None}, "key must be a string, not null"),
    ],
)
def test_malformed_arguments(greeter: Connection, tool: str, arguments: dict[str, Any], said: str) -> None:
    """Arguments that a call does not take are refused as in a host call, naming the argument and the rule."""
    code, message = greeter.refusal(tool, **arguments)
    assert code == "MEMORY_INVALID_INPUT"
    assert said in message


@pytest.fixture(scope="module")
def stranger(shared: Project) -> Iterator[Connection]:
    """Connect to an agent with little room, acting as a gene that is not of its genome and of another domain."""
    put_gene(shared, "stranger", PROBE, domain="elsewhere")
    shared.compile("stranger")
    shared.create_agent("small", ["hello"], memory_quota=4096)
    with connected(shared, "--agent", "small", "--gene", "stranger") as connection:
        yield connection


def test_policies_bind_the_gene(stranger: Connection, shared: Project) -> None:
    """Another gene's closed entry is refused to the gene the server acts as, on record, and left out of queries."""
    agent, hello = shared.agent("small"), shared.gene("hello")
    agent.memory(hello).write("greeting/mine", b"x", "CONTEXT")
    for tool, arguments in (
        ("readMemory", {"key": "greeting/mine"}),
        ("writeMemory", {"key": "greeting/mine", "value": "y", "category": "CONTEXT"}),
        ("deleteMemory", {"key": "greeting/mine"}),
    ):
        assert stranger.refusal(tool, **arguments)[0] == "MEMORY_ACCESS_DENIED"
        last = audit(shared)[-1]
        assert (last["action"], last["agent"]) == ("memory.deny", "small")
        assert last["geneId"] == shared.gene("stranger").current_id()
    assert "greeting/mine" not in {entry["key"] for entry in stranger.result("queryMemory")["entries"]}
    policy = CLOSED | {"sharePolicy": "ANONYMIZED_SHARE"}
    code, _ = stranger.refusal("writeMemory", key="open", value="z", category="CACHE", accessPolicy=policy)
    assert code == "MEMORY_ACCESS_DENIED"
    entry = agent.memory(hello).read("greeting/mine")
    assert entry is not None
    assert entry.value == b"x"


def test_changes_are_on_record(stranger: Connection, shared: Project) -> None:
    """Each change has its line in the audit log, as the gene's, and the log proves the memory."""
    before = len(audit(shared))
    stranger.result("writeMemory", key="a", value="x", category="CACHE")
    stranger.result("writeMemory", key="a", value="yy", category="CACHE")
    stranger.result("deleteMemory", key="a")
    lines = audit(shared)[before:]
    assert [(line["action"], line["key"], line["bytes"]) for line in lines] == [
        ("memory.create", "a", 1),
        ("memory.update", "a", 2),
        ("memory.delete", "a", 2),
    ]
    assert {line["geneId"] for line in lines} == {shared.gene("stranger").current_id()}
    log, proofs = shared.verify_audit("small")
    assert proofs["small"].problems(log.name) == []


def test_a_full_memory(stranger: Connection) -> None:
    """A write that does not fit is refused with the numbers that say why."""
    code, message = stranger.refusal("writeMemory", key="k", value="v" * 4096, category="PREFERENCE")
    assert code == "MEMORY_QUOTA_EXCEEDED"
    assert "4096" in message


def test_a_log_that_cannot_be_written(stranger: Connection, shared: Project) -> None:
    """Where the audit log cannot be written nothing changes, and the client is told."""
    stranger.result("writeMemory", key="b", value="x", category="CACHE")
    away = shared.audit_path.with_suffix(".away")
    shared.audit_path.rename(away)
    shared.audit_path.mkdir()
    try:
        assert stranger.refusal("writeMemory", key="b", value="y", category="CACHE")[0] == "MEMORY_STORAGE_ERROR"
        assert stranger.result("readMemory", key="b")["entry"]["value"] == "x"
    finally:
        shared.audit_path.rmdir()
        away.rename(shared.audit_path)


def test_a_gene_that_has_lost_its_id(stranger: Connection, shared: Project) -> None:
    """A gene without a phenotype acts no more until it has one again."""
    phenotype = shared.genes_path / "stranger" / "phenotype.json"
    away = phenotype.with_suffix(".away")
    phenotype.rename(away)
    try:
        assert stranger.refusal("readMemory", key="b")[0] == "PHENOTYPE"
    finally:
        away.rename(phenotype)
    assert stranger.result("readMemory", key="missing") == {"entry": None}
