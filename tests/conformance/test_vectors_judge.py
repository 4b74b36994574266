"""Hosts that break one rule each: none of them gets away with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from rotifer_host.conformance.host import examine
from rotifer_host.conformance.host_own import OwnHost
from rotifer_host.conformance.protocol import HostError
from rotifer_host.conformance.report import Report
from rotifer_host.conformance.vectors import guest_source, vectors_of
from rotifer_host.sandbox import assemble

Answer = dict[str, Any]
Change = Callable[[Answer], Answer]


class Sabotaged:
    """This host, with its answers to one kind of message changed on their way."""

    def __init__(self, host: OwnHost, kind: str, change: Change) -> None:
        self.host = host
        self.kind = kind
        self.change = change

    def ask(self, message: Mapping[str, Any]) -> Answer:
        """Answer, a little wrong."""
        answer = self.host.ask(message)
        return self.change(answer) if message["do"] == self.kind else answer


def ask(part: str, kind: str, change: Change) -> Report:
    """Return the report on a host sabotaged this way."""
    with OwnHost(store="model") as host:
        return examine(Sabotaged(host, kind, change), vectors_of(part), assemble(guest_source()))


def first_call(where: slice, text: str) -> Change:
    """Return a change of the first call's report in the guest's output, in hex digits."""

    def change(answer: Answer) -> Answer:
        output = answer.get("output")
        if isinstance(output, str):
            answer["output"] = output[: where.start] + text + output[where.stop :]
        return answer

    return change


def each(member: str, change: Callable[[Any], Any]) -> Change:
    """Return a change of a list in a dump."""

    def changed(answer: Answer) -> Answer:
        answer[member] = [found for one in answer[member] if (found := change(one)) is not None]
        return answer

    return changed


def chained(text: str) -> str:
    """Return an audit line with another `prev`."""
    return json.dumps(json.loads(text) | {"prev": "0" * 64})


@pytest.mark.parametrize(
    ("part", "kind", "change", "seen"),
    [
        ("reading", "run", first_call(slice(0, 2), "07"), "gave 7, not"),
        ("reading", "run", first_call(slice(8, 10), "00"), "wrote outside [out_ptr, out_ptr + out_cap)"),
        ("reading", "run", first_call(slice(18, 20), "7b"), "answered"),
        ("budgets", "run", first_call(slice(10, 18), "0100000000"), "touched out"),
        ("reading", "run", lambda answer: answer | {"output": "zz"}, 'is not what the scripted guest returns: "zz"'),
        ("reading", "run", lambda answer: answer | {"output": None}, "is not what the scripted guest returns: null"),
        ("reading", "run", lambda answer: answer | {"status": "failed", "message": "no"}, "is failed, not ok (no)"),
        ("reading", "run", lambda _: {"error": "broken"}, "run: broken"),
        ("reading", "load", lambda _: {"error": "broken"}, "load: broken"),
        ("reading", "dump", lambda _: {"error": "broken"}, "dump: broken"),
        ("retention", "clock", lambda _: {"error": "broken"}, "clock: broken"),
        ("deployer", "deployer", lambda _: {"error": "broken"}, "deployer: broken"),
        ("deployer", "deployer", lambda answer: answer | {"used": 0.0}, "used is 0.0, not 0"),
        ("deployer", "deployer", lambda answer: answer | {"entries": []}, "deployer: listed"),
        ("reading", "dump", lambda answer: answer | {"entries": []}, "lost the entry"),
        ("reading", "dump", lambda answer: answer | {"entries": {}}, "dumped no list of entries"),
        ("reading", "dump", lambda answer: answer | {"entries": answer["entries"] * 2}, "two entries with one key"),
        ("identity", "dump", each("entries", lambda one: one | {"key": "other"}), "that should not be"),
        ("reading", "dump", each("entries", lambda one: one | {"value": "eQ=="}), "value is eQ==, not eA=="),
        ("reading", "dump", each("entries", lambda one: one | {"domain": "search"}), "domain is search"),
        ("writing", "dump", lambda answer: answer | {"audit": []}, "audit lines are []"),
        ("writing", "dump", lambda answer: answer | {"audit": None}, "dumped no list of audit lines"),
        ("writing", "dump", each("audit", lambda line: line | {"value": "x"}), "holds the value"),
        ("writing", "dump", each("audit", lambda line: line | {"bytes": 99}), "bytes is 99"),
        ("writing", "dump", each("audit", lambda line: line | {"reason": "because"}), "code and reason"),
        ("access", "dump", each("audit", lambda line: line | {"code": "OTHER"}), "code is OTHER"),
        ("writing", "dump", lambda answer: answer | {"audit": answer["audit"][::-1]}, "in another order"),
        ("access", "dump", lambda answer: answer | {"telemetry": []}, "telemetry events are []"),
        ("writing", "dump", each("auditLines", chained), "has seq and prev"),
        ("recording", "dump", each("auditLines", lambda _: "no JSON"), "is no JSON object"),
        ("recording", "dump", lambda answer: answer | {"auditLines": None}, "dumped no auditLines"),
    ],
)
def test_sabotage_is_found(part: str, kind: str, change: Change, seen: str) -> None:
    """A host whose answers are wrong in one way fails, and the report says in which."""
    report = ask(part, kind, change)

    assert not report.passed
    assert any(seen in verdict.seen for verdict in report.verdicts if verdict.verdict == "fail"), [
        verdict.seen for verdict in report.verdicts if verdict.verdict == "fail"
    ]
    assert all(verdict.todo for verdict in report.verdicts if verdict.verdict == "fail")


@pytest.mark.parametrize(
    ("hello", "message"),
    [
        ({"error": "not today"}, "refuses to begin: not today"),
        ({"v": 2, "capabilities": []}, "has version 2 of the protocol as its v, not 1"),
        ({"v": True, "capabilities": []}, "has version true of"),
        ({"v": 1}, "no list of capabilities"),
        ({"v": 1, "capabilities": [1]}, "no list of capabilities"),
        ({"v": 1, "capabilities": ["telepathy", "audit"]}, "capabilities that there are not: telepathy"),
    ],
)
def test_hello_must_be_understood(hello: Answer, message: str) -> None:
    """A host of another protocol is no host that fails: it is refused before it is asked."""
    with pytest.raises(HostError, match=message):
        ask("reading", "hello", lambda _: hello)


def test_what_a_host_cannot_do_is_skipped_and_said() -> None:
    """Without a capability its vectors are skipped, with the capability's name, and the rest is asked."""
    report = ask("budgets", "hello", lambda answer: answer | {"capabilities": ["deadline", "modules"]})

    assert report.passed
    assert {verdict.seen for verdict in report.verdicts if verdict.verdict == "skipped"} == {
        "the host has no fuel",
        "the host has no host-time",
    }


def test_a_host_that_can_nothing_at_all_is_asked_the_rest() -> None:
    """No capability is needed for the rules of memory themselves."""
    report = ask("access", "hello", lambda answer: answer | {"capabilities": []})

    assert report.counts["pass"] == len(report.verdicts)
