"""What others do to the memory between and amid the calls of a run, and responses that are given again meanwhile."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from tests.memory.other_user import Other
from tests.memory.twins import (
    DURABILITIES,
    A,
    B,
    C,
    Call,
    RestlessClock,
    Step,
    Twin,
    Twins,
    amid,
    deleting,
    querying,
    reading,
    writing,
)

from rotifer_host import contract
from rotifer_host.clock import SystemClock
from rotifer_host.memory import Durability, RetentionPolicy, delete_request, read_request, write_request
from rotifer_host.memory.entry import DEFAULT_ACCESS, make_record
from rotifer_host.memory.timestamp import ceil_ms


@pytest.fixture(scope="module")
def other() -> Iterator[Other]:
    """Start the other process, which ends when nobody asks it any more."""
    command = [sys.executable, "-m", "tests.memory.other_user"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        yield Other(process)


@DURABILITIES
def test_others_change_the_memory_between_calls(twins: Twins, other: Other, durability: Durability) -> None:
    """Another process writes, rewrites, deletes, lets expire: the next call meets it."""
    kept = {"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False}
    look: list[Step] = [reading("k"), reading("theirs"), reading("k")]

    def later(twin: Twin) -> None:
        other(twin, ["write", "theirs", "c", "CACHE", kept])
        twin.clock.advance(days=1)

    steps: list[Step] = [*look, lambda twin: other(twin, ["write", "k", "b", "PATTERN"]), *look]
    steps += [lambda twin: other(twin, ["write", "theirs", "c", "CACHE"]), *look]
    steps += [lambda twin: other(twin, ["write", "theirs", "c", "CACHE", kept]), *look]
    steps += [lambda twin: other(twin, ["delete", "k", "b"]), *look]
    steps += [lambda twin: other(twin, ["write", "k", "b", "CACHE"], ["read", "l", "b"]), *look]
    steps += [lambda twin: twin.clock.advance(days=1), *look, lambda twin: other(twin, ["read", "k", "b"]), *look]
    steps += [later, *look]
    changes: list[Step] = [writing("k"), *look, writing("mine"), writing("k"), *look]
    between: list[Step] = [lambda twin: other(twin, ["write", "k", "b", "PATTERN"]), writing("k"), *look]
    if durability == "call":
        steps += [*changes, *between, *changes, *between]
    else:  # nobody else can write once there is a held change
        steps += [*changes, *changes]
    for _ in range(2):
        twins.run((A, steps), durability=durability)
    assert twins.took_shortcuts()


@DURABILITIES
def test_another_use_of_the_memory_in_this_process(twins: Twins, durability: Durability) -> None:
    """A second store object on the same file, and the same store in another run, commit between calls."""

    def elsewhere(twin: Twin) -> None:
        with twin.open() as store:
            memory, twin.store = twin.store, store
            try:
                using = twin.use()
                using.write(B, write_request("k", b"other", "CONTEXT"))
                using.read(B, read_request("l"))
                using.finish()
            finally:
                twin.store = memory

    def here(twin: Twin) -> None:
        using = twin.use("run")
        using.write(B, write_request("m", b"other", "CONTEXT"))
        using.delete(B, delete_request("m"))
        using.finish()

    look: list[Step] = [reading("k"), reading("l"), reading("m"), reading("k")]
    steps: list[Step] = [*look, elsewhere, *look, here, *look]
    if durability == "call":
        steps += [writing("k"), elsewhere, writing("k"), here, writing("m"), *look]
    else:
        steps += [writing("k"), *look, writing("k"), *look]
    for _ in range(2):
        twins.run((A, steps), durability=durability)
    assert twins.took_shortcuts()


@DURABILITIES
def test_others_change_the_memory_amid_a_call(twins: Twins, other: Other, durability: Durability) -> None:
    """When the call has looked at its clock, and not at the memory yet."""
    changes = (
        ["write", "k", "b", "PATTERN"],
        ["delete", "k", "b"],
        ["write", "k", "c", "CACHE"],
        ["write", "new", "b", "CACHE"],
    )
    for call in (reading("k"), writing("k", "AAAA"), writing("new"), reading("new")):
        for change in changes:
            steps: list[Step] = [reading("k"), reading("k"), amid(partial(other.then, change)), call]
            steps += [reading("k"), reading("new"), writing("l"), querying()]
            twins.run((A, steps), durability=durability)
    assert twins.took_shortcuts()


@DURABILITIES
def test_a_run_beside_a_run(twins: Twins, durability: Durability) -> None:
    """A change that this run does not hold keeps its reads on what is committed."""
    opened: dict[str, Any] = {}

    def begin(twin: Twin) -> None:
        using = opened[twin.call_path] = twin.use("run")
        using.write(B, write_request("k", b"not yet", "CONTEXT"))

    def end(twin: Twin) -> None:
        opened.pop(twin.call_path).finish()

    look: list[Step] = [reading("k"), reading("l"), reading("k")]
    steps: list[Step] = [*look, begin, *look, end, *look, writing("k"), *look]
    twins.run((A, steps), durability=durability)
    assert twins.took_shortcuts()


@DURABILITIES
def test_the_log_is_moved_away(twins: Twins, durability: Durability) -> None:
    """The next line of a change goes into a new log; those of a held change stay together."""

    def move(twin: Twin) -> None:
        twin.log.path.rename(twin.folder / f"old-{len(list(twin.folder.iterdir()))}")

    steps: list[Step] = [writing("k"), move, writing("k"), reading("k"), writing("new"), reading("none")]
    for _ in range(2):
        twins.run((A, steps), (C, [reading("k"), writing("k")]), (B, steps[2:]), durability=durability)
    old = twins.each(lambda twin: [path.read_bytes() for path in sorted(twin.folder.glob("old-*"))])
    assert len(old) == 2
    assert twins.took_shortcuts()


LOOK: Final[list[Step]] = [reading("k"), reading("l", "PATTERN"), reading("none"), reading("k", "PATTERN")]


def elsewhere(twin: Twin) -> None:
    """Write in another use of the memory."""
    using = twin.use()
    using.write(B, write_request("k", b"other", "CONTEXT"))
    using.finish()


MANY: Final[list[Step]] = [
    *LOOK * 4,
    writing("k", "AAAA"),
    *LOOK * 3,
    writing("none"),
    *LOOK * 3,
    deleting("none"),
    *LOOK * 3,
    Call("writeMemory", b'{"key":"k\\u0000"}'),
    *LOOK * 3,
    writing("k", how={"cap": 0}),
    *LOOK * 2,
    *[reading("k", cap=cap) for cap in (0, 100, 485)],
    *[reading("k", fits=fits) for fits in (0, -1)],
]


def test_responses_that_are_given_again(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    """A response may be kept for the same request, and never for longer than it is right."""
    monkeypatch.setattr("rotifer_host.memory.agent_memory.SystemClock", RestlessClock)
    for durability in get_args(Durability):
        twins.run((A, MANY), (B, [*MANY, *MANY]), (C, [*LOOK * 3, *MANY]), durability=durability)
        assert twins.took_shortcuts()
    twins.run((A, [*LOOK * 3, elsewhere, *LOOK * 3]), (C, LOOK * 3), (B, LOOK * 3), (A, LOOK * 3))


@DURABILITIES
def test_on_the_clock_of_the_machine(twins: Twins, other: Other, durability: Durability) -> None:
    """Times differ between two runs then: each is told as it was, and all else is the same, given again or not."""
    theirs: list[Step] = []
    if durability == "call":
        theirs = [elsewhere, *LOOK * 3, lambda twin: other(twin, ["write", "k", "b", "CACHE"]), *LOOK * 3]
    seen = []
    for twin in twins.twins:
        before = SystemClock().now_ms()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(twin, "clock", SystemClock())
            twin.memory = twin.use(durability)
            runs = [twin.run(caller, [*LOOK * 3, *theirs, *MANY], fuel=1 << 40) for caller in (A, B, C)]
            twin.memory.finish()
        after = SystemClock().now_ms()
        calls = [made for ran in runs for made in ran.calls]
        for made in calls:
            if made.name == "writeMemory" and made.result > 0:
                assert before <= ceil_ms(json.loads(made.answer)["updatedAt"]) <= after
        answers = [re.sub(rb"20..-..-..T..:..:..[.]...Z", b"", made.answer) for made in calls]
        seen.append((answers, [ran._replace(calls=[]) for ran in runs]))
    assert seen[0] == seen[1]
    assert twins.took_shortcuts()


def test_what_is_given_again_expires(twins: Twins) -> None:
    """On the machine's clock, whose second comes while a run asks the same again and again."""
    now_ms = SystemClock().now_ms()
    policy = RetentionPolicy(1, autoDeleteOnTermination=False, anonymizationSupported=False)
    for twin in twins.twins:
        twin.put(
            "brief",
            lambda identity, sequence: make_record(
                identity=identity,
                sequence=sequence,
                key="brief",
                category="CACHE",
                value=b"",
                created_by=A.gene_id,
                domain=A.domain,
                reader=A.gene_id,
                created_ms=0,
                updated_ms=now_ms - contract.SECONDS_PER_DAY * 1000 + 1000,
                access=DEFAULT_ACCESS,
                retention=policy,
            ),
        )

    def wait(_twin: Twin) -> None:
        while SystemClock().now_ms() // 1000 <= now_ms // 1000:
            time.sleep(0.01)

    look: list[Step] = [reading("brief"), reading("k")] * 3
    for twin in twins.twins:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(twin, "clock", SystemClock())
            twin.memory = twin.use()
            ran = twin.run(A, [*look, wait, reading("k")], fuel=1 << 40)
            last = json.loads(twin.kept().lines.splitlines()[-1])
            assert (last["action"], last["key"]) == ("memory.expire", "brief")
            again = twin.run(A, look, fuel=1 << 40)
            twin.memory.finish()
        assert ran.results[-1] == 486
        assert again.results == [4, 486] * 3
