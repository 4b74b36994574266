"""Modules that are hostile by what they are: huge, deep, long-winded, or made of what the host has no word for.

Each is loaded and run in a process of its own, so that an abort of the compiler's or the engine's shows.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from rotifer_host.errors import BadModuleError
from rotifer_host.sandbox import assemble
from rotifer_host.sandbox.compiling import in_time

GENE = """(module {imports} (memory (export "memory") 1) (data (i32.const 1024) "1")
    (func $f (export "express") (param i32 i32) (result i32) {body} i32.const 1024) {extra})"""

RUN = """
import json, sys
from rotifer_host.errors import RotiferError
from rotifer_host.limits import Limits
from rotifer_host.sandbox import *
source = sys.stdin.buffer.read()
try:
    sandbox = Sandbox(HostFunctions(core_functions(), wasi_functions()))
    wasm = source if source.startswith(b"\\0asm") else assemble(source)
    result = sandbox.run(sandbox.load(wasm, name="hostile"), b"{}", limits=Limits(), deadline=Deadline(60_000),
        host_time=HostTime(30_000), services=None, context={}, logical_ms=0)
    words = "" if result.error is None else result.error.message + "".join(result.error.backtrace)
    print(json.dumps([result.status if result.error is None else result.error.code, words]))
except RotiferError as error:
    print(json.dumps([type(error).__name__, error.message + (error.help or "")]))
"""


def gene(body: str = "", extra: str = "", imports: str = "") -> str:
    """Return the text of a gene whose `express` runs `body`, with more fields of a module."""
    return GENE.format(imports=imports, body=body, extra=extra)


def binary(*sections: bytes) -> bytes:
    """Return a module of these sections."""
    return b"\0asm\1\0\0\0" + b"".join(sections)


WORDY = '(import "{}" "{}" (func))'
LONG = "n" * 100_000
ESCAPES = "\\1b[2J\\0aerror: forged"

MODULES: dict[str, tuple[str | bytes, str, str]] = {
    # Large.
    "20,000 functions": (gene(extra="(func)" * 20_000), "ok", ""),
    "1,000,001 functions": (gene(extra="(func)" * 1_000_000), "BadModuleError", "functions count exceeds limit"),
    "20,000 unknown imports": (
        gene(imports="".join(WORDY.format(number, "x" * 1000) for number in range(20_000))),
        "UnknownImportError",
        "and 19970 more",
    ),
    "90,000 exports": (gene(extra="".join(f'(export "{n}" (func $f))' for n in range(90_000))), "ok", ""),
    "90,000 data segments": (gene(extra='(data (i32.const 0) "x")' * 90_000), "ok", ""),
    "a million elements": (
        gene(extra="(table 10000 funcref)" + ("(elem (i32.const 0)" + " $f" * 10_000 + ")") * 100),
        "ok",
        "",
    ),
    "90,000 globals": (gene(extra="(global i32 (i32.const 0))" * 90_000), "ok", ""),
    "200,000 custom sections": (binary(b"\0\3\1xy" * 200_000), "BadModuleError", "exports no memory"),
    "a table of 100,000,000": (gene(extra="(table 100000000 funcref)"), "BadModuleError", ""),
    "17 tables": (gene(extra="(table 1 funcref)" * 17), "BadModuleError", ""),
    # Deep.
    "a million open parentheses": ("(" * 1_000_000, "BadModuleError", "not WebAssembly text"),
    "100,000 open comments": ("(;" * 100_000, "BadModuleError", "not WebAssembly text"),
    "100,000 nested blocks": (gene("block " * 100_000 + "end " * 100_000), "ok", ""),
    "20,000 nested additions": (
        gene("(drop " + "(i32.add (i32.const 1) " * 20_000 + "(i32.const 1)" + ")" * 20_001),
        "ok",
        "",
    ),
    "recursion with 49,000 locals": (
        gene(f"(local {'i64 ' * 49_000}) (drop (call $f (i32.const 1) (i32.const 2)))"),
        "STACK_OVERFLOW",
        "",
    ),
    "a function with 50,001 locals": (gene(f"(local {'i64 ' * 50_000})"), "BadModuleError", "locals"),
    "1,000 parameters and results": (
        gene(extra=f"(func (param {'i64 ' * 1000}) (result {'i64 ' * 1000}) unreachable)"),
        "ok",
        "",
    ),
    "1,001 parameters": (gene(extra=f"(func (param {'i64 ' * 1001}))"), "BadModuleError", "param"),
    # Long-winded.
    "a function name of 100,000 characters": (
        gene("(call $g)", f'(func $g (@name "{LONG}") unreachable)'),
        "TRAP",
        "nnn… at",
    ),
    "unknown imports with long names": (
        gene(imports="".join(WORDY.format(f"{number}{LONG[:99_000]}", LONG) for number in range(50))),
        "UnknownImportError",
        "and 20 more",
    ),
    "an error in a line of 100,000 characters": (f"(module {LONG})", "BadModuleError", "not WebAssembly text"),
    # Odd.
    "a name section that lies": (binary(b"\0\x0a\4name\1\xff\xff\xff\x0f"), "BadModuleError", "exports no memory"),
    "a section that ends in the middle": (binary(b"\1\xff\xff\3\1"), "BadModuleError", "not a valid"),
    "a section of 4 GiB": (binary(b"\1\xff\xff\xff\xff\x0f"), "BadModuleError", "not a valid"),
    "an endless number": (binary(b"\1" + b"\x80" * 1000), "BadModuleError", "not a valid"),
    "nothing but the preamble": (binary(), "BadModuleError", "exports no memory"),
    "half a preamble": (b"\0asm\1", "BadModuleError", ""),
    "a future version": (b"\0asm\2\0\0\0", "BadModuleError", ""),
    "shared memory": ('(module (memory (export "memory") 1 1 shared))', "BadModuleError", "threads"),
    "64-bit memory": ('(module (memory (export "memory") i64 1))', "BadModuleError", "memory64"),
    "two memories": ('(module (memory (export "memory") 1) (memory 1))', "BadModuleError", "multiple memories"),
    "exceptions": ("(module (tag))", "BadModuleError", "exceptions"),
    "garbage collection": ("(module (type (struct)))", "BadModuleError", "gc"),
    "an imported memory": (
        """(module (import "env" "memory" (memory 1)) (export "memory" (memory 0))
            (func (export "express") (param i32 i32) (result i32) i32.const 0))""",
        "UnknownImportError",
        "only functions can be imported",
    ),
    "an import with vectors": (
        gene(imports='(import "rotifer" "log" (func (param v128)))'),
        "UnknownImportError",
        "(v128)",
    ),
    "express with vectors": (
        '(module (memory (export "memory") 1) (func (export "express") (param v128) (result v128) local.get 0))',
        "BadModuleError",
        "must be (i32, i32) -> i32",
    ),
    "a memory that is a function": ('(module (func (export "memory")))', "BadModuleError", "exports no memory"),
    "a reexported host function": (
        """(module (import "rotifer" "log" (func $log (param i32 i32 i32))) (memory (export "memory") 1)
            (export "express" (func $log)))""",
        "BadModuleError",
        "is an import",
    ),
    "import names with escapes": (
        gene(imports=WORDY.format(ESCAPES, ESCAPES)),
        "UnknownImportError",
        "forged",
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_an_error_or_a_result_never_an_abort(name: str) -> None:
    """A module is refused or run, in words that stay short however long its own are."""
    source, outcome, words = MODULES[name]
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=source.encode() if isinstance(source, str) else source,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    seen, message = json.loads(done.stdout)
    assert seen == outcome, message[:500]
    assert words in message
    assert len(message) < 100_000


def test_compiling_takes_so_long_and_no_longer() -> None:
    """A module whose compilation takes longer than it may is refused, by name of what took the time."""
    with pytest.raises(BadModuleError, match=r"compiling took more than 0\.01 s"):
        in_time(lambda: time.sleep(0.5), most_s=0.01)
    with pytest.raises(ZeroDivisionError):
        in_time(lambda: 1 // 0)
    assert in_time(lambda: 1) == 1


def test_an_interrupt_ends_a_compilation() -> None:
    """Ctrl-C is answered while half a megabyte of nested blocks keeps the compiler busy for a minute and more."""
    wasm = assemble(gene("i32.const 1 if " * 100_000 + "end " * 100_000))
    code = """
import sys
from rotifer_host.sandbox import HostFunctions, Sandbox, core_functions
sandbox = Sandbox(HostFunctions(core_functions()))
wasm = sys.stdin.buffer.read()
try:
    print("compiling", flush=True)
    sandbox.load(wasm, name="hostile")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(wasm)
        child.stdin.close()
        assert child.stdout.readline() == b"compiling\n"
        child.send_signal(signal.SIGINT)
        try:
            assert child.stdout.readline() == b"interrupted\n"
        finally:
            child.kill()
