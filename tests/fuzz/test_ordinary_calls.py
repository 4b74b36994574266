"""Any runs, on a memory that C may answer for and on one that only the Python rules answer for: the same in all."""

from __future__ import annotations

import base64
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.memory.twins import TRAP, Call, RestlessClock, Step, Twin, amid, gene, outcome, paired

from rotifer_host import DataPolicy, contract
from rotifer_host.lock import Wait
from rotifer_host.memory import delete_request, read_request, write_request

BUDGET = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "80")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
START_MS = 1_767_225_600_000

callers = st.sampled_from([gene("a"), gene("a"), gene("b"), gene("c", "search"), gene("a", "search"), None])
keys = st.sampled_from(
    [
        "k",
        "k",
        "k",
        "l",
        "a",
        "a/b",
        "a/bc",
        "a b",
        "\x7f",
        "é",
        "\U0001f9ec",
        '"',
        "\\",
        "\0",
        "",
        "k" * 1024,
        "k" * 1025,
    ]
)
values = st.sampled_from(
    ["", "AA==", "AAA=", "AAAA", "AAAA" * 30, "AAAA" * 100, "AB==", "AAB=", "A", "AAAA\n", "-_-_", "=", "é"]
)
any_values = st.binary(max_size=40).map(lambda value: base64.b64encode(value).decode())
categories = st.sampled_from([*contract.CATEGORIES, "CACHE", "CACHE", "cache", "", None])
policies = st.fixed_dictionaries(
    {
        "readScope": st.sampled_from(contract.SCOPES),
        "writeScope": st.sampled_from(contract.SCOPES),
        "sharePolicy": st.sampled_from(contract.SHARE_POLICIES),
    }
)
retentions = st.fixed_dictionaries(
    {
        "maxRetentionDays": st.none() | st.integers(1, 2),
        "autoDeleteOnTermination": st.booleans(),
        "anonymizationSupported": st.booleans(),
    }
)
MEMBERS = {
    "key": keys,
    "value": values | any_values,
    "category": categories,
    "accessPolicy": st.none() | policies,
    "retentionPolicy": st.none() | retentions,
    "keyPrefix": keys,
    "limit": st.integers(0, 3),
}
NEEDED = {
    "readMemory": ["key"],
    "writeMemory": ["key", "value", "category"],
    "queryMemory": [],
    "deleteMemory": ["key"],
}
POSSIBLE = {
    "readMemory": ["category"],
    "writeMemory": ["accessPolicy", "retentionPolicy"],
    "queryMemory": ["keyPrefix"],
}
PLAIN = {
    "key": st.sampled_from(["k", "k", "l", "a/b", "a"]),
    "value": st.sampled_from(["", "AA==", "AAAA", "AAAA" * 30]),
    "category": st.sampled_from(contract.CATEGORIES),
}
names = st.sampled_from(["readMemory"] * 4 + ["writeMemory"] * 5 + ["queryMemory", "deleteMemory"])
spaces = st.sampled_from(["", "", "", " ", "\n", "\t \r\n"])
rarely = st.integers(0, 7).map(lambda number: number == 0)


@st.composite
def requests(draw: st.DrawFn, name: str) -> bytes:
    """Draw a request: mostly a plain one, else one with anything in it, sometimes damaged."""
    wanted = list(NEEDED[name])
    plain = draw(st.integers(0, 2)) > 0
    if name == "readMemory" and draw(rarely):
        wanted.append("category")
    if not plain:
        wanted += [member for member in POSSIBLE.get(name, []) if draw(st.booleans())]
        if draw(rarely):
            wanted.append(draw(st.sampled_from([*MEMBERS, "more"])))  # unknown, or there twice
        wanted = draw(st.permutations(wanted))
    drawn = [draw((PLAIN if plain else MEMBERS).get(member, keys)) for member in wanted]
    escaped = draw(st.booleans())
    pieces = [
        f"{json.dumps(member)}{draw(spaces)}:{draw(spaces)}{json.dumps(value, ensure_ascii=escaped)}"
        for member, value in zip(wanted, drawn, strict=True)
    ]
    request = f"{draw(spaces)}{{{f'{draw(spaces)},{draw(spaces)}'.join(pieces)}{draw(spaces)}}}{draw(spaces)}".encode()
    if not plain and draw(rarely):
        at = draw(st.integers(0, len(request)))
        request = request[:at] + draw(st.binary(max_size=3)) + request[at + draw(st.integers(0, 3)) :]
    return request


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Draw a call, mostly with room enough."""
    name = draw(names)
    request = draw(requests(name))
    how = draw(st.integers(0, 9))
    if how == 0:
        return Call(name, request, cap=draw(st.sampled_from([0, 1, 4, 5, 60, 120, 484, 500, 700])))
    if how == 1:
        return Call(name, request, fits=draw(st.sampled_from([0, -1, 1])))
    if how == 2:
        return Call(name, request, overlaps=draw(st.integers(0, 20)))
    return Call(name, request)


def _elsewhere(letter: str, call: str, key: str) -> Callable[[Twin], object]:
    """Return what another use of the memory does, unless a held change is in its way."""

    def use(twin: Twin) -> object:
        def act(twin: Twin) -> None:
            using = twin.use("call", Wait(0))
            if call == "write":
                using.write(gene(letter), write_request(key, b"other", "PATTERN"))
            elif call == "delete":
                using.delete(gene(letter), delete_request(key))
            else:
                using.read(gene(letter), read_request(key))
            using.finish()

        return outcome(act, twin)

    return use


acts = st.one_of(
    st.sampled_from([1, 999, 86_399_000, 86_400_000, -1, -86_400_000]).map(
        lambda ms: lambda twin: twin.clock.advance(ms=ms)
    ),
    st.sampled_from([0, -1, START_MS, 253_402_300_800_000]).map(lambda ms: lambda twin: twin.clock.set(ms)),
    st.builds(
        _elsewhere,
        st.sampled_from("abc"),
        st.sampled_from(["write", "delete", "read"]),
        st.sampled_from(["k", "l", "a"]),
    ),
)
steps: st.SearchStrategy[Step] = st.integers(0, 5).flatmap(lambda kind: calls() if kind else acts | acts.map(amid))
genes = st.tuples(callers, st.lists(steps, min_size=1, max_size=8), rarely)
runs = st.fixed_dictionaries(
    {
        "genes": st.lists(genes, min_size=1, max_size=3),
        "durability": st.sampled_from(contract.DURABILITIES),
        "end": st.sampled_from(["finish", "finish", "rollback"]),
        "fuel": st.sampled_from([1 << 40, 1 << 40, 1 << 40, 300_000, 90_000]),
        "days": st.sampled_from([None, None, None, None, 1]),
    }
)


@pytest.mark.parametrize("kept", [False, True], ids=["asked anew", "given again"])
def test_any_runs(tmp_path: Path, *, kept: bool) -> None:
    """With responses that a call path may give again without asking, and without."""
    answered = []

    @BUDGET
    @given(drawn=st.lists(runs, min_size=1, max_size=3), quota=st.sampled_from([100, 400, 1 << 16]))
    def compare(drawn: list[dict[str, Any]], quota: int) -> None:
        with ExitStack() as stack:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            if kept:  # as on the machine's clock, whose times no two runs share
                patch.setattr("rotifer_host.memory.agent_memory.SystemClock", RestlessClock)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=tmp_path)))
            twins = stack.enter_context(paired(folder, quota=quota))
            for run in drawn:
                for twin in twins.twins:
                    twin.policy = DataPolicy(maxRetentionDays=run["days"])
                parts = [(caller, [*made, TRAP] if traps else made) for caller, made, traps in run["genes"]]
                twins.run(*parts, durability=run["durability"], end=run["end"], fuel=run["fuel"])
            assert twins.each(lambda twin: twin.problems()) == []
            answered.append(twins.took_shortcuts())

    compare()
    assert sum(answered) > len(answered) // 10, f"{sum(answered)} of {len(answered)} met the shortcut"
