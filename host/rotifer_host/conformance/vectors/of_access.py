"""Access scopes: who may read, change and delete an entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rotifer_host import contract
from rotifer_host.conformance.vectors.entries import (
    NEIGHBOUR,
    NOW,
    OTHER,
    OWNER,
    STRANGER,
    Who,
    access,
    entry,
    line,
)
from rotifer_host.conformance.vectors.steps import ABI, API, Json, Vector, delete, denied, read, run, write

_CITES: Final = API("Access scopes")
_DENIED: Final = "MEMORY_ACCESS_DENIED"
_MOVED: Final = Who(OWNER.gene_id, "search")
_CALLERS: Final[Mapping[str, Who]] = {
    "the creator": OWNER,
    "a gene of the creator's domain": NEIGHBOUR,
    "a gene of another domain": STRANGER,
    "a gene of a domain with the same beginning": OTHER,
    "the creator's id from another domain": _MOVED,
}
_ALLOWED: Final[Mapping[str, tuple[Who, ...]]] = {
    "CREATOR_GENE_ONLY": (OWNER, _MOVED),
    "SAME_DOMAIN": (OWNER, NEIGHBOUR),
    "ALL_GENES": tuple(_CALLERS.values()),
    "DEPLOYER_CONFIGURED": (),
}


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    for scope in contract.SCOPES:
        for name, who in _CALLERS.items():
            allowed = who in _ALLOWED[scope]
            yield _reading(scope, name, who, allowed=allowed)
            yield _rewriting(scope, name, who, allowed=allowed)
            yield _deleting(scope, name, who, allowed=allowed)
    yield from _independent()


def _verb(*, allowed: bool) -> str:
    return "may" if allowed else "may not"


def _reading(scope: str, name: str, who: Who, *, allowed: bool) -> Vector:
    one = entry("k", "x", access=access(scope, "SAME_DOMAIN"))
    title = f"readScope {scope}: {name} {_verb(allowed=allowed)} read"
    if not allowed:
        return _refused(title, [read("k", fails=denied())], who, "readMemory", one.access)
    return Vector(title, _CITES, [run(who, read("k", one.read_by(who)))], [one], after=[one.read_by(who)])


def _rewriting(scope: str, name: str, who: Who, *, allowed: bool) -> Vector:
    one = entry("k", "x", access=access("SAME_DOMAIN", scope))
    title = f"writeScope {scope}: {name} {_verb(allowed=allowed)} rewrite"
    new = one.but(value="y", updated=NOW, reader=who)
    if not allowed:
        return _refused(title, [write(new, fails=denied())], who, "writeMemory", one.access)
    return Vector(title, _CITES, [run(who, write(new))], [one], after=[new], audit=[line("update", new, who)])


def _deleting(scope: str, name: str, who: Who, *, allowed: bool) -> Vector:
    one = entry("k", "x", access=access("ALL_GENES", scope))
    title = f"writeScope {scope}: {name} {_verb(allowed=allowed)} delete"
    if not allowed:
        return _refused(title, [delete("k", fails=denied())], who, "deleteMemory", one.access)
    return Vector(title, _CITES, [run(who, delete("k"))], [one], after=[], audit=[line("delete", one, who)])


def _refused(title: str, calls: list[Json], who: Who, operation: str, policy: Mapping[str, str]) -> Vector:
    one = entry("k", "x", access=policy)
    return Vector(
        title,
        _CITES,
        [run(who, *calls)],
        [one],
        audit=[line("deny", one, who, code=_DENIED)],
        telemetry=[operation],
    )


def _independent() -> Iterator[Vector]:
    write_only = entry("k", "x", access=access("CREATOR_GENE_ONLY", "ALL_GENES"))
    overwritten = write_only.but(value="y", updated=NOW, reader=STRANGER)
    yield Vector(
        "who may write but not read gets the stored entry from a write, and not from a read",
        API("The four calls"),
        [run(STRANGER, write(overwritten), read("k", fails=denied()))],
        [write_only],
        after=[overwritten],
        audit=[line("update", overwritten, STRANGER), line("deny", overwritten, STRANGER, code=_DENIED)],
        telemetry=["readMemory"],
    )
    read_only = entry("k", "x", access=access("ALL_GENES", "CREATOR_GENE_ONLY"))
    seen = read_only.read_by(STRANGER)
    yield Vector(
        "who may read but not write can neither rewrite nor delete",
        _CITES,
        [run(STRANGER, read("k", seen), write(read_only, fails=denied()), delete("k", fails=denied()))],
        [read_only],
        after=[seen],
        audit=[line("deny", read_only, STRANGER, code=_DENIED)] * 2,
        telemetry=["writeMemory", "deleteMemory"],
    )
    shared = entry("k", "x", access=access("CREATOR_GENE_ONLY", share="KNOWLEDGE_GENE"))
    yield Vector(
        "a share policy opens nothing to the agent's own genes",
        _CITES,
        [run(NEIGHBOUR, read("k", fails=denied()))],
        [shared],
        audit=[line("deny", shared, NEIGHBOUR, code=_DENIED)],
        telemetry=["readMemory"],
    )
    theirs = entry("k", "x", by=STRANGER)
    by_owner = entry("mine", "x", by=_MOVED)
    yield Vector(
        "SAME_DOMAIN is the domain the creator had when it created the entry",
        ABI("Memory rules"),
        [run(OWNER, read("mine", fails=denied())), run(STRANGER, read("mine", by_owner.read_by(STRANGER)))],
        [theirs, by_owner],
        after=[theirs, by_owner.read_by(STRANGER)],
        audit=[line("deny", by_owner, OWNER, code=_DENIED)],
        telemetry=["readMemory"],
    )
    upper = Who(f"v2:{'e' * 64}", "Text.Format")
    one = entry("k", "x")
    yield Vector(
        "domains are compared character for character",
        ABI("Memory rules"),
        [run(upper, read("k", fails=denied()))],
        [one],
        audit=[line("deny", one, upper, code=_DENIED)],
        telemetry=["readMemory"],
    )
