"""What a JSON memory and its revision may be, and how both are kept.

json-and-turn-memory.zh.md, "独立 JSON 记忆工具".
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from rotifer_host import contract
from rotifer_host.errors import DocumentError, GeneError, MemoryConflictError, StorageError
from rotifer_host.memory.fields import kind_of, refuse, shown
from rotifer_host.sandbox.documents import decode_document, encode_document

__all__ = [
    "DOCUMENT",
    "EMPTY",
    "check_schema",
    "checked_memory",
    "checked_revision",
    "conflict",
    "replaced",
    "response",
]

DOCUMENT: Final = "memory"
"""The name of the document it is kept in."""
EMPTY: Final = b'{"revision":0,"memory":null}'


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document, as JSON."""

    v: Literal[1]
    """Its format."""
    revision: int
    memory: msgspec.Raw


_decode: Final = msgspec.json.Decoder(_Kept).decode


def checked_revision(value: object) -> int:
    """Check a revision that an update is made for; raises `InvalidInputError`."""
    if type(value) is not int or not 0 <= value < contract.MAX_JSON_REVISION:
        refuse(
            f"expectedRevision must be a whole number from 0 to {contract.MAX_JSON_REVISION - 1}, not {shown(value)}"
        )
    return value


def checked_memory(value: object) -> bytes:
    """Check a whole memory and return it as compact JSON; raises `InvalidInputError`.

    Its size is that of this JSON, in UTF-8 and with non-ASCII text as it is. Its depth
    counts objects and arrays, itself included: `{"a": []}` has depth 2.
    """
    if not isinstance(value, dict):
        refuse(f"memory must be an object, not {kind_of(value)}")
    _check(value, "memory", 1)
    try:
        encoded = encode_document(value)
    except DocumentError as error:  # NaN, a lone surrogate
        refuse(f"memory is {error.message}")
    if len(encoded) > contract.MAX_JSON_MEMORY_BYTES:
        refuse(f"memory must be at most {contract.MAX_JSON_MEMORY_BYTES} bytes as compact JSON, not {len(encoded)}")
    return encoded


def check_schema(schema: Any, memory: bytes) -> None:  # noqa: ANN401 - a mapping, True or False
    """Refuse a memory that the JSON Schema of the agent's record does not allow; raises `InvalidInputError`."""
    from rotifer_host.gene.schema import SchemaValidator  # noqa: PLC0415 - slow to load, and few have a schema

    try:
        problems = SchemaValidator(schema).problems(decode_document(memory), "memory")
    except GeneError as error:
        problems = [f"memory cannot be checked: {error.message}"]
    if problems:
        refuse("; ".join(problems))


def response(document: bytes | None) -> bytes:
    """Return `{"revision", "memory"}` of what is kept; raises `StorageError` for what this host cannot read."""
    if document is None:
        return EMPTY
    kept = _read(document)
    return b'{"revision":%d,"memory":%b}' % (kept.revision, bytes(kept.memory))


def replaced(document: bytes | None, expected: int, memory: bytes) -> bytes:
    """Return what is kept from now on; raises `MemoryConflictError` where `expected` is not the present revision."""
    present = 0 if document is None else _read(document).revision
    if present != expected:
        raise conflict(expected, present)
    return b'{"v":%d,"revision":%d,"memory":%b}' % (contract.FORMAT_VERSION, expected + 1, memory)


def conflict(expected: int, present: int) -> MemoryConflictError:
    """Return the refusal of an update that was made for another revision."""
    return MemoryConflictError(
        f"the memory has revision {present}, not {expected}: read it, and decide again what it should be"
    )


def _read(document: bytes) -> _Kept:
    try:
        return _decode(document)
    except msgspec.MsgspecError as error:
        message = f"the JSON memory is damaged, or kept in another format than {contract.FORMAT_VERSION}: {error}"
        raise StorageError(message) from error


def _check(value: object, place: str, depth: int) -> None:
    if isinstance(value, dict | list):
        if depth > contract.MAX_JSON_MEMORY_DEPTH:  # also the end of an object that holds itself
            refuse(f"memory must be nested at most {contract.MAX_JSON_MEMORY_DEPTH} deep")
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for name, each in inner:
            if isinstance(value, dict) and not isinstance(name, str):
                refuse(f"names in {place} must be strings, not {kind_of(name)}")
            _check(each, f"{place}[{shown(name)}]", depth + 1)
    elif value is not None and not isinstance(value, str | int | float):
        refuse(f"{place} must be a JSON value, not {kind_of(value)}")
