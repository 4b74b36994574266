"""Hostile and sloppy guests, one for each way to break the ABI; good ones for what is allowed.

Each guest in `guests/` says in its first lines which points it fails, and on which input.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from rotifer_host.conformance.gene import check_gene
from rotifer_host.conformance.gene_points import CALL_POINTS, POINTS
from rotifer_host.conformance.report import Report
from rotifer_host.sandbox import assemble

GUESTS = sorted((Path(__file__).parent / "guests").glob("*.wat"))
INFORMATION = {"module.features", "module.size", "input.accepted", "output.end"}
"""Points that tell something and are failed by no small guest."""


def words_of(guest: Path, name: str) -> list[str]:
    """Return what a guest says about itself."""
    return re.findall(rf"^;; {name}:(.*)$", guest.read_text(encoding="utf-8"), re.MULTILINE)


def fails_of(guest: Path) -> set[str]:
    """Return the points a guest fails."""
    return {point for line in words_of(guest, "fails") for point in line.split()}


@cache
def check(guest: Path, *, random: bool = False) -> Report:
    """Test a guest on its inputs, once for all tests."""
    inputs = [json.loads(text) for text in words_of(guest, "input")] or [{}]
    return check_gene(assemble(guest.read_text(encoding="utf-8")), subject=guest.stem, inputs=inputs, random=random)


def named(name: str) -> Path:
    """Return a guest by its name."""
    return Path(__file__).parent / "guests" / f"{name}.wat"


def verdicts(report: Report) -> dict[str, tuple[str, str]]:
    """Return verdict and what was seen, by point."""
    return {verdict.point: (verdict.verdict, verdict.seen) for verdict in report.verdicts}


@pytest.mark.parametrize("guest", GUESTS, ids=lambda guest: guest.stem)
def test_each_guest_fails_what_it_says(guest: Path) -> None:
    """Exactly the points it names, each with what was seen and what to do; every point is asked once."""
    report = check(guest)
    failed = [verdict for verdict in report.verdicts if verdict.verdict == "fail"]
    assert {verdict.point for verdict in failed} == fails_of(guest)
    assert [verdict.point for verdict in failed if not (verdict.seen and verdict.todo)] == []
    assert report.passed == (not failed)
    points = [verdict.point for verdict in report.verdicts]
    assert len(points) == len(set(points))
    assert POINTS.keys() <= set(points)
    assert [verdict.point for verdict in report.verdicts if not (verdict.title and verdict.section)] == []
    assert [
        verdict.point for verdict in report.verdicts if verdict.verdict == "not-applicable" and not verdict.seen
    ] == []


def test_every_point_can_fail() -> None:
    """There is a guest for each, but for those that only tell."""
    failed = set().union(*map(fails_of, GUESTS))
    assert POINTS.keys() - INFORMATION <= failed
    assert CALL_POINTS.keys() == {
        what for point in failed for call, _, what in [point.partition(".")] if "Memory" in call
    }


@pytest.mark.parametrize(
    ("module", "seen"),
    [
        (b"", "not a WebAssembly binary"),
        (b"(module)", "not a WebAssembly binary"),
        (b"\0asm\x0d\0\1\0", "a WebAssembly component, not a core module"),
        (b"\0asm\1\0\0\0\xff", "not a valid WebAssembly module"),
        (b"\0asm\1\0\0\0" + bytes(64 << 20), "not a valid WebAssembly module"),
    ],
)
def test_what_is_no_module_fails_at_once(module: bytes, seen: str) -> None:
    """The reason is named, and nothing else is asked."""
    found = verdicts(check_gene(module, subject="x", inputs=[{}]))
    assert found["module.valid"][0] == "fail"
    assert seen in found["module.valid"][1]
    assert found["module.size"][0] == ("fail" if len(module) > 64 << 20 else "pass")
    assert {verdict for point, (verdict, _) in found.items() if not point.startswith("module.")} == {"not-applicable"}


@pytest.mark.parametrize(
    ("guest", "point", "verdict", "seen"),
    [
        ("threads", "module.valid", "fail", "threads"),
        ("greedy-imports", "imports.offered", "fail", "unknown import rotifer.net.fetch (i32, i32) -> i32"),
        ("greedy-imports", "imports.offered", "fail", "the host offers (i32, i32, i32, i32) -> i32"),
        ("wrong-types", "exports.entry", "fail", "express is (i64, i64) -> i64, not (i32, i32) -> i32"),
        ("borrowed-entry", "exports.entry", "fail", "an import"),
        ("no-entry", "exports.entry", "fail", "it exports memory, run"),
        ("fixed-buffer", "input.large", "fail", "BAD_ALLOC"),
        ("no-alloc", "input.large", "not-applicable", "without alloc"),
        ("no-alloc", "exports.alloc", "not-applicable", "at address 0"),
        ("picky", "input.accepted", "not-applicable", "none is: give one with --input JSON"),
        ("dice", "output.same", "fail", "it asks random_get"),
        ("leaky", "express.again", "fail", "about 64 KB a call are not freed"),
        ("once-only", "express.again", "fail", "call 2 ended failed: TRAP"),
        ("to-the-end", "output.end", "pass", "ends at the end of memory after 4 bytes"),
        ("fixed-buffer", "output.end", "pass", "ends at a NUL after 4 bytes"),
        ("wasi", "output.end", "not-applicable", "WASI"),
        ("wasi", "express.again", "not-applicable", "_start ends its instance"),
        ("wasi", "input.sample", "pass", "1 of 1 accepted"),
        ("stray-pointer", "requests.pointers", "fail", "readMemory: request 9 bytes at 4294967280"),
        ("misspelt", "requests.valid", "fail", "kez"),
        ("slow", "fuel", "fail", "at most 500,000,000 of 500,000,000"),
        ("stubborn", "readMemory.small", "fail", "repeats with room for 4096 bytes after 4096 were too few"),
        ("stubborn", "readMemory.-4", "fail", "ENDLESS: called readMemory 2,000 times"),
        ("amnesiac", "memory.remembered", "fail", "input {}: was ok, and again failed: TRAP"),
        ("no-alloc", "readMemory.success", "not-applicable", "not imported"),
    ],
)
def test_what_was_seen_is_said(guest: str, point: str, verdict: str, seen: str) -> None:
    """A verdict tells what the guest did, in figures where there are some."""
    found = verdicts(check(named(guest)))[point]
    assert found[0] == verdict
    assert seen in found[1]


def test_random_output_may_be_meant() -> None:
    """Then nobody asks for the same output."""
    report = check(named("dice"), random=True)
    assert report.passed
    assert verdicts(report)["output.same"][0] == "not-applicable"


def test_a_call_that_is_not_reached_is_said() -> None:
    """Imported and never made on the inputs: the report asks for one that leads to it."""
    wat = """(module (import "rotifer" "queryMemory" (func (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 20) (func (export "alloc") (param i32) (result i32) (i32.const 65536))
      (func (export "express") (param i32 i32) (result i32) (i32.const 0)) (data (i32.const 0) "true\\00"))"""
    found = verdicts(check_gene(assemble(wat), subject="x", inputs=[{}]))
    assert found["queryMemory.success"][0] == "not-applicable"
    assert "--input" in found["queryMemory.success"][1]
    assert found["requests.valid"] == ("not-applicable", "no memory call was made")
