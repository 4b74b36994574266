"""A host that answers from a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from rotifer_host import contract
from rotifer_host.errors import (
    AccessDeniedError,
    BadModuleError,
    DocumentError,
    HostCallError,
    InvalidInputError,
    NotFoundError,
    QuotaExceededError,
    StorageError,
)
from rotifer_host.testing import ScriptedHost

# Makes one call with its input as the request and returns what the call left at 4096, or the result if it is negative
# and nothing was left.
CALLER = """(module
  (import "rotifer" "{call}" (func $call (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "express") (param $at i32) (param $length i32) (result i32)
    (local $result i32)
    (local.set $result (call $call (local.get $at) (local.get $length) (i32.const 4096) (i32.const {out_cap})))
    (if (i32.lt_s (local.get $result) (i32.const 0))
      (then (if (i32.eqz (i32.load8_u (i32.const 4096))) (then (return (local.get $result))))))
    (i32.const 4096)))"""
CALLS = ("readMemory", "writeMemory", "queryMemory", "deleteMemory")


@pytest.mark.parametrize("call", CALLS)
def test_it_answers_what_it_is_told(call: str) -> None:
    """Each call gets the next answer of its own script, and its request is kept as it was made."""
    host = ScriptedHost()
    host.answer(call, {"a": "é"}, b'["as", "it is"]')
    wat = CALLER.format(call=call, out_cap=100)
    assert host.run(wat, {"key": "x"}).output == {"a": "é"}
    assert host.run(wat, {"key": "y"}).output == ["as", "it is"]
    assert [(request.call, request.json, request.out_cap) for request in host.requests] == [
        (call, {"key": "x"}, 100),
        (call, {"key": "y"}, 100),
    ]
    assert host.requests[0].body == b'{"key":"x"}'
    assert host.unused == {}


@pytest.mark.parametrize(
    "kind", [AccessDeniedError, InvalidInputError, NotFoundError, QuotaExceededError, StorageError]
)
def test_it_refuses_what_it_is_told(kind: type[HostCallError]) -> None:
    """An error is answered as its result, with the payload guests get from the real host."""
    host = ScriptedHost()
    host.answer("writeMemory", kind("because"))
    result = host.run(CALLER.format(call="writeMemory", out_cap=1000), {})
    assert (result.status, result.error.code if result.error else None) == ("rejected", "INVALID_INPUT")
    assert result.error is not None
    assert result.error.message == "because"
    assert result.host_calls["writeMemory"].errors == {kind.result: 1}


def test_room_still_counts() -> None:
    """An answer that does not fit is -1, as it is for real."""
    host = ScriptedHost()
    host.answer("readMemory", "a long answer")
    result = host.run(CALLER.format(call="readMemory", out_cap=3), {})
    assert result.host_calls["readMemory"].errors == {contract.BUFFER_TOO_SMALL: 1}


def test_a_call_without_an_answer_ends_the_run() -> None:
    """A guest that calls more often than the script foresees fails, by name; answers left over can be asked for."""
    host = ScriptedHost()
    host.answer("writeMemory", None, None)
    result = host.run(CALLER.format(call="readMemory", out_cap=100), {})
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "UNSCRIPTED")
    assert "readMemory" in result.error.message
    assert host.unused == {"writeMemory": 2}


def test_a_script_is_checked() -> None:
    """Calls there are not and answers that are no JSON are refused at once."""
    host = ScriptedHost()
    with pytest.raises(ValueError, match="'readmemory' is not one of readMemory, writeMemory"):
        host.answer("readmemory", None)
    with pytest.raises(DocumentError):
        host.answer("readMemory", float("nan"))


def test_it_takes_modules_in_every_form(tmp_path: Path) -> None:
    """A guest may be a file of text, a file of a module, bytes, or text; what is none is refused."""
    wat = '(module (memory (export "memory") 1) (func (export "express") (param i32 i32) (result i32) (i32.const 0)))'
    file = tmp_path / "gene.wat"
    file.write_text(wat, encoding="utf-8")
    assert [ScriptedHost().run(guest, 7).output for guest in (wat, file, str(file))] == [7, 7, 7]
    with pytest.raises(BadModuleError):
        ScriptedHost().run(b"not a module", 7)
    with pytest.raises(BadModuleError):
        ScriptedHost().run("(module (oops", 7)
