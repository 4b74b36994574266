"""What can be loaded, what is refused, and with which words."""

from __future__ import annotations

import gc

import pytest

from rotifer_host.contract import MAX_MODULE_BYTES
from rotifer_host.errors import BadModuleError, UnknownImportError, UsageError
from rotifer_host.limits import Limits
from rotifer_host.sandbox import (
    Deadline,
    ExchangeFunction,
    HostFunctions,
    HostTime,
    ModuleInfo,
    Sandbox,
    assemble,
    available_call_paths,
    core_functions,
    inspect,
    wasi_functions,
)

MEMORY = '(memory (export "memory") 2 5)'
EXPRESS = '(func (export "express") (param i32 i32) (result i32) (i32.const 0))'
START = '(func (export "_start"))'


@pytest.fixture(scope="module")
def box() -> Sandbox:
    """Return a sandbox with one memory call besides the core functions."""
    read = ExchangeFunction("rotifer", "readMemory", lambda _run: None, lambda _run, _request, _capacity: b"null")
    return Sandbox(HostFunctions(core_functions(), wasi_functions(), (read,)))


def test_inspect_direct() -> None:
    """A direct-mode gene is described without being run."""
    wat = f"""(module (import "env" "log" (func (param i32 i32))) (import "x" "y" (global i64)) {MEMORY} {EXPRESS}
        (func (export "alloc") (param i32) (result i32) (unreachable)) (func $go (unreachable)) (start $go))"""
    assert inspect(assemble(wat)) == ModuleInfo(
        mode="direct",
        exports=("memory", "express", "alloc"),
        imports=(("env", "log", "(i32, i32) -> ()"), ("x", "y", "global")),  # type: ignore[arg-type]
        has_alloc=True,
        has_initialize=False,
        memory_pages=2,
        max_memory_pages=5,
    )


def test_inspect_wasi() -> None:
    """`_start` makes a WASI program, also beside an `express`; its alloc is its own business."""
    wat = f'(module {MEMORY} {EXPRESS} {START} (func (export "alloc")) (func (export "_initialize")))'
    info = inspect(assemble(wat))
    assert (info.mode, info.has_alloc, info.has_initialize) == ("wasi", False, True)


IMPORTED = '(import "env" "log" (func $log (param i32 i32)))'
NO_GENES: dict[str, tuple[str | bytes, str]] = {
    "empty file": (b"", "not a WebAssembly binary"),
    "text": (b"(module)", "not a WebAssembly binary"),
    "header only": (b"\0asm", "not a valid WebAssembly module"),
    "torn": (assemble(f"(module {MEMORY} {EXPRESS})")[:-3], "not a valid WebAssembly module"),
    "component": (b"\0asm\x0d\0\1\0", "a WebAssembly component"),
    "no memory": (f"(module {EXPRESS})", "no memory named `memory`"),
    "memory by another name": (f'(module (memory (export "mem") 1) {EXPRESS})', "no memory named `memory`"),
    "memory that is none": (f'(module (global (export "memory") i32 (i32.const 0)) {EXPRESS})', "no memory named"),
    "no entry": (f"(module {MEMORY})", "neither `express` nor `_start`"),
    "entry that is no function": (
        f'(module {MEMORY} (global (export "express") i32 (i32.const 0)))',
        "neither `express` nor `_start`",
    ),
    "entry that is an import": (
        f'(module (import "env" "log" (func $f (param i32 i32) (result i32))) {MEMORY} (export "express" (func $f)))',
        "the one it exports is an import",
    ),
    "express without result": (
        f'(module {MEMORY} (func (export "express") (param i32 i32)))',
        "`express` must be (i32, i32) -> i32, not (i32, i32) -> ()",
    ),
    "express with i64": (
        f'(module {MEMORY} (func (export "express") (param i64 i64) (result i32) (i32.const 0)))',
        "`express` must be (i32, i32) -> i32, not (i64, i64) -> i32",
    ),
    "express with two results": (
        f'(module {MEMORY} (func (export "express") (result i32 f64) (i32.const 0) (f64.const 0)))',
        "not () -> (i32, f64)",
    ),
    "start with a parameter": (
        f'(module {MEMORY} (func (export "_start") (param i32)))',
        "`_start` must be () -> (), not (i32) -> ()",
    ),
    "alloc without result": (
        f'(module {MEMORY} {EXPRESS} (func (export "alloc") (param i32)))',
        "`alloc` must be (i32) -> i32, not (i32) -> ()",
    ),
    "initialize with a result": (
        f'(module {MEMORY} {EXPRESS} (func (export "_initialize") (result i32) (i32.const 0)))',
        "`_initialize` must be () -> (), not () -> i32",
    ),
    "shared memory": (f'(module (memory (export "memory") 1 1 shared) {EXPRESS})', "not a valid WebAssembly module"),
    "64-bit memory": (f'(module (memory (export "memory") i64 1) {EXPRESS})', "not a valid WebAssembly module"),
    "second memory": (f"(module {MEMORY} (memory 1) {EXPRESS})", "not a valid WebAssembly module"),
}


@pytest.mark.parametrize("name", NO_GENES)
def test_no_genes(name: str) -> None:
    """What is no gene is refused before anything runs, and the message names the rule."""
    source, words = NO_GENES[name]
    with pytest.raises(BadModuleError) as caught:
        inspect(source if isinstance(source, bytes) else assemble(source))
    assert words in caught.value.message
    assert caught.value.code == "BAD_MODULE"


def test_largest_module() -> None:
    """A file above 64 MiB is refused unread."""
    with pytest.raises(BadModuleError, match="64 MB"):
        inspect(bytes(MAX_MODULE_BYTES + 1))


def test_names_in_any_encoding_of_numbers() -> None:
    """Exports are found behind numbers of several bytes."""
    exports = "".join(f'(export "{"long" * 50}{number}" (func $f))' for number in range(200))
    wat = f"(module {MEMORY} (func $f) {exports} {EXPRESS})"
    assert inspect(assemble(wat)).mode == "direct"


IMPORTS = {
    "unknown name": (
        '(import "rotifer" "readMemery" (func (param i32 i32 i32 i32) (result i32)))',
        ["unknown import rotifer.readMemery (i32, i32, i32, i32) -> i32"],
        ["rotifer offers log, logicalTimestamp, readContext, readMemory, remainingBudget"],
    ),
    "unknown module": (
        '(import "wasi_unstable" "fd_write" (func))',
        ["unknown import wasi_unstable.fd_write () -> ()"],
        ["there is no wasi_unstable; the host offers the modules rotifer, env, wasi_snapshot_preview1"],
    ),
    "named by the specification": (
        '(import "rotifer.crypto" "sha256" (func (param i32 i32 i32)))',
        ["unknown import rotifer.crypto.sha256 (i32, i32, i32) -> ()"],
        ["rotifer.crypto is named by the IR specification, but this host does not offer it"],
    ),
    "wrong signature": (
        '(import "rotifer" "readMemory" (func (param i32 i32) (result i32)))',
        ["import rotifer.readMemory is (i32, i32) -> i32, the host offers (i32, i32, i32, i32) -> i32"],
        [],
    ),
    "wrong types": (
        '(import "env" "log" (func (param i64 i32)))',
        ["import env.log is (i64, i32) -> (), the host offers (i32, i32) -> ()"],
        [],
    ),
    "memory": ('(import "env" "mem" (table 1 funcref))', ["import env.mem is a table: only functions"], []),
    "global": ('(import "env" "base" (global i32))', ["import env.base is a global: only functions"], []),
    "several": (
        '(import "rotifer.net" "get" (func)) (import "env" "log" (func)) (import "" "x" (func (result v128)))',
        ["rotifer.net.get () -> ()", "env.log is () -> ()", "unknown import .x () -> v128"],
        ["rotifer.net is named by the IR", "env offers abort, log", "there is no ;"],
    ),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_unknown_imports(box: Sandbox, name: str) -> None:
    """Imports that are not offered are all named, with their types and with what the host does offer."""
    imports, problems, offers = IMPORTS[name]
    with pytest.raises(UnknownImportError) as caught:
        box.load(assemble(f"(module {imports} {MEMORY} {EXPRESS})"), name="guest")
    assert caught.value.code == "UNKNOWN_IMPORT"
    for problem in problems:
        assert problem in caught.value.message
    for offer in offers:
        assert offer in (caught.value.help or "")


def test_imported_memory(box: Sandbox) -> None:
    """A module that imports its memory is refused as an import, though it exports one."""
    wat = f'(module (import "env" "memory" (memory 1)) (export "memory" (memory 0)) {EXPRESS})'
    with pytest.raises(UnknownImportError, match=r"env\.memory is a memory: only functions"):
        box.load(assemble(wat), name="guest")


def test_features_of_current_compilers(box: Sandbox) -> None:
    """Bulk memory, sign extension, saturating floats, reference types, SIMD, multi-value and tail calls load."""
    wat = f"""(module {MEMORY} {EXPRESS} (table 1 externref) (func $pair (result i32 i32) (i32.const 1) (i32.const 2))
        (func (memory.copy (i32.const 0) (i32.const 1) (i32.const 2)))
        (func (result i32) (i32.extend8_s (i32.trunc_sat_f32_s (f32.const 1))))
        (func (result v128) (i32x4.add (v128.const i32x4 1 2 3 4) (v128.const i32x4 1 2 3 4)))
        (func (result i32 i32) (return_call $pair)))"""
    assert box.load(assemble(wat), name="guest").name == "guest"


@pytest.mark.parametrize("text", ["(module", "(modul)", "(module (func (i32.const 1)))", b"(module \xff)"])
def test_bad_text(text: str | bytes) -> None:
    """Text that is no module is refused, or the module it makes is."""
    with pytest.raises(BadModuleError):
        inspect(assemble(text))


def test_call_path_names() -> None:
    """`auto` is the fastest path; an unknown name is refused with the names there are."""
    assert Sandbox(HostFunctions()).call_path == available_call_paths()[0]
    with pytest.raises(UsageError, match=r"auto, .*plain.*, not 'fast'"):
        Sandbox(HostFunctions(), call_path="fast")


@pytest.mark.parametrize("call_path", available_call_paths())
def test_module_outlives_its_sandbox(call_path: str) -> None:
    """A module calls the host functions of the sandbox that loaded it, gone or not, whichever runs it."""
    calls = [
        ExchangeFunction("test", f"call{number}", lambda _run: None, lambda _run, _request, _capacity: b"[7]")
        for number in range(100)
    ]
    imports = '(import "test" "call99" (func $call (param i32 i32 i32 i32) (result i32)))'
    express = """(func (export "express") (param i32 i32) (result i32)
        (drop (call $call (i32.const 0) (i32.const 0) (i32.const 64) (i32.const 3))) (i32.const 64))"""
    wasm = assemble(f"(module {imports} {MEMORY} {express})")
    module = Sandbox(HostFunctions(tuple(calls)), call_path=call_path).load(wasm, name="guest")
    del calls
    gc.collect()
    result = Sandbox(HostFunctions(), call_path=call_path).run(
        module,
        b"1",
        limits=Limits(),
        deadline=Deadline(60_000),
        host_time=HostTime(60_000),
        services=None,
        context={},
        logical_ms=0,
    )
    assert (result.output, result.host_calls["test.call99"].count) == ([7], 1)


def test_two_functions_of_one_name() -> None:
    """Host functions have one meaning each."""
    with pytest.raises(ValueError, match="same module and name"):
        HostFunctions(core_functions(), core_functions())
