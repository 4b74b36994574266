"""Runs as a whole: how they begin, hold and end, and what others do to the memory meanwhile."""

from __future__ import annotations

import gc
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, get_args

import pytest
from tests.memory.twins import (
    DURABILITIES,
    SPIN,
    TRAP,
    A,
    B,
    C,
    Call,
    End,
    Ended,
    Ran,
    Step,
    Twin,
    Twins,
    amid,
    deleting,
    paired,
    querying,
    reading,
    writing,
)

from rotifer_host.memory import Durability

MIXED: Final[list[Step]] = [
    reading("k"),
    writing("k", "AAAA"),
    reading("k"),
    writing("new"),
    querying(),
    querying(category="CACHE", keyPrefix="k"),
    deleting("k"),
    reading("k"),
    deleting("k"),
    writing("k", category="CONTEXT"),
    reading("k", "CONTEXT"),
    Call("writeMemory", b"?"),
    writing("k\u00e9"),
    reading("k\u00e9"),
    writing("k", "AQI="),
    querying(limit=1),
]


@DURABILITIES
@pytest.mark.parametrize("end", get_args(End))
def test_genes_one_after_another(twins: Twins, durability: Durability, end: End) -> None:
    """They share one memory and one held change: each meets what those before it have left."""
    for _ in range(2):
        twins.run((A, MIXED), (B, MIXED), (C, MIXED), (A, MIXED), durability=durability, end=end)
    assert twins.took_shortcuts()


@DURABILITIES
@pytest.mark.parametrize("ending", [TRAP, SPIN], ids=["a trap", "an interrupt"])
@pytest.mark.parametrize("end", get_args(End))
def test_runs_that_end_early(twins: Twins, durability: Durability, ending: int, end: End) -> None:
    """Behind each call: what was changed before is kept or not, and never the one and the other."""

    def cancel(twin: Twin) -> None:
        twin.deadline.cancel()

    for count in range(1, len(MIXED), 3):
        how: list[Step] = [TRAP] if ending == TRAP else [cancel, SPIN]
        (ran,) = twins.run((B, [*MIXED[:count], *how]), durability=durability, end=end)
        assert ran.ended.status == "failed"
    assert twins.took_shortcuts()


@DURABILITIES
def test_an_interrupt_amid_a_call(twins: Twins, durability: Durability) -> None:
    """The call may end as if there were none; the guest makes no other."""
    for call in (reading("k"), writing("k", "AAAA"), writing("new"), reading("none")):
        steps: list[Step] = [
            reading("k"),
            writing("k"),
            amid(lambda twin: twin.deadline.cancel()),
            call,
            writing("never"),
        ]
        for end in get_args(End):
            (ran,) = twins.run((A, steps), durability=durability, end=end)
            assert ran.ended == Ended("failed", ("INTERRUPTED", "the run was interrupted"))
            assert len(ran.results) < 4


@pytest.mark.parametrize("count", [255, 256, 257, 258, 600])
@pytest.mark.parametrize("end", get_args(End))
def test_more_writes_than_lines_may_wait(twins: Twins, count: int, end: End) -> None:
    """The lines of a run are written early, and taken back when it is rolled back."""
    steps: list[Step] = [writing(f"k{number % 300}") for number in range(count)]
    for twin in twins.twins:
        twin.watched = False
    twins.run((A, steps), durability="run", end=end)
    twins.run((B, [*steps[:100], Call("readMemory", b"?"), writing("k"), *steps[:200]]), durability="run", end=end)
    assert twins.took_shortcuts()


def test_refusals_within_a_held_change(twins: Twins) -> None:
    """Each writes the lines that wait, so that the ones after it are counted on from there."""
    steps: list[Step] = [writing("k"), writing("m")]
    others: list[Step] = [reading("k"), writing("k"), writing("mine"), reading("mine"), deleting("k"), writing("mine")]
    for end in get_args(End):
        twins.run((A, steps), (C, others), (A, steps), (C, others), durability="run", end=end)
        assert twins.took_shortcuts()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the child only does what is safe
@DURABILITIES
@pytest.mark.parametrize(
    "before", [[reading("k")], [reading("k"), writing("k"), reading("k")]], ids=["read", "written"]
)
@pytest.mark.parametrize("call", [reading("k"), writing("k", "AAAA"), writing("new")], ids=["read", "update", "create"])
def test_a_fork_amid_a_call(twins: Twins, durability: Durability, before: list[Step], call: Call) -> None:
    """The child, whose guest ends with the call, changes nothing; the parent goes on as if there were none."""

    def fork(twin: Twin) -> None:
        child = os.fork()
        if child == 0:
            twin.watched = False
            return
        _, status = os.waitpid(child, 0)
        assert status == 0

    runs = twins.run((A, [*before, amid(fork), call, *MIXED]), durability=durability)
    seen = twins.each(lambda twin: (twin.folder / "child").read_text(encoding="utf-8"))
    assert "{-13: 1}" in seen
    assert min(runs[0].results[: len(before) + 1]) > 0
    assert twins.took_shortcuts()


def test_genes_at_the_same_time(tmp_path: Path) -> None:
    """Three threads use one memory, as the branches of a `Par` do: every line names who wrote, and nothing is lost."""
    writers = [A, B, C]
    with paired(tmp_path) as twins:
        twin = twins.twins[0]
        twin.watched = False
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)

        def write(number: int) -> Ran:
            own = chr(ord("a") + number)
            steps: list[Step] = []
            for count in range(40):
                steps += [writing(f"{own}/{count % 7}"), reading(f"{own}/{count % 7}"), reading(f"{own}/0", "CACHE")]
            return twin.run(writers[number], steps, fuel=1 << 40)

        try:
            with ThreadPoolExecutor(3) as pool:
                runs = list(pool.map(write, range(3)))
        finally:
            sys.setswitchinterval(interval)
        twin.memory.finish()
        assert [min(ran.results) for ran in runs] == [486 + 2] * 3
        lines = [json.loads(line) for line in twin.kept().lines.splitlines()]
        assert [line["seq"] for line in lines] == list(range(1, 121))
        assert {(line["geneId"][3], line["domain"], line["key"][0]) for line in lines} == {
            ("a", "format", "a"),
            ("b", "format", "b"),
            ("c", "search", "c"),
        }
        assert twin.problems() == []
        assert twins.took_shortcuts()


@DURABILITIES
def test_runs_leave_nothing_in_this_process(twins: Twins, durability: Durability) -> None:
    """Answered or refused, ordinary or not: no call and no run keeps an object."""
    steps: list[Step] = [*MIXED, reading("k", cap=0), writing("k", how={"cap": 0}), writing("k", "AA"), reading("none")]
    refused: list[Step] = [reading("k"), writing("k")]
    twin = twins.twins[0]
    twin.watched = False

    def blocks_after(count: int) -> int:
        for number in range(count):
            twin.memory = twin.use(durability)
            twin.run(A, steps, fuel=1 << 40)
            twin.run(C, refused, fuel=(1 << 40) if number % 2 else 100_000)
            twin.memory.finish()
        gc.collect()
        return sys.getallocatedblocks()

    before = blocks_after(30)
    assert blocks_after(60) - before < 30
    assert twins.took_shortcuts()
