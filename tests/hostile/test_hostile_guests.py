"""Each guest in `guests/` tries one thing; here is what must come of it, on every call path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Agent, Limits, Project, RunResult, contract

Attack = Callable[..., tuple[RunResult, Agent]]
Errors = dict[int, int]

GUESTS = Path(__file__).with_name("guests")
FEW = Limits(fuel=3_000_000)
ORDINARY = Limits()
SOON = Limits(fuel=1 << 60, deadline_ms=100)
SMALL = Limits(memory_bytes=8 << 20)


durabilities = pytest.mark.parametrize("durability", contract.DURABILITIES)


@dataclass(frozen=True)
class Outcome:
    """What a run must come to."""

    status: str
    code: str | None = None
    message: str = ""
    """A part of the message."""
    output: Any = None
    calls: dict[str, tuple[int, Errors]] = field(default_factory=dict)
    """By name, how often it was called and which errors it answered how often."""
    limits: Limits = ORDINARY


def ok(output: Any = 1, limits: Limits = ORDINARY, **calls: tuple[int, Errors]) -> Outcome:
    """Return the outcome of a guest that got nowhere and ends well."""
    return Outcome("ok", None, output=output, calls=calls, limits=limits)


def failed(code: str, message: str = "", limits: Limits = ORDINARY, **calls: tuple[int, Errors]) -> Outcome:
    """Return the outcome of a guest that did something wrong."""
    return Outcome("failed", code, message, calls=calls, limits=limits)


OUT_OF_FUEL = Outcome("limit", "FUEL_EXHAUSTED", limits=FEW)
OUT_OF_TIME = Outcome("limit", "DEADLINE_EXCEEDED", limits=SOON)
ONE: tuple[int, Errors] = (1, {})
BAD: tuple[int, Errors] = (1, {contract.INVALID_INPUT: 1})

OUTCOMES = {
    "abort-with-a-wild-string": failed("ABORTED", "(unknown file:1:2)"),
    "abort-with-escapes": failed("ABORTED", "\x1b[2J\nerror: forged (unknown file:1:2)"),
    "alloc-negative": failed("BAD_ALLOC", "alloc returned 4294967295"),
    "alloc-past-the-end": failed("BAD_ALLOC", "alloc returned 65535"),
    "alloc-traps": failed("TRAP", "unreachable"),
    "alloc-uses-memory": ok(writeMemory=ONE),
    "alloc-wraps-around": failed("BAD_ALLOC", "alloc returned 4294967292"),
    "data-after-calls": failed("TRAP", "unreachable", writeMemory=ONE),
    "data-outside-memory": failed("TRAP", "out of bounds"),
    "fill-the-quota": ok(writeMemory=(5, {-8: 1})),
    "grow-between-calls": ok(readMemory=(63, {}), writeMemory=(63, {})),
    "grow-by-everything": ok(),
    "grow-past-the-limit": Outcome("limit", "MEMORY_EXCEEDED", "trapped with its memory at the limit", limits=SMALL),
    "grow-to-the-limit": ok(limits=SMALL),
    "host-call-through-a-table": failed("TRAP", "wrong signature", readMemory=ONE),
    "key-with-escapes": ok(writeMemory=ONE),
    "log-outside-memory": ok(),
    "log-with-escapes": ok(),
    "loop-in-alloc": OUT_OF_FUEL,
    "loop-in-express": OUT_OF_FUEL,
    "loop-in-initialize": OUT_OF_FUEL,
    "loop-in-start": OUT_OF_FUEL,
    "loop-of-denials": OUT_OF_FUEL,
    "loop-of-empty-logs": OUT_OF_FUEL,
    "loop-of-fills": OUT_OF_TIME,
    "loop-of-logs": OUT_OF_FUEL,
    "loop-of-reads": OUT_OF_FUEL,
    "loop-of-reads-in-start": OUT_OF_FUEL,
    "loop-of-writes": OUT_OF_FUEL,
    "nearly-ordinary-requests": ok(readMemory=(30, {-10: 30}), writeMemory=(30, {-10: 22})),
    "ordinary-over-the-request": ok(readMemory=(200, {}), writeMemory=(100, {})),
    "ordinary-with-wild-pointers": ok(readMemory=(13, {-10: 9, -1: 3}), writeMemory=(14, {-10: 9, -1: 3})),
    "out-outside-memory": ok(readMemory=(7, {-10: 7})),
    "out-over-the-request": Outcome(
        "rejected", "INVALID_INPUT", "the request must be an object, not null", calls={"readMemory": (2, {-10: 1})}
    ),
    "output-bom": failed("BAD_OUTPUT", "not one JSON document"),
    "output-endless": failed("OUTPUT_TOO_LARGE"),
    "output-huge-number": failed("BAD_OUTPUT", "not one JSON document"),
    "output-infinity": failed("BAD_OUTPUT", "not one JSON document"),
    "output-largest": ok("a" * (contract.MAX_OUTPUT_BYTES - 2)),
    "output-nan": failed("BAD_OUTPUT", "not one JSON document"),
    "output-nested": failed("BAD_OUTPUT", "nested too deep"),
    "output-nested-objects": failed("BAD_OUTPUT", "nested too deep"),
    "output-not-utf8": failed("BAD_OUTPUT", "not one JSON document"),
    "output-surrogate": failed("BAD_OUTPUT", "not one JSON document"),
    "output-too-large": failed("OUTPUT_TOO_LARGE"),
    "output-two-documents": failed("BAD_OUTPUT", "not one JSON document"),
    "output-with-escapes": ok({"a": "\x1b[2J\x9b31m\u202e"}),
    "output-without-nul": ok(7),
    "quota-to-the-byte": ok(writeMemory=(2049, {-8: 1})),
    "recursion": failed("STACK_OVERFLOW"),
    "recursion-in-alloc": failed("STACK_OVERFLOW"),
    "recursion-through-a-table": failed("STACK_OVERFLOW"),
    "recursion-with-host-calls": failed("STACK_OVERFLOW", limits=Limits(fuel=1 << 40)),
    "recursion-with-writes-in-start": failed("STACK_OVERFLOW", limits=Limits(fuel=1 << 40)),
    "reject-with-escapes": Outcome("rejected", "INVALID_INPUT", "\x1b[2J\x9b31m\u202e\nerror: forged"),
    "request-huge-number": ok(queryMemory=BAD),
    "request-nested": ok(readMemory=BAD, writeMemory=BAD, queryMemory=BAD, deleteMemory=BAD),
    "request-too-large": ok(readMemory=BAD),
    "requests-outside-memory": ok(readMemory=(8, {-10: 8})),
    "result-at-the-end": failed("BAD_OUTPUT", "express returned 65536, which is outside memory"),
    "result-empty": failed("BAD_OUTPUT", "the output at 0 is empty"),
    "result-last-byte": ok(7),
    "result-negative": failed("GENE_ERROR", "express returned -2147483648"),
    "result-past-the-end": failed("BAD_OUTPUT", "express returned 2147483647, which is outside memory"),
    "start-uses-memory": ok(readMemory=ONE, writeMemory=ONE, queryMemory=ONE, deleteMemory=ONE),
    "starts-above-the-limit": Outcome("limit", "MEMORY_EXCEEDED", "starts with 512 MB of memory"),
    "table-growth": ok(),
    "tiny-preferences": ok(writeMemory=(1100, {-8: 76})),
    "tiny-writes": ok(writeMemory=(1100, {})),
    "trap-with-escapes": failed("TRAP", "unreachable"),
    "vectors-at-the-border": ok(),
    "wasi-exits": failed("EXIT_STATUS", "exited with status 3"),
    "wasi-exits-in-start": failed("BAD_OUTPUT", "nothing was written"),
    "wasi-floods-stderr": ok(),
    "wasi-floods-stdout": failed("OUTPUT_TOO_LARGE"),
    "wasi-goes-on-after-exit": ok(),
    "wasi-prints-nothing": failed("BAD_OUTPUT", "nothing was written"),
    "wasi-random-flood": OUT_OF_FUEL,
    "wasi-reads-past-stdin": ok(),
    "wasi-sleeps": OUT_OF_TIME,
    "wasi-wild-pointers": ok(),
}
SHORTCUTS = {
    "grow-between-calls": {"readMemory": 63, "writeMemory": 63},
    "nearly-ordinary-requests": {"readMemory": 0, "writeMemory": 3},
    "ordinary-over-the-request": {"readMemory": 200, "writeMemory": 100},
    "ordinary-with-wild-pointers": {"readMemory": 4, "writeMemory": 5},
    "quota-to-the-byte": {"writeMemory": 2041},
}
"""How many calls of a guest C answers: all in good form but those of a run for which audit lines have to go first."""
SPECIAL: dict[str, dict[str, Any]] = {
    "quota-to-the-byte": {"quota": 16 << 10, "durability": "run"},
    "recursion-with-writes-in-start": {"durability": "run"},
    "tiny-preferences": {"quota": 16 << 10, "durability": "run"},
    "tiny-writes": {"quota": 16 << 10, "durability": "run"},
}
"""What a guest needs besides limits: an agent that holds 1,024 entries, or one sync for all of them."""


@pytest.mark.parametrize("name", sorted(path.stem for path in GUESTS.glob("*.wat")))
def test_what_it_must_come_to(attack: Attack, name: str) -> None:
    """Status, code, output and the results of its host calls are these, and its agent's memory is sound."""
    expected = OUTCOMES[name]
    result, _ = attack(name, expected.limits, **SPECIAL.get(name, {}))
    code = None if result.error is None else result.error.code
    assert (result.status, code) == (expected.status, expected.code), result.error
    assert result.output == expected.output
    assert expected.message in ("" if result.error is None else result.error.message)
    (gene,) = result.genes
    calls = {call: (report.count, report.errors) for call, report in gene.host_calls.items()}
    if expected.calls or expected.code not in ("FUEL_EXHAUSTED", "STACK_OVERFLOW"):
        assert calls == expected.calls
    assert gene.fuel <= expected.limits.fuel
    assert gene.peak_memory_bytes <= expected.limits.memory_bytes
    assert len(gene.log.encode()) <= contract.MAX_LOG_BYTES
    assert len(gene.stderr.encode()) <= contract.MAX_LOG_BYTES


@pytest.mark.parametrize("name", SHORTCUTS)
def test_what_c_answers(attack: Attack, name: str, shortcuts: Counter[str], *, takes_shortcuts: bool) -> None:
    """The guests above that are to meet the shortcut do, where it is there; elsewhere the memory rules answer."""
    attack(name, ORDINARY, **SPECIAL.get(name, {}))
    assert shortcuts == (SHORTCUTS[name] if takes_shortcuts else dict.fromkeys(SHORTCUTS[name], 0))


def test_every_outcome_has_a_guest_that_says_what_it_tries() -> None:
    """The table has no row for a guest that is gone, and a guest's first line is a comment."""
    assert sorted(OUTCOMES) == sorted(path.stem for path in GUESTS.glob("*.wat"))
    for path in GUESTS.glob("*.wat"):
        assert path.read_text(encoding="utf-8").startswith(";; "), path.name


def test_the_last_byte_of_a_quota(attack: Attack) -> None:
    """It is used, and none beyond it."""
    _, agent = attack("quota-to-the-byte", ORDINARY, **SPECIAL["quota-to-the-byte"])
    listing = agent.memory().list()
    assert (listing.used, len(listing.entries)) == (16 << 10, contract.MIN_ENTRY_LIMIT)


@durabilities
def test_the_deadline_ends_a_guest_amid_its_writes(
    attack: Attack,
    audit_lines: Callable[[Agent], list[str]],
    durability: str,
    shortcuts: Counter[str],
    *,
    takes_shortcuts: bool,
) -> None:
    """Whether one change is held for all or each is one of its own: each that was answered has its line."""
    result, agent = attack("loop-of-writes", SOON, durability=durability)
    assert result.error is not None
    assert result.error.code == "DEADLINE_EXCEEDED"
    report = result.genes[0].host_calls["writeMemory"]
    assert set(report.errors) <= {contract.BUDGET_EXHAUSTED}
    lines = audit_lines(agent)
    assert len(lines) == report.count - sum(report.errors.values())
    assert lines == ["create", *["update"] * (len(lines) - 1)][: len(lines)]
    assert len(agent.memory().list().entries) == min(len(lines), 1)
    assert (shortcuts["writeMemory"] > 0) == takes_shortcuts or not lines  # none where one write took all of the time


@pytest.mark.parametrize("name", ["loop-of-reads", "loop-of-reads-in-start", "loop-of-writes", "loop-of-logs"])
def test_the_deadline_ends_a_guest_with_all_the_fuel_there_is(attack: Attack, name: str) -> None:
    """A loop of host calls that fuel does not end is ended by the clock."""
    result, _ = attack(name, SOON)
    assert result.error is not None
    assert (result.status, result.error.code) == ("limit", "DEADLINE_EXCEEDED")


@durabilities
def test_host_time_bounds_what_writes_cost(
    attack: Attack,
    audit_lines: Callable[[Agent], list[str]],
    durability: str,
    shortcuts: Counter[str],
    *,
    takes_shortcuts: bool,
) -> None:
    """Once it is used up every write is -4: the audit log has a line for each write that succeeded, and no more."""
    limits = Limits(fuel=1 << 60, deadline_ms=400, host_time_ms=20)
    result, agent = attack("loop-of-writes", limits, durability=durability)
    assert result.error is not None
    assert result.error.code == "DEADLINE_EXCEEDED"
    report = result.genes[0].host_calls["writeMemory"]
    assert set(report.errors) == {contract.BUDGET_EXHAUSTED}
    lines = audit_lines(agent)
    assert len(lines) == report.count - report.errors[contract.BUDGET_EXHAUSTED]
    assert set(lines[1:]) <= {"update"}  # none where one write took all of the host time
    assert (shortcuts["writeMemory"] > 0) == takes_shortcuts or not lines


def test_fuel_bounds_how_fast_a_guest_can_make_the_audit_log_grow(
    attack: Attack, audit_lines: Callable[[Agent], list[str]]
) -> None:
    """No call is cheaper than 20,000 fuel, and a write that succeeds adds one line."""
    result, agent = attack("loop-of-writes", FEW)
    lines = audit_lines(agent)
    written = result.genes[0].host_calls["writeMemory"]
    assert len(lines) == written.count - written.errors[contract.BUDGET_EXHAUSTED]
    assert 0 < len(lines) <= FEW.fuel // contract.CALL_BASE_FUEL


def test_a_refused_gene_adds_a_line_for_each_call_that_its_fuel_pays(hostile_project: Project, call_path: str) -> None:
    """Outside an agent every memory call is denied and recorded: fuel is what bounds the lines."""
    before = len(hostile_project.audit_path.read_bytes().splitlines()) if hostile_project.audit_path.exists() else 0
    result = hostile_project.run_gene("loop-of-denials", {}, limits=FEW, call_path=call_path)
    (gene,) = result.genes
    added = len(hostile_project.audit_path.read_bytes().splitlines()) - before
    assert (result.error and result.error.code, added) == ("FUEL_EXHAUSTED", gene.denied)
    assert 0 < added <= FEW.fuel // contract.CALL_BASE_FUEL


def test_tiny_entries_evict_each_other(attack: Attack, audit_lines: Callable[[Agent], list[str]]) -> None:
    """The number of entries is bounded before the quota is: each new one evicts the oldest, and the report says so."""
    result, agent = attack("tiny-writes", Limits(), quota=16 << 10, durability="run")
    assert result.genes[0].evicted == 1100 - contract.MIN_ENTRY_LIMIT
    assert audit_lines(agent).count("evict") == 1100 - contract.MIN_ENTRY_LIMIT
    assert len(agent.memory().list().entries) == contract.MIN_ENTRY_LIMIT


def test_a_flood_of_standard_error_is_counted_not_kept(attack: Attack) -> None:
    """Of 16 MiB, 64 KiB are kept."""
    result, _ = attack("wasi-floods-stderr", Limits())
    assert len(result.genes[0].stderr) == contract.MAX_LOG_BYTES


def test_a_trapping_guest_keeps_what_it_wrote(attack: Attack) -> None:
    """Also when it traps in its start function; with durability `run` too, since it was not interrupted."""
    for durability in contract.DURABILITIES:
        _, agent = attack("data-after-calls", Limits(), durability=durability)
        assert [entry.key for entry in agent.memory().list().entries] == ["k"]
