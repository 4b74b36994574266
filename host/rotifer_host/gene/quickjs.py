"""A script and QuickJS made into one module: a WASI program that runs the script.

The engine is QuickJS-NG's own WASI build, `qjs-wasi-reactor.wasm`. Its code stays as
it is: a function `_start`, which hands it the script, and a data segment with the
script are added; its exports and its custom sections are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rotifer_host.errors import BadModuleError, GeneError
from rotifer_host.gene.sections import list_sections, read_u32, write_u32
from rotifer_host.sandbox.binary import Binary, read_binary

__all__ = ["embed"]

_MAGIC: Final = b"\0asm\1\0\0\0"
_CUSTOM, _TYPES, _FUNCTIONS, _EXPORTS, _CODE, _DATA, _DATA_COUNT = 0, 1, 3, 7, 10, 11, 12
_ORDER: Final = (*range(1, 10), _DATA_COUNT, _CODE, _DATA)
"""How the sections of a module follow each other."""
_CALLED: Final = {"_initialize": "() -> ()", "malloc": "(i32) -> i32", "qjs_init_argv": "(i32, i32) -> i32"}
"""What is used of the engine's exports."""
_EXIT: Final = ("wasi_snapshot_preview1", "proc_exit", "(i32) -> ()")
_ARGUMENTS: Final = (b"qjs", b"--module", b"--eval")
_POINTER_BYTES: Final = 4


def embed(engine: bytes, script: str, *, name: str) -> bytes:
    """Return a module that runs `script`, a JavaScript module, on this engine.

    A script that throws ends the program with status 1, its error on standard error.
    `name` is what errors call the engine. Raises `GeneError` for one that is not the
    reactor of QuickJS-NG.
    """
    try:
        sections = list_sections(engine)
        binary = read_binary(engine)
        functions = _functions(binary)
    except (BadModuleError, IndexError, KeyError, UnicodeDecodeError):
        functions = {}
    if len(functions) <= len(_CALLED):
        raise GeneError(
            f"{name} is not the WASI reactor of QuickJS-NG: it has no {', '.join((*_CALLED, _EXIT[1]))} as that has",
            code="GENE_TOOLCHAIN",
        )
    contents = {part.id: engine[part.payload : part.end] for part in sections if part.id != _CUSTOM}
    segments, _ = read_u32(contents[_DATA], 0, len(contents[_DATA]))
    texts = [text + b"\0" for text in (*_ARGUMENTS, script.encode())]  # as C has them
    data = b"".join(texts)
    start = _start(functions, [len(text) for text in texts], segment=segments)
    contents[_TYPES] = _appended(contents[_TYPES], b"\x60\0\0")  # takes nothing, gives nothing
    contents[_FUNCTIONS] = _appended(contents[_FUNCTIONS], write_u32(len(binary.types)))
    contents[_CODE] = _appended(contents[_CODE], write_u32(len(start)) + start)
    contents[_DATA] = _appended(contents[_DATA], b"\1" + write_u32(len(data)) + data)  # 1: _start copies it
    contents[_DATA_COUNT] = write_u32(segments + 1)
    contents[_EXPORTS] = b"\2\6memory\2\0\6_start\0" + write_u32(len(binary.functions))
    made = [bytes((kind,)) + write_u32(len(contents[kind])) + contents[kind] for kind in _ORDER if kind in contents]
    return b"".join((_MAGIC, *made))


def _functions(binary: Binary) -> dict[str, int]:
    """Return the indices of the functions that are used, of those that have the type they should have."""
    imported = [(item.module, item.name, item.signature) for item in binary.imports if item.signature.startswith("(")]
    found = {
        name: binary.exports[name].place
        for name, signature in _CALLED.items()
        if name in binary.exports
        and binary.exports[name].kind == "function"
        and str(binary.functions[binary.exports[name].place]) == signature
    }
    return found | ({_EXIT[1]: imported.index(_EXIT)} if _EXIT in imported else {})


def _start(functions: Mapping[str, int], lengths: Sequence[int], *, segment: int) -> bytes:
    """Return the body of `_start`: put the texts of the segment into memory, and call the engine with them.

    _initialize();
    text = malloc(SIZE); if (!text) trap; memory.init(SEGMENT, text, 0, SIZE);
    argv = malloc(4 * N); argv[0] = text; argv[1] = text + LENGTH; ...
    if (qjs_init_argv(N, argv)) proc_exit(1);
    """
    call = {name: b"\x10" + write_u32(index) for name, index in functions.items()}
    size = _constant(sum(lengths))
    set_text, text = b"\x22\0", b"\x20\0"  # local.tee 0, local.get 0
    set_argv, argv = b"\x21\1", b"\x20\1"  # local.set 1, local.get 1
    body = [
        b"\1\2\x7f",  # two locals, both i32
        call["_initialize"],
        size + call["malloc"] + set_text + b"\x45\x04\x40\0\x0b",  # i32.eqz if unreachable end
        text + _constant(0) + size + b"\xfc\x08" + write_u32(segment) + b"\0",  # memory.init
        _constant(_POINTER_BYTES * len(lengths)) + call["malloc"] + set_argv,
    ]
    for number in range(len(lengths)):
        body.append(argv + text + _constant(sum(lengths[:number])) + b"\x6a")  # i32.add
        body.append(b"\x36\2" + write_u32(_POINTER_BYTES * number))  # i32.store
    body += [
        _constant(len(lengths)) + argv + call["qjs_init_argv"],
        b"\x04\x40" + _constant(1) + call[_EXIT[1]] + b"\x0b\x0b",  # if … end end
    ]
    return b"".join(body)


def _appended(vector: bytes, item: bytes) -> bytes:
    count, at = read_u32(vector, 0, len(vector))
    return write_u32(count + 1) + vector[at:] + item


def _constant(value: int) -> bytes:
    """Return `i32.const` with a number that is not negative, in signed LEB128."""
    number = bytearray(write_u32(value))
    if number[-1] & 0x40:  # would be read as a sign
        number[-1] |= 0x80
        number.append(0)
    return b"\x41" + bytes(number)
