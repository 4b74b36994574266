"""Which features beyond the first version of WebAssembly a module's types and functions use.

Only for modules the engine has compiled: nothing in them can be malformed, and what
the engine has switched off is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rotifer_host.sandbox.binary import Reader

__all__ = ["used_features"]

_PREAMBLE_BYTES: Final = 8
_TYPES, _TABLES, _CODE, _DATA_COUNT = 1, 4, 10, 12
_V128: Final = 0x7B
_REFERENCES: Final = (0x70, 0x6F)

_SIGN_EXTENSION: Final = "sign-extension"
_SATURATING: Final = "nontrapping-float-to-int"
_BULK: Final = "bulk-memory"
_REFERENCE_TYPES: Final = "reference-types"
_MULTI_VALUE: Final = "multi-value"
_SIMD: Final = "simd"
_RELAXED_SIMD: Final = "relaxed-simd"
_TAIL_CALL: Final = "tail-call"

_ONE_NUMBER: Final = {*range(0x20, 0x27), 0x0C, 0x0D, 0x10, 0x12, 0x3F, 0x40, 0x41, 0x42, 0xD2}
"""Opcodes with one LEB128 immediate, signed or not: their length is the same."""
_TWO_NUMBERS: Final = {*range(0x28, 0x3F), 0x11, 0x13}
_BLOCKS: Final = (0x02, 0x03, 0x04)
_BR_TABLE, _SELECT_TYPED, _F32_CONST, _F64_CONST, _REF_NULL = 0x0E, 0x1C, 0x43, 0x44, 0xD0
_NUMERIC, _VECTOR = 0xFC, 0xFD
_OF_OPCODE: Final = (
    dict.fromkeys(range(0xC0, 0xC5), _SIGN_EXTENSION)
    | dict.fromkeys((0x12, 0x13), _TAIL_CALL)
    | dict.fromkeys((0x1C, 0x25, 0x26, 0xD0, 0xD1, 0xD2), _REFERENCE_TYPES)
)
_NUMERIC_IMMEDIATES: Final = {8: 2, 9: 1, 10: 2, 11: 1, 12: 2, 13: 1, 14: 2, 15: 1, 16: 1, 17: 1}
_FIRST_BULK, _FIRST_TABLE = 8, 15
_FIRST_RELAXED: Final = 0x100
_VECTOR_MEMORY: Final = {*range(12), 0x5C, 0x5D}
_VECTOR_MEMORY_LANE: Final = {*range(0x54, 0x5C)}
_VECTOR_SIXTEEN: Final = (12, 13)
_VECTOR_LANE: Final = {*range(0x15, 0x23)}
_EMPTY_BLOCK: Final = 0x40
_MORE: Final = 0x80


def used_features(wasm: bytes) -> tuple[str, ...]:
    """Return the names of the features a compiled module uses, sorted; names are those of the proposals."""
    return tuple(sorted(set(_features(wasm))))


def _features(wasm: bytes) -> Iterator[str]:
    reader = Reader(wasm, _PREAMBLE_BYTES)
    while reader.at < len(wasm):
        section = reader.byte()
        end = reader.number() + reader.at
        if section == _TYPES:
            yield from _in_types(reader)
        elif section == _TABLES and reader.number() > 1:
            yield _REFERENCE_TYPES
        elif section == _CODE:
            for _ in range(reader.number()):
                body = reader.number() + reader.at
                yield from _in_body(reader, body)
        elif section == _DATA_COUNT:
            yield _BULK
        reader.at = end


def _in_types(reader: Reader) -> Iterator[str]:
    for _ in range(reader.number()):
        reader.byte()
        for results in (False, True):
            count = reader.number()
            if results and count > 1:
                yield _MULTI_VALUE
            for _ in range(count):
                yield from _of_type(reader.byte())


def _of_type(kind: int) -> Iterator[str]:
    if kind == _V128:
        yield _SIMD
    elif kind in _REFERENCES:
        yield _REFERENCE_TYPES


def _in_body(reader: Reader, end: int) -> Iterator[str]:
    for _ in range(reader.number()):
        reader.number()
        yield from _of_type(reader.byte())
    while reader.at < end:
        opcode = reader.byte()
        if opcode in _OF_OPCODE:
            yield _OF_OPCODE[opcode]
        if opcode == _NUMERIC:
            yield from _numeric(reader)
        elif opcode == _VECTOR:
            yield from _vector(reader)
        elif opcode in _BLOCKS:
            yield from _block(reader)
        else:
            _skip_immediates(reader, opcode)


def _skip_immediates(reader: Reader, opcode: int) -> None:
    if opcode in _ONE_NUMBER:
        reader.number()
    elif opcode in _TWO_NUMBERS:
        reader.number()
        reader.number()
    elif opcode in (_BR_TABLE, _SELECT_TYPED):
        for _ in range(reader.number() + (opcode == _BR_TABLE)):
            reader.number()
    elif opcode == _REF_NULL:
        reader.byte()
    elif opcode == _F32_CONST:
        reader.at += 4
    elif opcode == _F64_CONST:
        reader.at += 8


def _block(reader: Reader) -> Iterator[str]:
    kind = reader.byte()
    if kind & _MORE:  # the index of a type, in more than one byte
        reader.number()
    if kind & _MORE or kind < _EMPTY_BLOCK:
        yield _MULTI_VALUE
    else:
        yield from _of_type(kind)


def _numeric(reader: Reader) -> Iterator[str]:
    opcode = reader.number()
    for _ in range(_NUMERIC_IMMEDIATES.get(opcode, 0)):
        reader.number()
    if opcode < _FIRST_BULK:
        yield _SATURATING
    elif opcode < _FIRST_TABLE:
        yield _BULK
    else:
        yield _REFERENCE_TYPES


def _vector(reader: Reader) -> Iterator[str]:
    opcode = reader.number()
    if opcode in _VECTOR_MEMORY or opcode in _VECTOR_MEMORY_LANE:
        reader.number()
        reader.number()
    if opcode in _VECTOR_SIXTEEN:
        reader.at += 16
    elif opcode in _VECTOR_LANE or opcode in _VECTOR_MEMORY_LANE:
        reader.at += 1
    yield _RELAXED_SIMD if opcode >= _FIRST_RELAXED else _SIMD
