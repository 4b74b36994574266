"""Four numbers and a request, whatever they are: only documented results, and nothing outside `out` changes.

What a call must leave alone is checked by `Script` after each one, in `conftest.py`.
"""

from __future__ import annotations

import base64
import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rotifer_host import contract
from rotifer_host.clock import SystemClock
from rotifer_host.sandbox import available_call_paths
from rotifer_host.store import ModelStore, open_store
from rotifer_host.store.check import problems
from rotifer_host.testing import ManualClock

Border = Any
"""`Border` of conftest.py, which tests cannot import."""

SIZE = 2 * 65_536
CALLS = ("readMemory", "writeMemory", "queryMemory", "deleteMemory", "readContext")
EDGES = (
    0,
    1,
    4,
    65_535,
    65_536,
    SIZE - 1,
    SIZE,
    SIZE + 1,
    1 << 30,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 16,
    (1 << 32) - 1,
)
BUDGET = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "250")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

numbers = st.one_of(
    st.sampled_from(EDGES),
    st.integers(0, (1 << 32) - 1),
    st.integers(0, SIZE),
    st.integers(-64, 64).map(lambda offset: SIZE + offset),
)
keys = st.sampled_from(["a", "a", "a", "a/b", "ключ", "\U0001f9ec", "k" * 1024, "", "\0", "k" * 1025])
values = st.binary(max_size=300).map(lambda value: base64.b64encode(value).decode())
categories = st.sampled_from([*contract.CATEGORIES, "cache", None])
policies = st.fixed_dictionaries(
    {
        "readScope": st.sampled_from(contract.SCOPES),
        "writeScope": st.sampled_from(contract.SCOPES),
        "sharePolicy": st.sampled_from(contract.SHARE_POLICIES),
    }
)
retentions = st.none() | st.fixed_dictionaries(
    {
        "maxRetentionDays": st.none() | st.integers(-1, 1 << 31),
        "autoDeleteOnTermination": st.booleans(),
        "anonymizationSupported": st.booleans(),
    }
)
fields = {
    "key": keys,
    "value": values,
    "category": categories,
    "accessPolicy": policies,
    "retentionPolicy": retentions,
    "keyPrefix": keys,
    "since": st.sampled_from(["2026-01-01T00:00:00Z", "1970-01-01T00:00:00+23:59", "2026-01-01", ""]),
    "limit": st.integers(-1, 1001) | st.floats(),
    "filter": st.none() | st.dictionaries(st.sampled_from(["category", "keyPrefix"]), keys, max_size=2),
}
NEEDED = {
    "readMemory": ("key",),
    "writeMemory": ("key", "value", "category"),
    "queryMemory": (),
    "deleteMemory": ("key",),
    "readContext": (),
}
OPTIONAL = {
    "readMemory": ("category",),
    "writeMemory": ("accessPolicy", "retentionPolicy"),
    "queryMemory": ("category", "keyPrefix", "since", "limit", "filter"),
    "deleteMemory": (),
    "readContext": (),
}


@st.composite
def requests(draw: st.DrawFn, name: str) -> bytes:
    """Draw a request that is nearly always understood, now and then damaged."""
    if name == "readContext":
        return draw(st.sampled_from([b"agent_id", b"timestamp", b"unknown", b"\xff", b""]))
    members = {field: draw(fields[field]) for field in NEEDED[name]}
    for field in OPTIONAL[name]:
        if draw(st.integers(0, 3)) == 0:
            members[field] = draw(fields[field])
    request = json.dumps(members, ensure_ascii=draw(st.booleans())).encode()
    damage = draw(st.integers(0, 9))
    if damage == 0:
        at = draw(st.integers(0, len(request)))
        request = request[:at] + draw(st.binary(max_size=4)) + request[at + draw(st.integers(0, 4)) :]
    elif damage == 1:
        request = draw(st.binary(max_size=64))
    return request


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, tuple[int, int, int, int], int, bytes]:
    """Draw a call: mostly one that can succeed, in room that is sometimes short, sometimes anything."""
    name = draw(st.sampled_from(CALLS))
    request = draw(requests(name))
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, SIZE))
        return name, (draw(numbers), draw(numbers), draw(numbers), draw(numbers)), at, request
    at = draw(st.integers(0, SIZE - len(request)))
    room = draw(st.sampled_from([0, 1, 3, 4, 5, 43, 60, 400, 600, 4096, 60_000]))
    out = draw(st.integers(0, SIZE - room) | st.just(SIZE - room) | st.just(at))
    return name, (at, len(request), out, room), at, request


sequences = st.lists(calls(), min_size=1, max_size=8)


@pytest.mark.parametrize("call_path", available_call_paths())
@BUDGET
@given(drawn=sequences, fuel=st.sampled_from([1 << 40, 1 << 40, 200_000, 60_000]))
def test_any_calls_on_a_real_file(borders: dict[str, Border], call_path: str, drawn: Any, fuel: int) -> None:
    """On LMDB and the machine's clock, where answers may be given again without asking Python."""
    border = borders[call_path]
    with open_store(border.path, agent_id=border.agent.id, quota=border.agent.quota) as store:
        memory = border.agent._memory(store)
        for category in contract.CATEGORIES:
            memory.delete_as_deployer(category=category)
        script, result = border.run([border.call(*call) for call in drawn], store, clock=SystemClock(), fuel=fuel)
        assert result.status == "ok" or result.error.code == "FUEL_EXHAUSTED"
        assert len(script.results) == len(drawn) or result.status != "ok"
        with store.snapshot() as snapshot:
            assert problems(snapshot, border.agent.id) == []


@BUDGET
@given(drawn=sequences)
def test_all_call_paths_give_the_same_answers(borders: dict[str, Border], drawn: Any) -> None:
    """From the same start the same calls have the same results, to the byte, and leave the same entries."""
    seen = []
    for border in borders.values():
        store = ModelStore()
        clock = ManualClock("2026-01-01T00:00:00Z")
        script, result = border.run([border.call(*call) for call in drawn], store, clock=clock)
        report = {
            name: (stats.count, stats.errors, stats.bytes_in, stats.bytes_out)
            for name, stats in result.host_calls.items()
        }
        seen.append((result.status, script.results, script.answers, script.committed(), report))
    assert seen == seen[:1] * len(seen)
    assert seen[0][0] == "ok"
