"""The vectors for hosts, put to a gene on Node.js wherever a gene can say them in values."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import contract
from rotifer_host.conformance import host_own
from rotifer_host.conformance.host import examine
from rotifer_host.conformance.host_own import OwnHost
from rotifer_host.conformance.vectors import all_vectors, guest_source
from rotifer_host.conformance.vectors.notation import expand
from rotifer_host.gene.script import Script
from rotifer_host.node.program import NodeProgram
from rotifer_host.node.runner import NodeRunner
from rotifer_host.sandbox import assemble

GENE = Path(__file__).parent / "genes" / "scripted.mjs"
MEMBERS = {
    "readMemory": {"key", "category"},
    "writeMemory": {"key", "value", "category", "accessPolicy", "retentionPolicy"},
    "deleteMemory": {"key"},
}
ROOM = 64
OUT_OF_REACH = {contract.BUFFER_TOO_SMALL, contract.BUDGET_EXHAUSTED}
"""Results that a gene without pointers and fuel cannot get."""


class _Warm:
    """A runner that outlives the runs of the vectors."""

    compiled = False

    def __init__(self, runner: NodeRunner) -> None:
        self.run = runner.run

    def close(self) -> None:
        """Wait for the end of the test."""


def _sayable(call: Mapping[str, Any]) -> bool:
    """Tell whether a call can be made with values and without pointers."""
    name, request = call["call"], expand(call["request"])
    error = call.get("error")
    if (
        call.get("result") in OUT_OF_REACH
        or (error is not None and "is" in (error["message"] or {"is": ""}))
        or call["requestLen"] != len(request)
        or len(request) > contract.MAX_REQUEST_BYTES
        or (call["requestPtr"], call["outPtr"]) != (64 * contract.KIB, 4 * contract.MIB)
        or call["outCap"] < ROOM
    ):
        return False
    if name == "queryMemory" and not request:
        return True
    try:
        members = json.loads(
            request.decode(),
            parse_float=_unsayable,
            parse_constant=_unsayable,
            parse_int=_double,
            object_pairs_hook=_once,
        )
    except (ValueError, RecursionError):
        return False
    if name == "queryMemory":
        return members is None or (isinstance(members, dict) and ("filter" not in members or len(members) == 1))
    return isinstance(members, dict) and set(members) <= MEMBERS.get(name, set()) and _sayable_value(members)


def _sayable_value(members: Mapping[str, Any]) -> bool:
    value = members.get("value", "")
    try:
        return isinstance(value, str) and base64.b64encode(base64.b64decode(value, validate=True)).decode() == value
    except ValueError:
        return False


def _unsayable(text: str) -> float:
    raise ValueError(text)


def _double(text: str) -> int:
    if int(text) != float(text):
        raise ValueError(text)
    return int(text)


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(members)) != len(members):
        raise ValueError(members)
    return dict(members)


def _vectors() -> Iterator[Mapping[str, Any]]:
    for vector in all_vectors():
        runs = [step for step in vector["steps"] if step["do"] == "run"]
        scripted = all("calls" in step and step["ends"] == {"status": "ok"} and not step["limits"] for step in runs)
        if runs and scripted and all(_sayable(call) for step in runs for call in step["calls"]):
            yield vector


def test_a_script_keeps_the_rules_of_the_vectors(node: NodeProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gene on Node.js gets, changes and leaves behind just what the vectors say, audit and telemetry included."""
    runner = NodeRunner(Script("index.mjs", {"index.mjs": GENE.read_bytes()}), node)
    monkeypatch.setattr(host_own, "WasmRunner", lambda *_: _Warm(runner))
    try:
        with OwnHost(store="model") as host:
            report = examine(host, _vectors(), assemble(guest_source()))
    finally:
        runner.close()

    failed = [f"{one.point} {one.title}: {one.seen}" for one in report.verdicts if one.verdict == "fail"]
    assert failed == []
    assert sum(one.verdict == "pass" for one in report.verdicts) >= 300
