"""The committed modules are made from the committed sources, and are what they should be."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator

import pytest
import wasmtime
from tests.guests.modules import COMPILED, GUESTS, ORIGINS, ROOT, SOURCES, WASI, Guests, digest, rebuilt

from rotifer_host.errors import BadModuleError
from rotifer_host.modules import find_module
from rotifer_host.modules.functions import module_functions
from rotifer_host.sandbox import HostFunctions, Sandbox
from rotifer_host.testing import ScriptedHost

LIBRARIES = {"c": "rotifer.h", "rs": "rotifer.rs", "ts": "rotifer.ts", "zig": "rotifer.zig"}
DIRECT = tuple(gene for gene in COMPILED if gene not in WASI)
MAX_BYTES = 120_000
QUICKJS_BYTES = 1_150_000


@pytest.mark.parametrize("gene", COMPILED)
def test_module_is_of_its_source(gene: str) -> None:
    """Whoever changes a source builds it: `make guests-update` notes what each module was made from."""
    lines = (GUESTS / "built.sha256").read_text(encoding="utf-8").splitlines()
    noted = {name: sha for sha, _, name in (line.partition("  ") for line in lines)}
    files = {f"{gene}/{path.name}": digest(path) for pattern in SOURCES for path in (GUESTS / gene).glob(pattern)}
    assert files == {name: sha for name, sha in noted.items() if name.startswith(f"{gene}/")}
    assert len(files) >= 3


@pytest.mark.parametrize("gene", [gene for gene in COMPILED if not gene.endswith("-typescript")])
def test_library_is_the_one_of_the_abi(gene: str) -> None:
    """Each example uses the guest library that others copy."""
    (source,) = [path for path in (GUESTS / gene).glob("gene.*") if path.suffix != ".wasm"]
    library = LIBRARIES[source.suffix[1:]]
    assert (GUESTS / gene / library).resolve() == ROOT / "abi" / "guest" / library


@pytest.mark.parametrize("gene", COMPILED)
def test_rebuilt_module(gene: str) -> None:
    """A build on this machine gives the committed bytes, or else all tests here are run on it too."""
    built = rebuilt(gene)
    if built is None:
        pytest.skip("not built here: `make guests`")
    assert digest(built) == digest(GUESTS / gene / "gene.wasm") or "built" in ORIGINS


def custom_sections(module: bytes) -> Iterator[str]:
    """Yield the names of a module's custom sections."""
    at = 8
    while at < len(module):
        kind = module[at]
        size, at = leb128(module, at + 1)
        if kind == 0:
            length, start = leb128(module, at)
            yield module[start : start + length].decode()
        at += size


def leb128(data: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned number; return it and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


@pytest.mark.parametrize("gene", COMPILED)
def test_module_is_small_and_tells_nothing_of_its_machine(gene: str) -> None:
    """No name, path or compiler of the machine that built it is left in a module."""
    module = (GUESTS / gene / "gene.wasm").read_bytes()
    assert len(module) < (QUICKJS_BYTES if gene.endswith("-typescript") else MAX_BYTES)
    assert not {"name", "producers"} & set(custom_sections(module))
    assert not re.search(rb"/(home|root|tmp|work|opt|mnt|Users)/", module)


@pytest.mark.parametrize("gene", COMPILED)
def test_host_offers_what_compilers_emit(guests: Guests, gene: str) -> None:
    """Every module loads with its compiler's default features, and imports only what the host offers."""
    functions = HostFunctions(tuple(ScriptedHost().functions), module_functions(map(find_module, ("json", "markdown"))))
    info = Sandbox(functions, cache_dir=None).load(guests.module(gene).read_bytes(), name=gene).info
    assert info.mode == ("wasi" if gene in WASI else "direct")
    assert info.mode == "wasi" or info.has_alloc


INPUTS = {
    "cache-c": b'{"n":10000}',
    "pattern-rust": b'{"event":"x"}',
    "errors-assemblyscript": b'{"do":"save","name":"n","text":"t"}',
}
FAMILIES = {"calls-": b'{"call":"query"}', "journal-": b'{"find":"k"}', "scene-": b'{"scene":"y"}'}
ENTRY = (
    b'{"entryId":"","category":"PREFERENCE","key":"pattern/k","value":"eA==","createdBy":"","lastAccessedBy":"",'
    b'"createdAt":"","updatedAt":"","accessPolicy":{"readScope":"ALL_GENES","writeScope":"ALL_GENES",'
    b'"sharePolicy":"PRIVATE"},"retentionPolicy":null}'
)


OTHERS = {
    "queryMemory": b"[%b]" % ENTRY,
    "getMemory": b'{"revision":1,"memory":{"scene":"x","changes":1}}',
    "updateMemory": b'{"revision":2}',
    "memory_search": b'{"results":[{"key":"k","content":"","tags":["t"],"file":"MEMORY.md","kind":"summary",'
    b'"created_at":null,"updated_at":null}]}',
}


def answered(call: str, cap: int) -> bytes:
    """Answer every call of the four with an entry, a query with a list of one; those of host modules with theirs."""
    answer = OTHERS.get(call, ENTRY)
    assert len(answer) <= cap
    return answer


class Instance:
    """One instance of a direct-mode module, called again and again, with all that it imports answered by a function."""

    def __init__(self, module: bytes, answer: Callable[[str, int], bytes | int]) -> None:
        engine = wasmtime.Engine()
        self.store = wasmtime.Store(engine)
        linker = wasmtime.Linker(engine)
        compiled = wasmtime.Module(engine, module)
        kind = wasmtime.FuncType([wasmtime.ValType.i32()] * 4, [wasmtime.ValType.i32()])
        for imported in compiled.imports:

            def call(request: int, length: int, out: int, cap: int, name: str = str(imported.name)) -> int:  # noqa: ARG001
                said = answer(name, cap)
                if isinstance(said, int):
                    return said
                self.memory.write(self.store, said, out)
                return len(said)

            linker.define_func(imported.module, str(imported.name), kind, call)
        exports = linker.instantiate(self.store, compiled).exports(self.store)
        memory, alloc, express = exports["memory"], exports["alloc"], exports["express"]
        assert isinstance(memory, wasmtime.Memory)
        assert isinstance(alloc, wasmtime.Func)
        assert isinstance(express, wasmtime.Func)
        self.memory, self.alloc, self.express = memory, alloc, express

    def run(self, document: bytes) -> bytes | int:
        """Return the output, or the gene's error code."""
        at = self.alloc(self.store, len(document))
        self.memory.write(self.store, document, at)
        result = self.express(self.store, at, len(document))
        if result < 0:
            return int(result)
        rest = self.memory.read(self.store, result, min(result + 100_000, self.size))
        return bytes(rest).partition(b"\0")[0]

    @property
    def size(self) -> int:
        """Bytes of linear memory."""
        return self.memory.data_len(self.store)


def document_for(gene: str) -> bytes:
    """Return an input that makes a gene call memory."""
    for family, document in FAMILIES.items():
        if gene.startswith(family):
            return document
    return INPUTS.get(gene, b'{"code":"a\\n b\\n  c"}')


@pytest.mark.parametrize("gene", DIRECT)
def test_instance_does_not_leak(guests: Guests, gene: str) -> None:
    """A thousand runs of one instance take no more memory than its first hundred, and give the same output."""
    instance = Instance(guests.module(gene).read_bytes(), answered)
    document = document_for(gene)
    first = instance.run(document)
    assert isinstance(first, bytes)
    assert first.startswith(b"{")
    for _ in range(100):
        assert instance.run(document) == first
    size = instance.size
    for _ in range(900):
        assert instance.run(document) == first
    assert instance.size == size


@pytest.mark.parametrize("gene", [gene for gene in DIRECT if gene.startswith("formatter-")])
@pytest.mark.parametrize("result", [-2, -4, -10, -13, -99])
def test_failure_without_payload_is_the_code(guests: Guests, gene: str, result: int) -> None:
    """Where the host leaves nothing in `out`, `express` returns the result of the call."""
    instance = Instance(guests.module(gene).read_bytes(), lambda *_: result)
    assert instance.run(b'{"code":""}') == result


@pytest.mark.parametrize("language", ["assemblyscript", "c", "rust", "zig"])
def test_failure_without_payload_is_described(guests: Guests, language: str) -> None:
    """Code and message of a failure without a payload are empty, not left over from something else."""
    answers: Iterator[bytes | int] = iter([b'{"__rotifer_error":{"code":"A","message":"b"}}', -10])
    instance = Instance(guests.module(f"calls-{language}").read_bytes(), lambda *_: next(answers))
    instance.run(b'{"call":"query"}')
    assert instance.run(b'{"call":"query"}') == b'{"failed":{"result":-10,"code":"","message":""}}'


def test_leb128_is_read() -> None:
    """The reader of numbers that the tests above stand on reads them."""
    assert leb128(b"\xe5\x8e\x26\x01", 0) == (624485, 3)
    assert list(custom_sections(b"\0asm" + struct.pack("<I", 1) + b"\0\x06\x04name!")) == ["name"]


FEATURES = {
    "exceptions": '(tag) (func (export "express") (param i32 i32) (result i32) (throw 0))',
    "threads": '(memory $shared 1 1 shared) (func (export "express") (param i32 i32) (result i32) (i32.const 0))',
    "memory64": '(memory $wide i64 1) (func (export "express") (param i32 i32) (result i32) (i32.const 0))',
    "multi-memory": '(memory $second 1) (func (export "express") (param i32 i32) (result i32) (i32.const 0))',
    "gc": '(type $box (struct (field i32))) (func (export "express") (param i32 i32) (result i32) (i32.const 0))',
}


@pytest.mark.parametrize("feature", FEATURES)
def test_features_no_gene_needs_are_refused_by_name(feature: str) -> None:
    """A module that needs what the engine leaves out is refused before the run, and the message names it."""
    memory = "" if feature in {"threads", "memory64"} else '(memory (export "memory") 1)'
    wasm = wasmtime.wat2wasm(f"(module {memory} {FEATURES[feature]})")
    with pytest.raises(BadModuleError, match=feature.replace("multi-memory", "multi-memory|multiple memories")):
        Sandbox(ScriptedHost().functions, cache_dir=None).load(bytes(wasm), name="gene")
