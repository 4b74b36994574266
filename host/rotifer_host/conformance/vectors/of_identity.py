"""Who may call at all: a gene of an agent that has a v2 id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host.conformance.vectors.entries import NOW, OWNER, Who, access, entry, line
from rotifer_host.conformance.vectors.steps import (
    ABI,
    API,
    Vector,
    call,
    delete,
    denied,
    query,
    read,
    run,
    run_module,
    write,
)

_CITES: Final = API("Which genes can use memory")
_DENIED: Final = "MEMORY_ACCESS_DENIED"
_WITHOUT_ID: Final = Who(None, "text.format")
_ALONE: Final = Who(OWNER.gene_id, OWNER.domain, in_agent=False)
_E: Final = entry("k", "x", access=access("ALL_GENES", "ALL_GENES"))
_UNKNOWN: Final[dict[str, object]] = {"key": None, "entryId": None, "category": None, "bytes": None}


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    calls = {
        "readMemory": read("k", fails=denied()),
        "writeMemory": write(_E, fails=denied()),
        "queryMemory": query({}, fails=denied()),
        "deleteMemory": delete("k", fails=denied()),
    }
    callers: tuple[tuple[Who, str, dict[str, object]], ...] = (
        (_WITHOUT_ID, "a gene without a v2 id", {}),
        (_ALONE, "a gene that runs outside an agent", {"agentId": None, "agent": None}),
    )
    for who, name, more in callers:
        for function, made in calls.items():
            yield Vector(
                f"{name} is refused {function}, even where everybody may",
                _CITES,
                [run(who, made)],
                [_E],
                audit=[line("deny", _E, who, code=_DENIED, but=_UNKNOWN | more)],
                telemetry=[function],
            )
    yield Vector(
        "a gene without a v2 id does not learn whether an entry exists",
        _CITES,
        [run(_WITHOUT_ID, read("none", fails=denied()), delete("none", fails=denied()))],
        audit=[line("deny", _E, _WITHOUT_ID, code=_DENIED, but=_UNKNOWN)] * 2,
        telemetry=["readMemory", "deleteMemory"],
    )
    yield Vector(
        "a gene that makes no memory call needs neither agent nor id",
        _CITES,
        [
            run_module(
                Who(None, None, in_agent=False),
                '(module (memory (export "memory") 1) (data (i32.const 0) "true")'
                ' (func (export "express") (param i32 i32) (result i32) i32.const 0))',
                None,
                {"status": "ok"},
            )
        ],
        needs=["modules"],
    )
    theirs = entry("k", "x", by=Who(f"v2:{'e' * 64}", "text.format"), access=access("CREATOR_GENE_ONLY", "SAME_DOMAIN"))
    upgraded = Who(f"v2:{'f' * 64}", "text.format")
    yield Vector(
        "an upgraded gene has another id: it may not read what its old version kept to itself",
        API("Things to know before you deploy"),
        [run(upgraded, read("k", fails=denied()))],
        [theirs],
        audit=[line("deny", theirs, upgraded, code=_DENIED)],
        telemetry=["readMemory"],
    )
    old = entry("pref", "4", "PREFERENCE", by=Who(f"v2:{'e' * 64}", "text.format"))
    new = old.but(value="2", updated=NOW, reader=upgraded)
    yield Vector(
        "the memory belongs to the agent: a new gene of the domain finds and changes what the old one left",
        API("Example: a gene that remembers a preference"),
        [run(upgraded, read("pref", old.read_by(upgraded), category="PREFERENCE"), write(new))],
        [old],
        after=[new],
        audit=[line("update", new, upgraded)],
    )
    for who, name, memory in ((OWNER, "a gene of an agent", "true"), (_ALONE, "a gene alone", "false")):
        yield Vector(
            f"readContext tells {name} its permissions",
            ABI("Context"),
            [
                run(
                    who,
                    call(
                        "readContext",
                        "permissions",
                        gives=f'{{"memory":{memory},"network":false,"filesystem":false}}',
                    ),
                )
            ],
        )
    yield Vector(
        "readContext gives the agent's id, the ABI's version, and nothing for an unknown key",
        ABI("Context"),
        [
            run(
                OWNER,
                call("readContext", "agent_id", gives='"agent-1"'),
                call("readContext", "abi_version", gives="1"),
                call("readContext", "timestamp", gives="1772366400250"),
                call("readContext", "secrets", gives=""),
                call("readContext", "", gives=""),
            )
        ],
    )
    yield Vector(
        "readContext answers -1 for a value that does not fit and -10 for bad pointers, without a payload",
        ABI("Context"),
        [
            run(
                OWNER,
                call("readContext", "agent_id", cap=8, fails={"result": -1, "error": None}),
                call("readContext", "agent_id", cap=9, gives='"agent-1"'),
                call("readContext", "", at=(64 << 20) + 1, length=0, fails={"result": -10, "error": None}),
                call("readContext", "agent_id", out=64 << 20, cap=9, fails={"result": -10, "error": None}),
            )
        ],
    )
    yield Vector(
        "readContext gives null for the agent of a gene outside of any",
        ABI("Context"),
        [run(_ALONE, call("readContext", "agent_id", gives="null"))],
    )
