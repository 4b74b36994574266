"""Every way a run can end, told apart."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from rotifer_host.contract import MAX_INPUT_BYTES
from rotifer_host.limits import Limits
from rotifer_host.sandbox import GuestResult

RunGuest = Callable[..., GuestResult]
Writer = Callable[..., str]

SPIN = "(loop (br 0))"
ABORT = '(import "env" "abort" (func $abort (param i32 i32 i32 i32)))'
RECURSE = "(func $deep (call $deep) (call $deep))"
TABLE = "(table 2 funcref) (type $none (func)) (type $one (func (param i32))) (elem (i32.const 0) $noop) (func $noop)"


def test_output_of_express(run_guest: RunGuest, gene: Writer) -> None:
    """What express returns is decoded, and given as compact JSON too."""
    result = run_guest(gene(output='{ "a" : [1, 2.50, "é"] }'))
    assert (result.status, result.error) == ("ok", None)
    assert result.output == {"a": [1, 2.5, "é"]}
    assert result.output_json == '{"a":[1,2.5,"é"]}'.encode()


def test_input_reaches_express(run_guest: RunGuest) -> None:
    """A gene that returns its input's address echoes it: input lies at alloc's answer, or at 0 without one."""
    express = '(func (export "express") (param i32 i32) (result i32) (local.get 0))'
    with_alloc = '(func (export "alloc") (param i32) (result i32) (i32.const 4096))'
    for extra in ("", with_alloc):
        result = run_guest(f'(module (memory (export "memory") 1) {extra} {express})', b'{"x":"y"}')
        assert result.output == {"x": "y"}


def test_output_up_to_the_end_of_memory(run_guest: RunGuest) -> None:
    """Output needs no NUL when it ends with memory."""
    wat = """(module (memory (export "memory") 1) (data (i32.const 65533) "123")
        (func (export "express") (param i32 i32) (result i32) (i32.const 65533)))"""
    assert run_guest(wat).output == 123


def test_start_wins_over_express(run_guest: RunGuest, program: Writer) -> None:
    """A module with both entries is run as a WASI program."""
    extra = '(data (i32.const 100) "7") (func (export "express") (param i32 i32) (result i32) (unreachable))'
    assert run_guest(program("(call $write (i32.const 1) (i32.const 100) (i32.const 1))", extra=extra)).output == 7


def test_initialize_runs_first(run_guest: RunGuest, gene: Writer) -> None:
    """`_initialize` runs once, before alloc and express."""
    extra = """(global $n (mut i32) (i32.const 0))
        (func (export "_initialize") (global.set $n (i32.add (global.get $n) (i32.const 1))))
        (func (export "alloc") (param i32) (result i32)
            (if (i32.ne (global.get $n) (i32.const 1)) (then (unreachable))) (i32.const 0))"""
    body = "(if (i32.ne (global.get $n) (i32.const 1)) (then (unreachable)))"
    assert run_guest(gene(body, extra=extra)).status == "ok"


REJECTIONS = [
    ('{"__rotifer_error":{"code":"X","message":"no such unit"}}', "no such unit"),
    ('{"__rotifer_error":{"message":7}}', "gene refused the input"),
    ('{"__rotifer_error":null}', "gene refused the input"),
    ('{"__rotifer_error":"text"}', "gene refused the input"),
]


@pytest.mark.parametrize(("output", "message"), REJECTIONS)
def test_rejection(run_guest: RunGuest, gene: Writer, output: str, message: str) -> None:
    """An object whose only member is __rotifer_error means that the gene refused its input."""
    result = run_guest(gene(output=output))
    assert result.status == "rejected"
    assert result.error is not None
    assert (result.error.code, result.error.message) == ("INVALID_INPUT", message)
    assert (result.output, result.output_json) == (None, b"null")


@pytest.mark.parametrize("output", ['{"__rotifer_error":1,"x":2}', '[{"__rotifer_error":1}]', '"__rotifer_error"'])
def test_ordinary_output_with_the_error_key(run_guest: RunGuest, gene: Writer, output: str) -> None:
    """Anything else that holds the key is ordinary output."""
    assert run_guest(gene(output=output)).status == "ok"


FAILURES = {
    "unreachable": ("(unreachable)", "", "TRAP", "unreachable"),
    "load out of bounds": ("(drop (i32.load (i32.const 65536)))", "", "TRAP", "memory access out of bounds"),
    "store out of bounds": ("(i32.store (i32.const -4) (i32.const 1))", "", "TRAP", "memory access out of bounds"),
    "division by zero": ("(drop (i32.div_u (i32.const 1) (i32.const 0)))", "", "TRAP", "integer division by zero"),
    "integer overflow": ("(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))", "", "TRAP", "integer overflow"),
    "conversion": ("(drop (i32.trunc_f32_u (f32.const nan)))", "", "TRAP", "float that no integer can hold"),
    "table": ("(call_indirect (type $none) (i32.const 9))", TABLE, "TRAP", "table access out of bounds"),
    "null entry": ("(call_indirect (type $none) (i32.const 1))", TABLE, "TRAP", "null table entry"),
    "signature": ("(call_indirect (type $one) (i32.const 1) (i32.const 0))", TABLE, "TRAP", "wrong signature"),
    "stack": ("(call $deep)", RECURSE, "STACK_OVERFLOW", "call stack exhausted"),
    "gene error": ("(return (i32.const -7))", "", "GENE_ERROR", "express returned -7"),
    "address outside": ("(return (i32.const 65536))", "", "BAD_OUTPUT", "65536, which is outside memory"),
    "empty": ("(return (i32.const 9000))", "", "BAD_OUTPUT", "empty"),
}


def test_a_frame_without_a_place_is_shown_by_name_alone(run_guest: RunGuest, gene: Writer) -> None:
    """The engine knows no offset of the call that found the stack exhausted, and none is made up."""
    result = run_guest(gene("(call $deep)", extra=RECURSE))
    assert result.error is not None
    first, second, *_ = result.error.backtrace
    assert first == "deep"
    assert re.fullmatch("deep at 0x[0-9a-f]{1,8}", second)


@pytest.mark.parametrize("name", FAILURES)
def test_failures(run_guest: RunGuest, gene: Writer, name: str) -> None:
    """Each kind of failure has its code, and a message that names the kind in words."""
    body, extra, code, words = FAILURES[name]
    result = run_guest(gene(body, extra=extra))
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == code
    assert words in result.error.message


BAD_OUTPUTS = ["{", "1 2", "NaN", "[1,]", "\ufeff1", '"\\ud800"', "undefined", "'x'"]


@pytest.mark.parametrize("output", BAD_OUTPUTS)
def test_output_that_is_no_document(run_guest: RunGuest, gene: Writer, output: str) -> None:
    """Output that is not one JSON document fails the run, and the message shows its first bytes."""
    result = run_guest(gene(output=output))
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "BAD_OUTPUT")
    assert repr(output.encode())[2:-1] in result.error.message


def test_output_that_is_not_utf8(run_guest: RunGuest) -> None:
    """Bytes that are not UTF-8 are shown escaped."""
    wat = """(module (memory (export "memory") 1) (data (i32.const 0) "\\22\\ff\\22\\00")
        (func (export "express") (param i32 i32) (result i32) (i32.const 0))
        (func (export "alloc") (param i32) (result i32) (i32.const 100)))"""
    result = run_guest(wat)
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "BAD_OUTPUT")
    assert "\\xff" in result.error.message


def test_output_larger_than_the_limit(run_guest: RunGuest, gene: Writer) -> None:
    """16 MiB of output are accepted, one byte more is an error of its own."""
    body = """(memory.fill (i32.const 65536) (i32.const 0x20) (i32.const {}))
        (i32.store8 (i32.const 65536) (i32.const 0x31)) (return (i32.const 65536))"""
    assert run_guest(gene(body.format(16 << 20), pages="300")).output == 1
    result = run_guest(gene(body.format((16 << 20) + 1), pages="300"))
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "OUTPUT_TOO_LARGE")


def test_negative_alloc_answer_is_an_address(run_guest: RunGuest, gene: Writer) -> None:
    """Alloc's answer is unsigned: -1 is the last address, outside memory."""
    result = run_guest(gene(extra='(func (export "alloc") (param i32) (result i32) (i32.const -1))'))
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "BAD_ALLOC")
    assert "4294967295" in result.error.message


@pytest.mark.parametrize(("address", "code"), [(65534, None), (65535, "BAD_ALLOC"), (65536, "BAD_ALLOC")])
def test_alloc_at_the_end_of_memory(run_guest: RunGuest, gene: Writer, address: int, code: str | None) -> None:
    """The input, here two bytes, must lie inside memory to its last byte."""
    result = run_guest(gene(extra=f'(func (export "alloc") (param i32) (result i32) (i32.const {address}))'))
    assert (result.error and result.error.code) == code


def test_input_larger_than_memory_without_alloc(run_guest: RunGuest, gene: Writer) -> None:
    """Without alloc the host neither cuts the input nor grows memory for it."""
    document = b'"' + b"x" * 65535 + b'"'
    result = run_guest(gene(), document)
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "INPUT_TOO_LARGE")
    assert result.peak_memory_bytes == 65536


def test_input_larger_than_memory_at_its_limit(run_guest: RunGuest, gene: Writer) -> None:
    """The same is a matter of the limit when the memory stands at it."""
    document = b'"' + b"x" * 65535 + b'"'
    result = run_guest(gene(), document, limits=Limits(memory_bytes=65536))
    assert result.error is not None
    assert (result.status, result.error.code) == ("limit", "MEMORY_EXCEEDED")


def test_input_larger_than_the_limit(run_guest: RunGuest, gene: Writer) -> None:
    """An input above 16 MiB is refused before the guest starts."""
    result = run_guest(gene(pages="300"), b'"' + b"x" * MAX_INPUT_BYTES + b'"')
    assert result.error is not None
    assert (result.status, result.error.code, result.fuel) == ("failed", "INPUT_TOO_LARGE", 0)


def test_abort(run_guest: RunGuest, gene: Writer) -> None:
    """`env.abort` ends the run with AssemblyScript's text, and says where it was called."""
    extra = """(data (i32.const 2000) "\\06\\00\\00\\00n\\00o\\00\\e9\\00")
        (data (i32.const 2100) "\\08\\00\\00\\00g\\00.\\00t\\00s\\00")
        (func $fail (call $abort (i32.const 2004) (i32.const 2104) (i32.const 3) (i32.const 14)))"""
    result = run_guest(gene("(call $fail) (unreachable)", imports=ABORT, extra=extra))
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "ABORTED")
    assert result.error.message == "noé (g.ts:3:14)"
    assert result.error.backtrace[0].startswith("fail at 0x")


@pytest.mark.parametrize("address", [0, 3, 65536, -1])
def test_abort_with_pointers_to_nothing(run_guest: RunGuest, gene: Writer, address: int) -> None:
    """Pointers without a string behind them still end the run, with words of the host."""
    result = run_guest(
        gene(f"(call $abort (i32.const {address}) (i32.const 0) (i32.const 1) (i32.const 2))", imports=ABORT)
    )
    assert result.error is not None
    assert (result.error.code, result.error.message) == ("ABORTED", "no message (unknown file:1:2)")


def test_backtrace_is_innermost_first(run_guest: RunGuest, gene: Writer) -> None:
    """A trap tells the functions it happened in, by name, with offsets into the file."""
    extra = "(func $inner (unreachable)) (func $outer (call $inner))"
    result = run_guest(gene("(call $outer)", extra=extra))
    assert result.error is not None
    assert [line.split(" at 0x")[0] for line in result.error.backtrace] == ["inner", "outer", "function 2"]


def test_result_measures_the_run(run_guest: RunGuest, gene: Writer) -> None:
    """A result tells fuel, peak memory and duration, also of a failed run."""
    result = run_guest(gene("(drop (memory.grow (i32.const 3))) (unreachable)"))
    assert result.fuel > 0
    assert result.peak_memory_bytes == 4 * 65536
    assert result.duration_ms > 0


def test_stderr_is_kept_with_a_failure(run_guest: RunGuest, program: Writer) -> None:
    """What a guest wrote to stderr is there when it trapped."""
    body = "(call $write (i32.const 2) (i32.const 100) (i32.const 4)) (unreachable)"
    result = run_guest(program(body, extra='(data (i32.const 100) "oops")'))
    assert (result.status, result.stderr) == ("failed", "oops")


@pytest.mark.parametrize("where", ["start", "alloc", "initialize", "express"])
def test_trap_anywhere(run_guest: RunGuest, gene: Writer, where: str) -> None:
    """A trap in the start function, `_initialize` or alloc is a trap like one in express."""
    extra = {
        "start": "(func $go (unreachable)) (start $go)",
        "initialize": '(func (export "_initialize") (unreachable))',
        "alloc": '(func (export "alloc") (param i32) (result i32) (unreachable))',
        "express": "",
    }[where]
    result = run_guest(gene("(unreachable)" if where == "express" else "", extra=extra))
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "TRAP")


def test_data_outside_memory(run_guest: RunGuest) -> None:
    """A module whose data does not fit its memory traps when it is instantiated."""
    wat = """(module (memory (export "memory") 1) (data (i32.const 65536) "x")
        (func (export "express") (param i32 i32) (result i32) (i32.const 0)))"""
    result = run_guest(wat)
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "TRAP")
