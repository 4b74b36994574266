"""Modules, input and output: what is run at all, and how a run ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host.conformance.vectors.entries import OWNER
from rotifer_host.conformance.vectors.steps import ABI, Vector, run_module

__all__ = ["ECHO", "MEMORY", "MODULES", "SIGNATURE", "module_vector", "vectors"]

MODULES: Final = ["modules"]
MEMORY: Final = '(memory (export "memory") 1)'
SIGNATURE: Final = '(func (export "express") (param $at i32) (param $length i32) (result i32)'
ECHO: Final = f"{SIGNATURE} local.get $at)"


def vectors() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _outputs()
    yield from _rejections()
    yield from _inputs()
    yield from _shapes()


def module_vector(title: str, section: str, wat: str, document: object = None, **ends: object) -> Vector:
    """Return a vector that runs one module on one document."""
    return Vector(title, ABI(section), [run_module(OWNER, wat, document, ends)], needs=MODULES)


def _answers(text: str, *, at: int = 1024) -> str:
    """Return a module whose output is this text, up to the NUL behind it."""
    data = "".join(f"\\{byte:02x}" for byte in text.encode("utf-8", "surrogateescape"))
    return f'(module {MEMORY} (data (i32.const {at}) "{data}") {SIGNATURE} i32.const {at}))'


def _outputs() -> Iterator[Vector]:
    section = "Input and output"
    for what, text, value in (
        ("an object", '{"a":[1,2.5,"é",null,true]}', {"a": [1, 2.5, "é", None, True]}),
        ("null, which is an output like any other", "null", None),
        ("a number", "42", 42),
        ("JSON with white space around it", " [ ] \n", []),
    ):
        yield module_vector(f"an output may be {what}", section, _answers(text), status="ok", output=value)
    for what, text in (
        ("empty", ""),
        ("not JSON", "hello"),
        ("two documents", "1 2"),
        ("cut off", '{"a":'),
        ("not UTF-8", '"\udcff"'),
        ("NaN", "NaN"),
        ("white space alone", "  "),
        ("with a byte order mark", "\N{ZERO WIDTH NO-BREAK SPACE}1"),
    ):
        yield module_vector(
            f"an output that is {what} is a failed run, never null",
            section,
            _answers(text),
            status="failed",
            code="BAD_OUTPUT",
        )
    yield module_vector(
        "an output may run to the end of memory without a NUL",
        section,
        _answers("12345678", at=65_528),
        status="ok",
        output=12_345_678,
    )
    yield module_vector("an output ends at the first NUL", section, _answers("1\0garbage"), status="ok", output=1)
    fixed = f"(module {MEMORY} {SIGNATURE} i32.const"
    yield module_vector(
        "a negative result is the gene's own error", section, f"{fixed} -7))", status="failed", code="GENE_ERROR"
    )
    yield module_vector(
        "an output outside memory is a failed run", section, f"{fixed} 65536))", status="failed", code="BAD_OUTPUT"
    )
    yield module_vector(
        "an output far outside memory is a failed run",
        section,
        f"{fixed} 0x7fffffff))",
        status="failed",
        code="BAD_OUTPUT",
    )
    yield module_vector(
        "an output above 16 MiB is refused",
        section,
        '(module (memory (export "memory") 300)'
        f" {SIGNATURE} (memory.fill (i32.const 0) (i32.const 0x31) (i32.const 16777217)) i32.const 0))",
        status="failed",
        code="OUTPUT_TOO_LARGE",
    )
    yield module_vector(
        "a trap is a failed run",
        "How a run ends",
        f"(module {MEMORY} {SIGNATURE} unreachable))",
        status="failed",
        code="TRAP",
    )
    recursion = f"(module {MEMORY} (func $deep (result i32) call $deep) {SIGNATURE} call $deep))"
    yield module_vector(
        "a call stack without end is a failed run", "How a run ends", recursion, status="failed", code="STACK_OVERFLOW"
    )


def _rejections() -> Iterator[Vector]:
    section = "Rejecting an input"
    for what, text in (
        ("with code and message", '{"__rotifer_error":{"code":"MEMORY_NOT_FOUND","message":"no"}}'),
        ("with a message alone", '{"__rotifer_error":{"message":"no"}}'),
    ):
        yield module_vector(
            f"an error object {what} rejects the input with its message",
            section,
            _answers(text),
            status="rejected",
            code="INVALID_INPUT",
            message="no",
        )
    for what, inner in (
        ("a string", '"no"'),
        ("null", "null"),
        ("empty", "{}"),
        ("an object with a message that is a number", '{"message":5}'),
    ):
        yield module_vector(
            f"an error member that is {what} rejects the input too",
            section,
            _answers(f'{{"__rotifer_error":{inner}}}'),
            status="rejected",
            code="INVALID_INPUT",
        )
    yield module_vector(
        "with a second member the output is ordinary",
        section,
        _answers('{"__rotifer_error":{"message":"no"},"a":1}'),
        status="ok",
        output={"__rotifer_error": {"message": "no"}, "a": 1},
    )
    yield module_vector(
        "within an array the output is ordinary",
        section,
        _answers('[{"__rotifer_error":{}}]'),
        status="ok",
        output=[{"__rotifer_error": {}}],
    )


def _inputs() -> Iterator[Vector]:
    section = "Input and output"
    document = {"text": "grüße \N{PARTY POPPER}", "list": [1, 2, {"a": None}]}
    yield module_vector(
        "without alloc the input lies at address 0",
        section,
        f"(module {MEMORY} {ECHO})",
        document,
        status="ok",
        output=document,
    )
    allocated = f'(module {MEMORY} (func (export "alloc") (param i32) (result i32) i32.const {{}}) {ECHO})'
    yield module_vector(
        "with alloc the input lies where it says",
        section,
        allocated.format(512),
        document,
        status="ok",
        output=document,
    )
    yield module_vector(
        "0 is an address like any other to get from alloc",
        section,
        allocated.format(0),
        document,
        status="ok",
        output=document,
    )
    yield module_vector(
        "alloc that answers outside memory is a failed run",
        section,
        allocated.format(65_536),
        document,
        status="failed",
        code="BAD_ALLOC",
    )
    yield module_vector(
        "alloc that answers a negative number is a failed run",
        section,
        allocated.format(-8),
        document,
        status="failed",
        code="BAD_ALLOC",
    )
    yield module_vector(
        "input that does not fit is refused, never cut off, and memory is not grown for it",
        section,
        f"(module {MEMORY} {ECHO})",
        "x" * 70_000,
        status="failed",
        code="INPUT_TOO_LARGE",
    )
    length = (
        f"(module {MEMORY} {SIGNATURE}"
        " (i32.store8 (i32.const 600) (i32.add (i32.const 48) (local.get $length)))"
        " (i32.store8 (i32.const 601) (i32.const 0)) i32.const 600))"
    )
    yield module_vector(
        "the input is compact JSON without a terminator, and its length is told",
        section,
        length,
        {"a": 1},
        status="ok",
        output=7,
    )


def _shapes() -> Iterator[Vector]:
    section = "Modules"
    refused = {"status": "refused", "code": "BAD_MODULE"}
    yield module_vector("a module without memory is refused", section, f"(module {ECHO})", **refused)
    yield module_vector("a module without express or _start is refused", section, f"(module {MEMORY})", **refused)
    yield module_vector(
        "express with another signature is refused",
        section,
        f'(module {MEMORY} (func (export "express") (param i32) (result i32) local.get 0))',
        **refused,
    )
    yield module_vector(
        "an express that only re-exports an import is refused",
        section,
        '(module (import "rotifer" "readContext" (func $f (param i32 i32 i32 i32) (result i32)))'
        f' {MEMORY} (export "express" (func $f)))',
        **refused,
    )
    ready = (
        f"(module {MEMORY} (global $n (mut i32) (i32.const 48)) (func $one"
        " (global.set $n (i32.add (global.get $n) (i32.const 1)))) {}"
        f" {SIGNATURE} (i32.store16 (i32.const 64) (global.get $n)) i32.const 64))"
    )
    yield module_vector("the start function runs first", section, ready.format("(start $one)"), status="ok", output=1)
    yield module_vector(
        "_initialize is called once, before express",
        section,
        ready.format('(export "_initialize" (func $one))'),
        status="ok",
        output=1,
    )
    counter = (
        f'(module {MEMORY} (data (i32.const 64) "0") {SIGNATURE}'
        " (i32.store8 (i32.const 64) (i32.add (i32.load8_u (i32.const 64)) (i32.const 1))) i32.const 64))"
    )
    yield Vector(
        "a module has a fresh instance in every run",
        ABI(section),
        [run_module(OWNER, counter, None, {"status": "ok", "output": 1})] * 2,
        needs=MODULES,
    )
