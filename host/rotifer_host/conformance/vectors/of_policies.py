"""Access and retention policies as a write gives them, and what the agent's data policy allows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from rotifer_host import contract
from rotifer_host.conformance.vectors.entries import NOW, OWNER, access, compact, entry, line, retention
from rotifer_host.conformance.vectors.steps import ABI, API, Json, Vector, bad, call, denied, run, write

_DENIED: Final = "MEMORY_ACCESS_DENIED"


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _malformed_access()
    yield from _malformed_retention()
    yield from _stored()
    yield from _data_policy()


def _with(member: str, text: str) -> str:
    return f'{{"key":"k","value":"eA==","category":"CACHE","{member}":{text}}}'


def _malformed_access() -> Iterator[Vector]:
    whole = access()
    table = (
        ("without readScope", compact({"writeScope": "ALL_GENES", "sharePolicy": "PRIVATE"})),
        ("without writeScope", compact({"readScope": "ALL_GENES", "sharePolicy": "PRIVATE"})),
        ("without sharePolicy", compact({"readScope": "ALL_GENES", "writeScope": "ALL_GENES"})),
        ("that is empty", "{}"),
        ("with a fourth field", compact({**whole, "owner": "me"})),
        ("with an unknown scope to read", compact(access(read="NOBODY"))),
        ("with an unknown scope to write", compact(access(write="NOBODY"))),
        ("with an unknown share policy", compact(access(share="PUBLIC"))),
        ("with a scope in lower case", compact(access(read="all_genes"))),
        ("with a share policy in lower case", compact(access(share="private"))),
        ("with null for a scope", compact({**whole, "readScope": None})),
        ("with null for the share policy", compact({**whole, "sharePolicy": None})),
        ("that is a string", '"ALL_GENES"'),
        ("that is an array", '["ALL_GENES","ALL_GENES","PRIVATE"]'),
        ("that is false", "false"),
    )
    for what, text in table:
        yield Vector(
            f"an accessPolicy {what} is refused",
            ABI("Requests"),
            [run(OWNER, call("writeMemory", _with("accessPolicy", text), fails=bad("accessPolicy")))],
        )


def _malformed_retention() -> Iterator[Vector]:
    def days(text: str) -> str:
        return f'{{"maxRetentionDays":{text},"autoDeleteOnTermination":false,"anonymizationSupported":false}}'

    table = (
        ("without maxRetentionDays", '{"autoDeleteOnTermination":false,"anonymizationSupported":false}'),
        ("without autoDeleteOnTermination", '{"maxRetentionDays":1,"anonymizationSupported":false}'),
        ("without anonymizationSupported", '{"maxRetentionDays":1,"autoDeleteOnTermination":false}'),
        ("that is empty", "{}"),
        ("with a fourth field", compact({**retention(1), "hours": 1})),
        ("of 0 days", days("0")),
        ("of -1 days", days("-1")),
        ("of 2,147,483,648 days", days("2147483648")),
        ("of 1.0 days", days("1.0")),
        ("of 1e1 days", days("1e1")),
        ("of 1.5 days", days("1.5")),
        ("of a number of days as text", days('"1"')),
        ("of true days", days("true")),
        ("of more days than any integer type holds", days("9" * 400)),
        ("with null for autoDeleteOnTermination", compact({**retention(1), "autoDeleteOnTermination": None})),
        ("with 1 for anonymizationSupported", compact({**retention(1), "anonymizationSupported": 1})),
        ("with text for autoDeleteOnTermination", compact({**retention(1), "autoDeleteOnTermination": "true"})),
        ("that is a number", "30"),
        ("that is an array", "[30,false,false]"),
        ("that is false", "false"),
    )
    for what, text in table:
        yield Vector(
            f"a retentionPolicy {what} is refused",
            API("Errors"),
            [run(OWNER, call("writeMemory", _with("retentionPolicy", text), fails=bad("retentionPolicy")))],
        )


def _stored() -> Iterator[Vector]:
    cites = API("Access scopes")
    made = entry("k", "x", at=NOW)
    audit = [line("create", made, OWNER)]
    for what, text in (("left out", None), ("null", "null")):
        request: object = {"key": "k", "value": "eA==", "category": "CACHE"}
        yield Vector(
            f"an accessPolicy that is {what} is SAME_DOMAIN, SAME_DOMAIN, PRIVATE",
            cites,
            [run(OWNER, call("writeMemory", request if text is None else _with("accessPolicy", text), gives=made))],
            after=[made],
            audit=audit,
        )
    yield Vector(
        "a retentionPolicy of null is stored as null",
        cites,
        [run(OWNER, call("writeMemory", _with("retentionPolicy", "null"), gives=made))],
        after=[made],
        audit=audit,
    )
    for reading, writing in product(contract.SCOPES[:3], repeat=2):
        title = f"{reading} to read and {writing} to write can be set"
        yield _stored_as(title, cites, {"access": access(reading, writing)})
    table: tuple[tuple[str, Json], ...] = (
        ("1 day is the shortest retention", retention(1)),
        ("2,147,483,647 days are the longest", retention(2_147_483_647)),
        ("null days are for ever", retention(None)),
        ("both flags are stored as given", retention(7, delete=True, anonymous=True)),
    )
    for title, policy in table:
        yield _stored_as(title, API("How long entries are kept"), {"retention": policy})
    swapped = entry("k", "x", at=NOW, access=access("ALL_GENES", "CREATOR_GENE_ONLY"), retention=retention(3))
    request = (
        '{"retentionPolicy":{"anonymizationSupported":false,"autoDeleteOnTermination":false,"maxRetentionDays":3},'
        '"category":"CACHE","accessPolicy":{"sharePolicy":"PRIVATE","writeScope":"CREATOR_GENE_ONLY",'
        '"readScope":"ALL_GENES"},"value":"eA==","key":"k"}'
    )
    yield Vector(
        "members of a request come in any order, those of a response in the order of the ABI",
        ABI("Responses"),
        [run(OWNER, call("writeMemory", request, gives=swapped))],
        after=[swapped],
        audit=[line("create", swapped, OWNER)],
    )


def _stored_as(title: str, cites: str, policies: Json, *, policy: Json | None = None) -> Vector:
    made = entry("k", "x", at=NOW, **policies)
    step = run(OWNER, write(made, policies=True))
    audit = [line("create", made, OWNER)]
    if policy is None:
        return Vector(title, cites, [step], after=[made], audit=audit)
    return Vector(title, cites, [step], after=[made], audit=audit, policy=policy)


def _data_policy() -> Iterator[Vector]:
    cites = API("Access scopes")
    for part in ("read", "write"):
        yield _refused_as(
            f"a write that sets DEPLOYER_CONFIGURED to {part} is refused",
            cites,
            {"access": access(**{part: "DEPLOYER_CONFIGURED"})},
        )
    for share in ("ANONYMIZED_SHARE", "KNOWLEDGE_GENE"):
        yield _refused_as(
            f"{share} is refused by an agent that does not support anonymization",
            cites,
            {"access": access(share=share)},
        )
        yield _refused_as(
            f"{share} is refused, even with anonymizationSupported in the entry's own policy",
            cites,
            {"access": access(share=share), "retention": retention(1, anonymous=True)},
        )
        yield _stored_as(
            f"{share} is stored by an agent that supports anonymization",
            cites,
            {"access": access(share=share)},
            policy=retention(None, anonymous=True),
        )
    month = retention(30)
    for days in (31, None):
        shown = "for ever" if days is None else f"{days} days"
        yield _refused_as(
            f"a retention of {shown} is refused under a data policy of 30 days",
            cites,
            {"retention": retention(days)},
            policy=month,
        )
    for kept in (retention(30), retention(1), None):
        shown = "null" if kept is None else f"{kept['maxRetentionDays']} days"
        yield _stored_as(
            f"a retention of {shown} is stored under a data policy of 30 days", cites, {"retention": kept}, policy=month
        )
    yield _stored_as(
        "the flags of a retention policy are not measured against the data policy",
        ABI("Memory rules"),
        {"retention": retention(5, delete=True, anonymous=True)},
        policy=month,
    )


def _refused_as(title: str, cites: str, policies: Json, *, policy: Json | None = None) -> Vector:
    made = entry("k", "x", at=NOW, **policies)
    return Vector(
        title,
        cites,
        [run(OWNER, write(made, policies=True, fails=denied()))],
        audit=[line("deny", made, OWNER, code=_DENIED)],
        telemetry=["writeMemory"],
        policy=policy or retention(None),
    )
