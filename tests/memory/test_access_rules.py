"""Who may read, write, delete and change the policies of an entry."""

from __future__ import annotations

from typing import Any

import pytest

from rotifer_host.errors import AccessDeniedError, NotFoundError
from rotifer_host.memory import DataPolicy, delete_request, read_request, refused_outside_agent
from rotifer_host.memory.entry import entry_id

SCOPES = ("CREATOR_GENE_ONLY", "SAME_DOMAIN", "ALL_GENES")
SHARING = DataPolicy(anonymizationSupported=True)


def access(read: str = "SAME_DOMAIN", write: str = "SAME_DOMAIN", share: str = "PRIVATE") -> dict[str, str]:
    """Return an access policy as it is written on the wire."""
    return {"readScope": read, "writeScope": write, "sharePolicy": share}


def retention(days: int | None) -> dict[str, Any]:
    """Return a retention policy as it is written on the wire."""
    return {"maxRetentionDays": days, "autoDeleteOnTermination": False, "anonymizationSupported": False}


@pytest.mark.parametrize(
    ("scope", "who", "allowed"),
    [
        ("CREATOR_GENE_ONLY", ("a", "format"), True),
        ("CREATOR_GENE_ONLY", ("b", "format"), False),
        ("SAME_DOMAIN", ("a", "format"), True),
        ("SAME_DOMAIN", ("b", "format"), True),
        ("SAME_DOMAIN", ("b", "format.code"), False),
        ("SAME_DOMAIN", ("b", "forma"), False),
        ("ALL_GENES", ("b", "search"), True),
    ],
)
@pytest.mark.parametrize("call", ["read", "write", "delete"])
def test_scopes_let_in_whom_they_name(world: Any, call: str, scope: str, who: tuple[str, str], allowed: bool) -> None:  # noqa: FBT001
    """Reading asks the read scope, writing and deleting the write scope, and nothing else."""
    other = "ALL_GENES" if not allowed else "CREATOR_GENE_ONLY"
    policy = access(scope, other) if call == "read" else access(other, scope)
    world.write(world.gene("a"), "k", access_policy=policy)
    before = world.state()
    caller = world.gene(*who)
    actions = {
        "read": lambda: world.read(caller, "k"),
        "write": lambda: world.write(caller, "k", b"new"),
        "delete": lambda: world.memory.delete(caller, delete_request("k")),
    }
    world.audit.take()
    if allowed:
        actions[call]()
        assert world.telemetry.denied == []
        return
    with pytest.raises(AccessDeniedError) as caught:
        actions[call]()
    assert scope in caught.value.message
    assert "format" not in caught.value.message
    assert "v2:" not in caught.value.message
    assert before == world.state()
    (line,) = world.audit.lines
    assert (line.action, line.key, line.actor, line.geneId, line.domain) == ("memory.deny", "k", "gene", *caller)
    assert (line.code, line.entryId) == ("MEMORY_ACCESS_DENIED", entry_id("agent-1", "k").hex())
    assert line.reason == f"{call}Memory: {caught.value.message}"
    assert world.telemetry.denied == [("agent-1", caller.gene_id, f"{call}Memory")]
    assert world.memory.events.denied == {caller.gene_id: 1}


def test_the_domain_of_an_entry_is_the_one_its_creator_had(world: Any) -> None:
    """A gene of another domain that rewrites an entry does not move it to its own domain."""
    world.write(world.gene("a", "format"), "k", access_policy=access(write="ALL_GENES"))
    world.write(world.gene("b", "search"), "k")
    with pytest.raises(AccessDeniedError):
        world.read(world.gene("b", "search"), "k")
    assert world.read(world.gene("c", "format"), "k")["createdBy"] == world.gene("a").gene_id


def test_a_new_entry_gets_the_defaults(world: Any) -> None:
    """Without policies an entry is shared in its domain, private, and follows the data policy."""
    entry = world.write(world.gene("a"), "k", b"hello", "PATTERN")
    assert list(entry) == [
        "entryId",
        "category",
        "key",
        "value",
        "createdBy",
        "lastAccessedBy",
        "createdAt",
        "updatedAt",
        "accessPolicy",
        "retentionPolicy",
    ]
    assert entry["entryId"] == entry_id("agent-1", "k").hex()
    assert entry["value"] == "aGVsbG8="
    assert entry["createdBy"] == entry["lastAccessedBy"] == world.gene("a").gene_id
    assert entry["createdAt"] == entry["updatedAt"] == "2026-01-01T00:00:00.000Z"
    assert entry["accessPolicy"] == access()
    assert entry["retentionPolicy"] is None


def test_rewriting_keeps_what_identifies_an_entry_and_its_policies(world: Any) -> None:
    """Id, creator, creation and left-out policies stay; value, category, update and reader change."""
    first = world.write(
        world.gene("a"), "k", b"1", "PATTERN", access_policy=access("ALL_GENES"), retention_policy=retention(7)
    )
    world.clock.advance(ms=1500)
    second = world.write(world.gene("b"), "k", b"2", "CACHE")
    changed = {name for name in first if first[name] != second[name]}
    assert changed == {"value", "category", "updatedAt", "lastAccessedBy"}
    assert second["category"] == "CACHE"
    assert second["updatedAt"] == "2026-01-01T00:00:01.500Z"
    assert world.audit.actions() == [("create", "k"), ("update", "k")]


@pytest.mark.parametrize(
    ("letter", "given", "allowed"),
    [
        ("a", {"access_policy": access("ALL_GENES")}, True),
        ("a", {"retention_policy": retention(9)}, True),
        ("a", {"retention_policy": None}, True),
        ("b", {}, True),
        ("b", {"access_policy": access("ALL_GENES", "ALL_GENES")}, True),
        ("b", {"retention_policy": retention(7)}, True),
        ("b", {"access_policy": access("ALL_GENES")}, False),
        ("b", {"access_policy": access("ALL_GENES", "DEPLOYER_CONFIGURED")}, False),
        ("b", {"retention_policy": retention(8)}, False),
        ("b", {"retention_policy": retention(7) | {"anonymizationSupported": True}}, False),
        ("b", {"retention_policy": None}, False),
    ],
)
def test_only_the_creator_changes_policies(world: Any, letter: str, given: dict[str, Any], allowed: bool) -> None:  # noqa: FBT001
    """Another gene may pass the stored policies or none; null for the retention is a change too."""
    stored = access("ALL_GENES", "ALL_GENES")
    world.write(world.gene("a"), "k", access_policy=stored, retention_policy=retention(7))
    before = world.state()
    if allowed:
        entry = world.write(world.gene(letter), "k", b"2", **given)
        assert entry["accessPolicy"] == given.get("access_policy", stored)
        assert entry["retentionPolicy"] == given.get("retention_policy", retention(7))
    else:
        with pytest.raises(AccessDeniedError, match="only the gene that created an entry may change its"):
            world.write(world.gene(letter), "k", b"2", **given)
        assert before == world.state()


def test_null_is_the_same_as_a_stored_null_retention(world: Any) -> None:
    """A gene that is not the creator may pass null where the entry follows the data policy already."""
    world.write(world.gene("a"), "k")
    assert world.write(world.gene("b"), "k", retention_policy=None)["retentionPolicy"] is None


@pytest.mark.parametrize(
    ("policy", "given", "named"),
    [
        (DataPolicy(), {"access_policy": access(read="DEPLOYER_CONFIGURED")}, "DEPLOYER_CONFIGURED"),
        (SHARING, {"access_policy": access(write="DEPLOYER_CONFIGURED")}, "DEPLOYER_CONFIGURED"),
        (DataPolicy(), {"access_policy": access(share="ANONYMIZED_SHARE")}, "does not support anonymization"),
        (DataPolicy(), {"access_policy": access(share="KNOWLEDGE_GENE")}, "does not support anonymization"),
        (SHARING, {"access_policy": access(share="ANONYMIZED_SHARE")}, None),
        (SHARING, {"access_policy": access(share="KNOWLEDGE_GENE")}, None),
        (DataPolicy(), {"retention_policy": retention(None)}, None),
        (DataPolicy(), {"retention_policy": retention(2147483647)}, None),
        (DataPolicy(maxRetentionDays=30), {"retention_policy": retention(30)}, None),
        (DataPolicy(maxRetentionDays=30), {"retention_policy": retention(31)}, "at most 30 days, not 31 days"),
        (DataPolicy(maxRetentionDays=30), {"retention_policy": retention(None)}, "at most 30 days, not for ever"),
        (DataPolicy(maxRetentionDays=30), {"retention_policy": None}, None),
        (DataPolicy(), {"retention_policy": retention(1) | {"anonymizationSupported": True}}, None),
    ],
)
@pytest.mark.parametrize("existing", [False, True])
def test_a_write_must_fit_the_data_policy(
    world: Any,
    policy: DataPolicy,
    given: dict[str, Any],
    named: str | None,
    existing: bool,  # noqa: FBT001
) -> None:
    """What the deployer's policy does not allow is refused, on new entries and in changed policies."""
    if existing:
        world.write(world.gene("a"), "k", retention_policy=retention(5))
    before = world.state()
    world.reopen(policy=policy)
    if named is None:
        world.write(world.gene("a"), "k", **given)
        return
    with pytest.raises(AccessDeniedError, match=named):
        world.write(world.gene("a"), "k", **given)
    assert before == world.state()
    assert world.audit.actions()[-1] == ("deny", "k")


@pytest.mark.parametrize("letter", ["a", "b"])
def test_stored_policies_stay_under_a_stricter_data_policy(world: Any, letter: str) -> None:
    """A policy that was allowed when it was set may be left out or passed unchanged later on."""
    world.reopen(policy=SHARING)
    policies: dict[str, Any] = {"access_policy": access(share="KNOWLEDGE_GENE"), "retention_policy": retention(90)}
    world.write(world.gene("a"), "k", **policies)
    world.reopen(policy=DataPolicy(maxRetentionDays=30))
    for given in ({}, policies):
        entry = world.write(world.gene(letter), "k", b"2", **given)
        assert entry["accessPolicy"] == policies["access_policy"]
        assert entry["retentionPolicy"] == policies["retention_policy"]


def test_reading_with_a_category_matches_only_that(world: Any) -> None:
    """Another category is null, after the access check and without counting as an access."""
    world.write(world.gene("a"), "k", category="PATTERN")
    assert world.read(world.gene("b"), "k", "CACHE") is None
    assert world.read(world.gene("a"), "k", "PATTERN")["lastAccessedBy"] == world.gene("a").gene_id
    with pytest.raises(AccessDeniedError):
        world.read(world.gene("b", "search"), "k", "CACHE")
    world.memory.finish()
    assert [record.reader for _, record in world.state()[0]] == [world.gene("a").gene_id]


def test_what_is_missing_is_missing_for_everybody(world: Any) -> None:
    """A missing key reads as null and cannot be deleted; neither is recorded."""
    assert world.read(world.gene("a"), "k") is None
    with pytest.raises(NotFoundError):
        world.memory.delete(world.gene("a"), delete_request("k"))
    assert world.audit.lines == []


def test_deleting_removes_and_records(world: Any) -> None:
    """A delete answers null, and its line says what was removed."""
    world.write(world.gene("a"), "k", b"four", "CONTEXT")
    world.audit.take()
    assert world.memory.delete(world.gene("b"), delete_request("k")) == b"null"
    (line,) = world.audit.lines
    assert (line.action, line.key, line.category, line.bytes) == ("memory.delete", "k", "CONTEXT", 4)
    assert world.audit.durable == [True]
    assert world.keys() == set()


def test_a_refusal_stays_one_when_it_cannot_be_recorded(world: Any) -> None:
    """A full log does not turn a refused access into a storage error."""
    world.write(world.gene("a"), "k")
    world.audit.always_fails = True
    with pytest.raises(AccessDeniedError):
        world.memory.read(world.gene("b", "search"), read_request("k"))
    assert len(world.telemetry.denied) == 1


@pytest.mark.parametrize(
    ("agent_id", "gene_id", "named"), [(None, f"v2:{'a' * 64}", "runs outside"), ("agent-1", None, "v2 id")]
)
def test_calls_without_an_agent_or_a_v2_id_are_refused_and_recorded(
    world: Any, agent_id: str | None, gene_id: str | None, named: str
) -> None:
    """The refusal is audited and counted, with null for what is missing."""
    refusal = refused_outside_agent(
        audit=world.audit,
        telemetry=world.telemetry,
        clock=world.clock,
        patience=world.memory._changes.patience(),
        agent_id=agent_id,
        agent_name=agent_id,
        gene_id=gene_id,
        domain="format",
        operation="queryMemory",
    )
    assert isinstance(refusal, AccessDeniedError)
    assert named in refusal.message
    (line,) = world.audit.lines
    assert (line.action, line.agentId, line.geneId, line.key) == ("memory.deny", agent_id, gene_id, None)
    assert world.telemetry.denied == [(agent_id, gene_id, "queryMemory")]
