"""Rewriting: who may change the policies of an entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host.conformance.vectors.entries import (
    NEIGHBOUR,
    NOW,
    OWNER,
    Entry,
    Who,
    access,
    compact,
    encoded,
    entry,
    line,
    retention,
)
from rotifer_host.conformance.vectors.steps import ABI, API, Json, Vector, call, denied, run, write

_CITES: Final = API("The four calls")
_DENIED: Final = "MEMORY_ACCESS_DENIED"
_POLICY: Final = access("ALL_GENES", "SAME_DOMAIN")
_KEPT: Final = retention(9)
_E: Final = entry("k", "x", access=_POLICY, retention=_KEPT)


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    for who, name in ((OWNER, "the creator"), (NEIGHBOUR, "another gene")):
        yield _kept(f"policies that {name} leaves out stay as they are", who)
        yield _kept(f"{name} may pass the stored access policy", who, access=_POLICY)
        yield _kept(f"{name} may pass the stored retention policy", who, retention=_KEPT)
        yield _kept(f"{name} may pass both stored policies", who, access=_POLICY, retention=_KEPT)
        yield _kept(f"null for accessPolicy from {name} is left out", who, access=None)
    yield from _changes()
    yield from _without_retention()
    yield from _under_a_data_policy()


def _request(new: Entry, policies: Json) -> str:
    names = {"access": "accessPolicy", "retention": "retentionPolicy"}
    given = {names[name]: value for name, value in policies.items()}
    return compact({"key": new.key, "value": encoded(new.value), "category": new.category} | given)


def _kept(title: str, who: Who, **policies: object) -> Vector:
    new = _E.but(value="y", updated=NOW, reader=who)
    return Vector(
        title,
        _CITES,
        [run(who, call("writeMemory", _request(new, policies), gives=new))],
        [_E],
        after=[new],
        audit=[line("update", new, who)],
    )


def _changes() -> Iterator[Vector]:
    other_access = access("CREATOR_GENE_ONLY", "ALL_GENES")
    for title, policies, changed in (
        ("its access policy", {"access": other_access}, {"access": other_access}),
        ("its retention policy", {"retention": retention(1)}, {"retention": retention(1)}),
        ("its retention to for ever", {"retention": retention(None)}, {"retention": retention(None)}),
        ("a flag of its retention", {"retention": retention(9, delete=True)}, {"retention": retention(9, delete=True)}),
        ("its retention to that of the agent", {"retention": None}, {"retention": None}),
        (
            "both policies at once",
            {"access": other_access, "retention": retention(2)},
            {"access": other_access, "retention": retention(2)},
        ),
    ):
        new = _E.but(value="y", updated=NOW, **changed)
        yield Vector(
            f"the creator may change {title}",
            _CITES,
            [run(OWNER, call("writeMemory", _request(new, policies), gives=new))],
            [_E],
            after=[new],
            audit=[line("update", new, OWNER)],
        )
        yield Vector(
            f"another gene may not change {title}, and nothing is written",
            _CITES,
            [run(NEIGHBOUR, call("writeMemory", _request(new, policies), fails=denied()))],
            [_E],
            audit=[line("deny", _E, NEIGHBOUR, code=_DENIED)],
            telemetry=["writeMemory"],
        )
    default = access()
    yield Vector(
        "the default access policy, spelt out, is a change where another is stored",
        _CITES,
        [run(NEIGHBOUR, call("writeMemory", _request(_E, {"access": default}), fails=denied()))],
        [_E],
        audit=[line("deny", _E, NEIGHBOUR, code=_DENIED)],
        telemetry=["writeMemory"],
    )
    moved = Who(OWNER.gene_id, "search")
    open_to_all = _E.but(access=access("ALL_GENES", "ALL_GENES"))
    closed = open_to_all.but(value="y", updated=NOW, access=access("ALL_GENES", "CREATOR_GENE_ONLY"))
    yield Vector(
        "the creator is told by its id, not by its domain",
        _CITES,
        [run(moved, call("writeMemory", _request(closed, {"access": closed.access}), gives=closed))],
        [open_to_all],
        after=[closed],
        audit=[line("update", closed, moved)],
    )


def _without_retention() -> Iterator[Vector]:
    plain = entry("k", "x")
    new = plain.but(value="y", updated=NOW, reader=NEIGHBOUR)
    yield Vector(
        "another gene may pass null where null is stored",
        _CITES,
        [run(NEIGHBOUR, call("writeMemory", _request(new, {"retention": None}), gives=new))],
        [plain],
        after=[new],
        audit=[line("update", new, NEIGHBOUR)],
    )
    yield Vector(
        "for ever is not the same as null: another gene may not set it",
        _CITES,
        [run(NEIGHBOUR, call("writeMemory", _request(new, {"retention": retention(None)}), fails=denied()))],
        [plain],
        audit=[line("deny", plain, NEIGHBOUR, code=_DENIED)],
        telemetry=["writeMemory"],
    )


def _under_a_data_policy() -> Iterator[Vector]:
    strict = retention(5)
    rewritten = _E.but(value="y", updated=NOW)
    yield Vector(
        "a stored policy that the data policy no longer allows stays when it is left out",
        _CITES,
        [run(OWNER, write(rewritten))],
        [_E],
        after=[rewritten],
        audit=[line("update", rewritten, OWNER)],
        policy=strict,
    )
    shared = entry("k", "x", access=access(share="KNOWLEDGE_GENE"))
    changed = shared.but(access=access("ALL_GENES", share="KNOWLEDGE_GENE"))
    yield Vector(
        "a changed policy must fit the data policy of today",
        ABI("Memory rules"),
        [run(OWNER, call("writeMemory", _request(changed, {"access": changed.access}), fails=denied()))],
        [shared],
        audit=[line("deny", shared, OWNER, code=_DENIED)],
        telemetry=["writeMemory"],
    )
    configured = access(write="DEPLOYER_CONFIGURED")
    yield Vector(
        "the creator may not set DEPLOYER_CONFIGURED on a rewrite either",
        API("Access scopes"),
        [run(OWNER, call("writeMemory", _request(_E, {"access": configured}), fails=denied()))],
        [_E],
        audit=[line("deny", _E, OWNER, code=_DENIED)],
        telemetry=["writeMemory"],
    )
