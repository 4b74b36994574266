"""Imports: what a module may ask of its host, and WASI."""

from __future__ import annotations

from collections.abc import Iterator

from rotifer_host.conformance.vectors.entries import NOW, OWNER, entry, line
from rotifer_host.conformance.vectors.of_modules import ECHO, MEMORY, MODULES, SIGNATURE, module_vector
from rotifer_host.conformance.vectors.steps import ABI, Vector, run_module


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _imports()
    yield from _wasi()


def _imports() -> Iterator[Vector]:
    section = "Imports"
    for module, name, shape in (
        ("rotifer", "forgetMemory", "(param i32 i32 i32 i32) (result i32)"),
        ("rotifer.kv", "get", "(param i32 i32 i32 i32) (result i32)"),
        ("rotifer.net", "fetch", "(param i32 i32 i32 i32) (result i32)"),
        ("env", "readMemory", "(param i32 i32 i32 i32) (result i32)"),
        ("", "", ""),
    ):
        yield module_vector(
            f"an import of {module or 'the empty module'}.{name or 'nothing'} is refused before the run",
            section,
            f'(module (import "{module}" "{name}" (func {shape})) {MEMORY} {ECHO})',
            status="refused",
            code="UNKNOWN_IMPORT",
        )
    write = entry("k", "x", at=NOW)
    request = "{{\\22key\\22:\\22k\\22,\\22value\\22:\\22eA==\\22,\\22category\\22:\\22CACHE\\22}}"
    calling = (
        '(module (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))'
        f' {MEMORY} (data (i32.const 64) "{request}") {SIGNATURE}'
        " (drop (call $write (i32.const 64) (i32.const 45) (i32.const 1024) (i32.const 1024))) {}))"
    )
    made = [line("create", write, OWNER)]
    yield Vector(
        "a gene that traps keeps what it wrote before",
        ABI("Isolation"),
        [run_module(OWNER, calling.format("unreachable"), None, {"status": "failed", "code": "TRAP"})],
        after=[write],
        audit=made,
        needs=MODULES,
    )
    yield Vector(
        "a gene may return the response of a call as its output",
        ABI("Input and output"),
        [run_module(OWNER, calling.format("i32.const 1024"), None, {"status": "ok"})],
        after=[write],
        audit=made,
        needs=MODULES,
    )
    failing = calling.replace("CACHE", "cache").format("i32.const 1024")
    yield module_vector(
        "a gene that returns out after a failed call has rejected its input",
        "Rejecting an input",
        failing,
        status="rejected",
        code="INVALID_INPUT",
    )
    log = (
        '(module (import "rotifer" "log" (func $log (param i32 i32 i32)))'
        f' {MEMORY} (data (i32.const 64) "hello") (data (i32.const 96) "0") {SIGNATURE}'
        " (call $log (i32.const 1) (i32.const 64) (i32.const 5)) i32.const 96))"
    )
    yield module_vector("a gene may log, and goes on", section, log, status="ok", output=0)
    abort = (
        '(module (import "env" "abort" (func $abort (param i32 i32 i32 i32)))'
        f' {MEMORY} (data (i32.const 60) "\\04\\00\\00\\00n\\00o\\00") {SIGNATURE}'
        " (call $abort (i32.const 64) (i32.const 0) (i32.const 1) (i32.const 2)) i32.const 0))"
    )
    yield module_vector("env.abort ends the run", "How a run ends", abort, status="failed", code="ABORTED")
    budget = (
        '(module (import "rotifer" "remainingBudget" (func $budget (result i64)))'
        '(import "rotifer" "logicalTimestamp" (func $now (result i64)))'
        f' {MEMORY} (data (i32.const 64) "true") (data (i32.const 96) "false") {SIGNATURE}'
        " (select (i32.const 64) (i32.const 96) {})))"
    )
    yield module_vector(
        "logicalTimestamp is the time of the run's start in milliseconds",
        section,
        budget.format("(i64.eq (call $now) (i64.const 1772366400250))"),
        status="ok",
        output=True,
    )
    yield Vector(
        "remainingBudget is the fuel left, and falls",
        ABI(section),
        [
            run_module(
                OWNER, budget.format("(i64.gt_s (call $budget) (call $budget))"), None, {"status": "ok", "output": True}
            )
        ],
        needs=["fuel", "modules"],
    )


def _wasi() -> Iterator[Vector]:
    needs = ["modules", "wasi"]
    program = (
        '(module (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))'
        '(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))'
        '(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))'
        f' {MEMORY} (func (export "_start")'
        " (i32.store (i32.const 0) (i32.const 1024)) (i32.store (i32.const 4) (i32.const 4096))"
        " (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 16)))"
        " (i32.store (i32.const 4) (i32.load (i32.const 16)))"
        " (drop (call $write (i32.const {fd}) (i32.const 0) (i32.const 1) (i32.const 16))) {exit}) {more})"
    )
    table: tuple[tuple[str, str, str, str, dict[str, object]], ...] = (
        ("a WASI gene reads its input and writes its output", "1", "", "", {"status": "ok", "output": {"a": "é"}}),
        ("_start wins over express", "1", "", ECHO, {"status": "ok", "output": {"a": "é"}}),
        ("standard error is no output", "2", "", "", {"status": "failed", "code": "BAD_OUTPUT"}),
        (
            "proc_exit really stops the gene, and 0 is a success",
            "1",
            "(call $exit (i32.const 0)) unreachable",
            "",
            {"status": "ok", "output": {"a": "é"}},
        ),
        (
            "proc_exit with another status is a failed run",
            "1",
            "(call $exit (i32.const 3)) unreachable",
            "",
            {"status": "failed", "code": "EXIT_STATUS"},
        ),
    )
    for title, fd, leave, more, ends in table:
        yield Vector(
            title,
            ABI("Input and output"),
            [run_module(OWNER, program.format(fd=fd, exit=leave, more=more), {"a": "é"}, ends)],
            needs=needs,
        )
