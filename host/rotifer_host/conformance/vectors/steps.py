"""The words the vectors are written in: runs, calls, what they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rotifer_host import contract
from rotifer_host.conformance.vectors.entries import (
    AGENT_ID,
    AGENT_NAME,
    NOW,
    OWNER,
    Entry,
    Many,
    Who,
    compact,
    encoded,
)
from rotifer_host.conformance.vectors.notation import Bytes, expand, hexed

__all__ = [
    "ABI",
    "API",
    "HOST_MODULES",
    "OUT_PTR",
    "PAGE",
    "REQUEST_PTR",
    "Json",
    "Vector",
    "bad",
    "call",
    "call_host_module",
    "clock",
    "delete",
    "denied",
    "deployer_delete",
    "deployer_list",
    "exhausted",
    "failure",
    "full",
    "missing",
    "query",
    "query_keys",
    "read",
    "run",
    "run_module",
    "short",
    "storage",
    "write",
]

Json = dict[str, Any]

REQUEST_PTR: Final = 0x1_0000
OUT_PTR: Final = 0x40_0000
PAGE: Final = 0x1_0000
_CAP: Final = 4096
_DELETED: Final = "null"


def API(section: str) -> str:  # noqa: N802 - reads as a citation
    """Cite a section of the Memory API."""
    return f'memory-api.en.md, "{section}"'


def ABI(section: str) -> str:  # noqa: N802
    """Cite a section of the guest ABI."""
    return f'abi/README.md, "{section}"'


def HOST_MODULES(section: str) -> str:  # noqa: N802
    """Cite a section of what is written of host modules."""
    return f'abi/host-modules.md, "{section}"'


@dataclass(frozen=True)
class Vector:
    """What a host is put into, what is done to it, and what it must answer and hold then."""

    title: str
    """The sentence of the specification that is tested, as it shows."""
    cites: str
    steps: Sequence[Json]
    entries: Sequence[Entry | Many] = ()
    """From the one changed longest ago to the one changed last."""
    after: Sequence[Entry | Many] | None = None
    """The same afterwards, in any order; None when nothing may have changed."""
    audit: Sequence[Json] = ()
    needs: Sequence[str] = ()
    quota: int = contract.DEFAULT_QUOTA_BYTES
    policy: Mapping[str, object] = field(
        default_factory=lambda: {
            "maxRetentionDays": None,
            "autoDeleteOnTermination": False,
            "anonymizationSupported": False,
        }
    )
    now: str = NOW
    telemetry: Sequence[str] = ()
    """Operations of the events, in order."""
    faults: Sequence[str] = ()

    def to_json(self, name: str) -> Json:
        """Return the vector as its file has it."""
        return {
            "id": name,
            "title": self.title,
            "section": self.cites,
            "needs": sorted(self.needs),
            "agent": {"id": AGENT_ID, "name": AGENT_NAME, "quota": self.quota, "dataPolicy": dict(self.policy)},
            "now": self.now,
            "faults": list(self.faults),
            "entries": [one.to_json() for one in self.entries],
            "steps": list(self.steps),
            "after": {
                "entries": [one.to_json() for one in (self.entries if self.after is None else self.after)],
                "audit": list(self.audit),
                "telemetry": list(self.telemetry),
            },
        }


# Steps.


def run(who: Who, *calls: Json, limits: Mapping[str, int] | None = None, ends: Json | None = None) -> Json:
    """Let the scripted guest run for `who` and make these calls."""
    return {
        "do": "run",
        "caller": who.to_json(),
        "limits": dict(limits or {}),
        "calls": list(calls),
        "ends": ends or {"status": "ok"},
    }


def run_module(
    who: Who, wat: str, document: object, ends: Mapping[str, object], *, limits: Mapping[str, int] | None = None
) -> Json:
    """Let a module of the vector's own run for `who` on one JSON value."""
    return {
        "do": "run",
        "caller": who.to_json(),
        "limits": dict(limits or {}),
        "module": wat,
        "input": document,
        "ends": dict(ends),
    }


def call_host_module(  # noqa: PLR0913 - a call, and who makes it with how much room
    module: str, function: str, document: object, gives: object, *, who: Who = OWNER, cap: int = 1 << 20
) -> Json:
    """Let a gene make one call to a host module; `gives` is a negative result, or the response."""
    result = gives if isinstance(gives, int) else 0
    wat = f"""(module
      (import "{contract.EXTENSION_PREFIX}{module}" "{function}"
        (func $call (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 64) (data (i32.const 16) "true")
      (func (export "alloc") (param i32) (result i32) i32.const 65536)
      (func (export "express") (param $at i32) (param $length i32) (result i32) (local $result i32)
        (local.set $result (call $call (local.get $at) (local.get $length) (i32.const 2097152) (i32.const {cap})))
        (if (i32.lt_s (local.get $result) (i32.const 0)) (then
          (if (i32.eq (local.get $result) (i32.const {result})) (then (return (i32.const 16))))
          unreachable))
        (i32.store8 offset=2097152 (local.get $result) (i32.const 0))
        i32.const 2097152))"""
    return run_module(who, wat, document, {"status": "ok", "output": True if result else gives})


def clock(now: str) -> Json:
    """Set the host's clock."""
    return {"do": "clock", "now": now}


def deployer_list(used: int, *entries: Entry, category: str | None = None) -> Json:
    """Let the deployer list the memory, and see these entries, in any order."""
    shown = [
        {
            "key": one.key,
            "category": one.category,
            "size": one.size,
            "createdBy": one.by.gene_id,
            "updatedAt": one.updated,
        }
        for one in entries
    ]
    return {"do": "deployer", "list": {"category": category}, "gives": {"used": used, "entries": shown}}


def deployer_delete(*, key: str | None = None, category: str | None = None, count: int | None) -> Json:
    """Let the deployer delete; `count` entries go, or none is there (None)."""
    asked = {"key": key} if category is None else {"category": category}
    gives: Json = {"error": "MEMORY_NOT_FOUND"} if count is None else {"deleted": count}
    return {"do": "deployer", "delete": asked, "gives": gives}


# Calls.


def call(  # noqa: PLR0913 - a call has this many parts
    function: str,
    request: object,
    *,
    gives: object = None,
    fails: Json | None = None,
    cap: int = _CAP,
    out: int = OUT_PTR,
    at: int = REQUEST_PTR,
    length: int | None = None,
    repeat: int = 1,
    grow: int = 0,
) -> Json:
    """Return a call and what it gives: an entry, a list of entries, or bytes; or how it fails.

    A request that is a dict is written as compact JSON, bytes as they are, anything else
    is bytes in the notation of the vectors. `grow` is how many pages memory grows first.
    """
    sent = compact(request) if isinstance(request, dict) else hexed(request) if isinstance(request, bytes) else request
    size = len(expand(sent))
    made: Json = {
        "call": function,
        "request": sent,
        "requestPtr": at,
        "requestLen": size if length is None else length,
        "outPtr": out,
        "outCap": cap,
    }
    if repeat != 1:
        made["repeat"] = repeat
    if grow:
        made["grow"] = grow
    if fails is not None:
        return made | fails
    response = rendered(gives)
    return made | {"result": len(expand(response)), "response": response}


def read(key: str, gives: object = None, *, category: str | None = None, **how: Any) -> Json:  # noqa: ANN401
    """Return a `readMemory`; it gives `null` unless told otherwise."""
    return call("readMemory", {"key": key} | ({} if category is None else {"category": category}), gives=gives, **how)


def write(one: Entry, gives: object = None, *, policies: bool = False, **how: Any) -> Json:  # noqa: ANN401
    """Return a `writeMemory` of the entry, with its policies if told so; it gives the entry unless told otherwise."""
    value = encoded(one.value)
    tail: Json = {"category": one.category}
    if policies:
        tail |= {"accessPolicy": one.access, "retentionPolicy": one.retention}
    parts = [f'{{"key":{compact(one.key)},"value":"', value, f'",{compact(tail)[1:]}']
    request = "".join(parts) if isinstance(value, str) else parts
    return call("writeMemory", request, gives=one if gives is None else gives, **how)


def query(filters: object, gives: Sequence[Entry] = (), **how: Any) -> Json:  # noqa: ANN401
    """Return a `queryMemory`."""
    return call("queryMemory", filters, gives=list(gives), **how)


def query_keys(filters: object, keys: Sequence[str], **how: Any) -> Json:  # noqa: ANN401
    """Return a `queryMemory` of which only the keys of the response are demanded, in order."""
    made = call("queryMemory", filters, **how)
    return {name: value for name, value in made.items() if name not in {"result", "response"}} | {"keys": list(keys)}


def delete(key: str, **how: Any) -> Json:  # noqa: ANN401
    """Return a `deleteMemory`; it gives `null` unless told otherwise."""
    return call("deleteMemory", {"key": key}, **({"gives": _DELETED} | how))


def rendered(gives: object) -> Bytes:
    """Return a response to the byte."""
    if gives is None:
        return _DELETED
    if isinstance(gives, Entry):
        return gives.text()
    if not (isinstance(gives, list) and all(isinstance(one, Entry) for one in gives)):
        return gives
    parts: list[Bytes] = ["["]
    for number, one in enumerate(gives):
        text = one.text()
        parts += [","] if number else []
        parts += [text] if isinstance(text, str) else text
    parts.append("]")
    return "".join(parts) if all(isinstance(part, str) for part in parts) else parts


# Failures.


def failure(result: int, code: str | None, message: Json | None) -> Json:
    """Return how a call fails; without a code it leaves `out` untouched.

    `message` is `{"is": text}`, or any of `{"holds": [...], "lacks": [...]}` for the
    parts that the host's own wording must have and must not have.
    """
    return {"result": result, "error": None if code is None else {"code": code, "message": message}}


def bad(*holds: str) -> Json:
    """-10; the message names the field."""
    return failure(contract.INVALID_INPUT, "MEMORY_INVALID_INPUT", {"holds": list(holds)})


def denied(*lacks: str) -> Json:
    """-2; the message tells nothing of the entry's owner or domain."""
    return failure(contract.ACCESS_DENIED, "MEMORY_ACCESS_DENIED", {"lacks": [*lacks, "v2:", "text.format"]})


def missing() -> Json:
    """-12."""
    return failure(contract.NOT_FOUND, "MEMORY_NOT_FOUND", {"holds": []})


def full(*numbers: int) -> Json:
    """-8; the message holds what is used, allowed, needed and evictable."""
    return failure(contract.QUOTA_EXCEEDED, "MEMORY_QUOTA_EXCEEDED", {"holds": [str(number) for number in numbers]})


def short(needs: object, cap: int, *, whole: bool = True) -> Json:
    """-1; the message says how much room the response needs."""
    size = len(expand(rendered(needs)))
    message = f"response needs {size} bytes, out_cap is {cap}" if whole else ""
    return failure(contract.BUFFER_TOO_SMALL, "MEMORY_BUFFER_TOO_SMALL", {"is": message})


def storage() -> Json:
    """-13."""
    return failure(contract.STORAGE_ERROR, "MEMORY_STORAGE_ERROR", {"holds": []})


def exhausted() -> Json:
    """-4; `out` stays untouched."""
    return failure(contract.BUDGET_EXHAUSTED, None, None)
