"""The types of a module's imports and exports, read from its bytes.

Only for modules the engine has compiled, so nothing here can be malformed. The
engine's C interface is not asked: it aborts the process at a type it has no word
for, such as a SIMD vector in the signature of an import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

__all__ = ["Binary", "Export", "FunctionType", "Import", "MemoryType", "Reader", "read_binary"]

_PREAMBLE_BYTES: Final = 8
_MORE: Final = 0x80
_TYPES, _IMPORTS, _FUNCTIONS, _MEMORIES, _EXPORTS = 1, 2, 3, 5, 7
_FUNCTION, _TABLE, _MEMORY, _GLOBAL = 0, 1, 2, 3
_KINDS: Final = {_FUNCTION: "function", _TABLE: "table", _MEMORY: "memory", _GLOBAL: "global"}
_VALUES: Final = {
    0x7F: "i32",
    0x7E: "i64",
    0x7D: "f32",
    0x7C: "f64",
    0x7B: "v128",
    0x70: "funcref",
    0x6F: "externref",
}
_HAS_MAXIMUM: Final = 1


class FunctionType(NamedTuple):
    """A signature, its types by name."""

    params: tuple[str, ...]
    results: tuple[str, ...]

    def __str__(self) -> str:
        """Write it as `(i32, i32) -> i32`."""
        values = self.results
        answer = values[0] if len(values) == 1 else f"({', '.join(values)})"
        return f"({', '.join(self.params)}) -> {answer}"


class MemoryType(NamedTuple):
    """The size of a memory in pages of 64 KiB."""

    minimum: int
    maximum: int | None


class Import(NamedTuple):
    """Something a module asks for; `signature` is `(i32) -> i32` for a function, else the kind of thing."""

    module: str
    name: str
    signature: str


class Export(NamedTuple):
    """Something a module offers."""

    kind: str
    place: int
    """Among all things of this kind, imported ones first."""


class Binary(msgspec.Struct):
    """The border of a module."""

    imports: list[Import] = msgspec.field(default_factory=list)
    exports: dict[str, Export] = msgspec.field(default_factory=dict)
    functions: list[FunctionType] = msgspec.field(default_factory=list)
    """By index: imported functions come first."""
    imported_functions: int = 0
    memories: list[MemoryType] = msgspec.field(default_factory=list)
    types: list[FunctionType] = msgspec.field(default_factory=list)


def read_binary(wasm: bytes) -> Binary:
    """Read a module that the engine has compiled."""
    binary = Binary()
    reader = Reader(wasm, _PREAMBLE_BYTES)
    while reader.at < len(wasm):
        section = reader.byte()
        end = reader.number() + reader.at
        read = _SECTIONS.get(section)
        if read is not None:
            for _ in range(reader.number()):
                read(reader, binary)
        reader.at = end
    return binary


class Reader:
    """A place in the bytes."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at

    def byte(self) -> int:
        """Read a byte."""
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """Read an unsigned LEB128 number."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & ~_MORE) << shift
            shift += 7
            if not byte & _MORE:
                return value

    def name(self) -> str:
        """Read a name in UTF-8."""
        length = self.number()
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def values(self) -> tuple[str, ...]:
        """Read value types, as names."""
        return tuple(_VALUES.get(self.byte(), "?") for _ in range(self.number()))

    def limits(self) -> MemoryType:
        """Read the size of a memory or a table."""
        flags = self.byte()
        minimum = self.number()
        return MemoryType(minimum, self.number() if flags & _HAS_MAXIMUM else None)


def _type(reader: Reader, binary: Binary) -> None:
    reader.byte()  # functions are the only types without garbage collection
    binary.types.append(FunctionType(reader.values(), reader.values()))


def _import(reader: Reader, binary: Binary) -> None:
    module, name, kind = reader.name(), reader.name(), reader.byte()
    signature = _KINDS[kind]
    if kind == _FUNCTION:
        binary.functions.append(binary.types[reader.number()])
        binary.imported_functions += 1
        signature = str(binary.functions[-1])
    elif kind == _MEMORY:
        binary.memories.append(reader.limits())
    elif kind == _TABLE:
        reader.byte()
        reader.limits()
    else:
        reader.byte()
        reader.byte()
    binary.imports.append(Import(module, name, signature))


def _own_function(reader: Reader, binary: Binary) -> None:
    binary.functions.append(binary.types[reader.number()])


def _memory(reader: Reader, binary: Binary) -> None:
    binary.memories.append(reader.limits())


def _export(reader: Reader, binary: Binary) -> None:
    name = reader.name()
    binary.exports[name] = Export(_KINDS[reader.byte()], reader.number())


_SECTIONS: Final[dict[int, Callable[[Reader, Binary], None]]] = {
    _TYPES: _type,
    _IMPORTS: _import,
    _FUNCTIONS: _own_function,
    _MEMORIES: _memory,
    _EXPORTS: _export,
}
