"""Ask a host everything the vectors ask, and report a verdict for each."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rotifer_host import contract
from rotifer_host.conformance.chain import chain_complaints
from rotifer_host.conformance.judge import audit_complaints, call_complaints, member_complaints, same, state_complaints
from rotifer_host.conformance.protocol import (
    PROTOCOL_VERSION,
    SPIN,
    HostError,
    HostUnderTest,
    base64_text,
    call_step,
    grow,
    outcomes,
    script,
)
from rotifer_host.conformance.report import Report, Verdict
from rotifer_host.conformance.vectors.entries import expand_entries
from rotifer_host.conformance.vectors.notation import expand
from rotifer_host.text import shortened

__all__ = ["CAPABILITIES", "examine", "greet"]

Json = Mapping[str, Any]

CAPABILITIES: Final = {
    "audit": "shows the audit lines it wrote",
    "audit-chain": "shows them as they are written, chained by hashes",
    "deadline": "ends a run at its deadline",
    "deployer": "lists and deletes for the deployer",
    "ext.json": "offers the host module `rotifer.ext.json`",
    "ext.markdown": "offers the host module `rotifer.ext.markdown`",
    "fault-audit": "can be told to fail at every audit line",
    "fault-store": "can be told to fail at every commit",
    "fuel": "meters fuel",
    "host-time": "bounds the time spent in host calls",
    "modules": "runs modules other than the scripted guest",
    "replay": "runs a recorded run again, with the recorded answers",
    "telemetry": "shows the telemetry events it wrote",
    "wasi": "offers WASI preview 1",
}
"""What a host may lack, and what having it means."""

_GUEST_BYTES: Final = 64 * contract.MIB
_PAGE: Final = 65_536
_GENEROUS: Final = {"fuel": 20_000_000_000, "deadlineMs": 60_000, "hostTimeMs": 60_000}
_COMPLAINTS_SHOWN: Final = 3
_OUTPUT_SHOWN: Final = 200


def examine(host: HostUnderTest, vectors: Iterable[Json], guest: bytes) -> Report:
    """Put every vector to a host, which runs `guest`, the scripted one.

    Raises `HostError` when the host does not even answer the first message as it should.
    """
    name, able = greet(host, guest)
    return Report.of(name, _verdicts(host, vectors, able))


def greet(host: HostUnderTest, guest: bytes) -> tuple[str, frozenset[str]]:
    """Say hello to a host; return what it calls itself and its capabilities.

    Raises `HostError` when it does not answer as it should.
    """
    hello = host.ask({"do": "hello", "v": PROTOCOL_VERSION, "guest": base64_text(guest)})
    if "error" in hello:
        raise HostError(f"the host refuses to begin: {hello['error']}")
    if not same(hello.get("v"), PROTOCOL_VERSION):
        said = json.dumps(hello["v"]) if "v" in hello else "none"
        raise HostError(f"the host's hello has version {said} of the protocol as its v, not {PROTOCOL_VERSION}")
    able = hello.get("capabilities")
    if not isinstance(able, list) or not all(isinstance(one, str) for one in able):
        raise HostError("the host's hello has no list of capabilities")
    unknown = sorted(set(able) - set(CAPABILITIES))
    if unknown:
        raise HostError(f"the host claims capabilities that there are not: {', '.join(unknown)}")
    return str(hello.get("host", "the host")), frozenset(able)


def _verdicts(host: HostUnderTest, vectors: Iterable[Json], able: frozenset[str]) -> Iterator[Verdict]:
    gone = ""
    for vector in vectors:
        name, title, section = vector["id"], vector["title"], vector["section"]
        lacking = [tag for tag in vector["needs"] if tag not in able]
        if lacking:
            yield Verdict(name, title, "skipped", f"the host has no {', '.join(lacking)}", section=section)
            continue
        if gone:
            yield Verdict(name, title, "skipped", f"not asked: {gone}", section=section)
            continue
        try:
            complaints = list(_complaints(host, vector, able))
        except HostError as error:
            gone = error.message
            complaints = [error.message + (f"; {error.help}" if error.help else "")]
        if complaints:
            rest = len(complaints) - _COMPLAINTS_SHOWN
            seen = "; ".join(complaints[:_COMPLAINTS_SHOWN]) + (f"; and {rest} more" if rest > 0 else "")
            yield Verdict(name, title, "fail", seen, f"see {section}", section=section)
        else:
            yield Verdict(name, title, "pass", section=section)


def _complaints(host: HostUnderTest, vector: Json, able: frozenset[str]) -> Iterator[str]:
    load = {
        "do": "load",
        "agent": vector["agent"],
        "now": vector["now"],
        "faults": vector["faults"],
        "entries": [_carried(one) for one in expand_entries(vector["entries"])],
    }
    refusal = _refusal(host.ask(load))
    if refusal:
        yield f"load: {refusal}"
        return
    for number, step in enumerate(vector["steps"], start=1):
        where = f"step {number}: " if len(vector["steps"]) > 1 else ""
        yield from (where + complaint for complaint in _STEPS[step["do"]](host, step))
    dump = host.ask({"do": "dump"})
    if refusal := _refusal(dump):
        yield f"dump: {refusal}"
        return
    after = vector["after"]
    yield from state_complaints(expand_entries(after["entries"]), dump.get("entries"))
    if "audit" in able:
        yield from audit_complaints(after["audit"], dump.get("audit"))
    if "audit-chain" in able:
        yield from chain_complaints(dump.get("auditLines"))
    if "telemetry" in able:
        events = dump.get("telemetry")
        seen = [event.get("operation") for event in events] if isinstance(events, list) else events
        if seen != after["telemetry"]:
            yield f"telemetry events are {seen}, not {after['telemetry']}"


def _run(host: HostUnderTest, step: Json) -> Iterator[str]:
    message: dict[str, Any] = {"do": "run", "caller": step["caller"], "limits": {**_GENEROUS, **step["limits"]}}
    if "module" in step:
        yield from _run_module(host, message, step)
        return
    spins = step["ends"]["status"] == "limit"
    parts = [part for call in step["calls"] for part in _parts(call)]
    answer = host.ask(message | {"input": script([*parts, SPIN] if spins else parts)})
    if refusal := _refusal(answer):
        yield f"run: {refusal}"
        return
    wrong = list(member_complaints(step["ends"], answer))
    yield from (f"the run's {complaint}{_reason(answer)}" for complaint in wrong)
    if wrong or spins:
        return
    size, output = _GUEST_BYTES, answer.get("output")
    found = outcomes(output, len(step["calls"]))
    if found is None:
        yield f"the run's output is not what the scripted guest returns: {shortened(json.dumps(output), _OUTPUT_SHOWN)}"
        return
    for call, outcome in zip(step["calls"], found, strict=True):
        size += call.get("grow", 0) * _PAGE
        yield from call_complaints(call, outcome, size)


def _run_module(host: HostUnderTest, message: dict[str, Any], step: Json) -> Iterator[str]:
    from rotifer_host.sandbox import assemble  # noqa: PLC0415 - only where there is text to assemble

    module = base64_text(assemble(step["module"]))
    answer = host.ask(message | {"module": module, "input": step["input"]})
    if refusal := _refusal(answer):
        yield f"run: {refusal}"
        return
    for complaint in member_complaints(step["ends"], answer):
        yield f"the run's {complaint}{_reason(answer)}"


def _reason(answer: Json) -> str:
    return f" ({answer['message']})" if isinstance(answer.get("message"), str) else ""


def _parts(call: Json) -> Iterator[bytes]:
    if "grow" in call:
        yield grow(call["grow"])
    yield call_step(
        call["call"],
        expand(call["request"]),
        req_ptr=call["requestPtr"],
        req_len=call["requestLen"],
        out_ptr=call["outPtr"],
        out_cap=call["outCap"],
        repeat=call.get("repeat", 1),
    )


def _clock(host: HostUnderTest, step: Json) -> Iterator[str]:
    if refusal := _refusal(host.ask({"do": "clock", "now": step["now"]})):
        yield f"clock: {refusal}"


def _deployer(host: HostUnderTest, step: Json) -> Iterator[str]:
    answer = host.ask({name: value for name, value in step.items() if name != "gives"})
    gives = dict(step["gives"])
    listed = gives.pop("entries", None)
    if "error" not in gives and (refusal := _refusal(answer)):
        yield f"deployer: {refusal}"
        return
    yield from (f"deployer: {complaint}" for complaint in member_complaints(gives, answer))
    if listed is not None:
        found = answer.get("entries")
        if not isinstance(found, list) or not same(_by_key(listed), _by_key(found)):
            yield f"deployer: listed {found}, not {listed}"


def _by_key(entries: Sequence[Any]) -> list[Any]:
    return sorted(entries, key=lambda one: str(one.get("key")) if isinstance(one, dict) else "")


def _refusal(answer: Json) -> str | None:
    return None if "error" not in answer else str(answer["error"])


def _carried(one: Json) -> dict[str, Any]:
    """Return an entry of a vector as a message carries it: its value in base64."""
    return {**one, "value": base64.b64encode(expand(one["value"])).decode()}


_STEPS: Final = {"run": _run, "clock": _clock, "deployer": _deployer}
