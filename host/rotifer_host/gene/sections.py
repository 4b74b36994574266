"""The custom sections `rotifer.*` of a compiled gene, in MessagePack.

`rotifer.version`, `rotifer.phenotype`, `rotifer.constraints` and `rotifer.metering`
are those of the public IR specification; `rotifer.source` is this host's own and
says what the artefact was compiled from. They tell tools about a gene: the host
itself runs by `phenotype.json` and its own limits.
"""

from __future__ import annotations

import hashlib
from typing import Final, Literal, NamedTuple

import msgpack
import msgspec

from rotifer_host import contract
from rotifer_host.errors import BadModuleError
from rotifer_host.gene.phenotype import Phenotype

__all__ = [
    "HOST_FUNCTIONS",
    "Section",
    "Source",
    "SourceFile",
    "code_digest",
    "list_sections",
    "read_source",
    "read_u32",
    "rotifer_section_names",
    "stamp",
    "without_rotifer_sections",
    "write_u32",
]

_MAGIC: Final = b"\0asm\1\0\0\0"
_PREFIX: Final = "rotifer."
_CUSTOM: Final = 0
_PAGE: Final = 64 * contract.KIB
_VERSION: Final = {"spec_version": "0.2.0", "ir_version": 2}
_REQUIRED: Final = ("rotifer.version", "rotifer.phenotype", "rotifer.constraints", "rotifer.metering", "rotifer.source")
_MAX_LEB_BYTES: Final = 5

HOST_FUNCTIONS: Final = (
    "rotifer.log",
    "rotifer.readContext",
    "rotifer.remainingBudget",
    "rotifer.logicalTimestamp",
    "rotifer.readMemory",
    "rotifer.writeMemory",
    "rotifer.queryMemory",
    "rotifer.deleteMemory",
)
"""What a gene may import from module `rotifer`, as `rotifer.constraints` lists it."""


class Section(NamedTuple):
    """Where a section lies in its module, its header included."""

    id: int
    name: str | None
    """None unless the section is a custom one."""
    start: int
    payload: int
    """Where its contents begin, behind the name of a custom section."""
    end: int


class SourceFile(msgspec.Struct, frozen=True):
    """A file that an artefact was compiled from."""

    base: Literal["gene", "project"] | None
    """The folder `file` is relative to; None when the file lay outside the project."""
    file: str | None
    sha256: str
    """Lower-case hex digest of the file's bytes."""


class Source(SourceFile, frozen=True, kw_only=True):
    """What an artefact was compiled from, as `rotifer.source` records it."""

    v: int
    bundled: tuple[SourceFile, ...] = ()
    """What a script was bundled with."""


def list_sections(wasm: bytes) -> list[Section]:
    """Return a module's sections in order; what is in them, and their order, is for the engine to check.

    Raises `BadModuleError` when they do not add up to the module.
    """
    if not wasm.startswith(_MAGIC):
        kind = "a component, not a core module" if wasm.startswith(_MAGIC[:4]) else "not WebAssembly"
        message = f"{kind}: a module begins with 00 61 73 6d 01 00 00 00"
        raise BadModuleError(message)
    sections = []
    start = len(_MAGIC)
    while start < len(wasm):
        size, payload = read_u32(wasm, start + 1, len(wasm))
        end = payload + size
        if end > len(wasm):
            message = f"the section at byte {start} ends {end - len(wasm)} bytes beyond the module"
            raise BadModuleError(message)
        name = None
        if wasm[start] == _CUSTOM:
            length, text = read_u32(wasm, payload, end)
            payload = text + length
            name = _read_name(wasm, text, payload, end)
        sections.append(Section(wasm[start], name, start, payload, end))
        start = end
    return sections


def rotifer_section_names(wasm: bytes) -> list[str]:
    """Return the names of a module's `rotifer.*` sections, in order. Raises `BadModuleError`."""
    return [name for section in list_sections(wasm) if (name := section.name) is not None and name.startswith(_PREFIX)]


def without_rotifer_sections(wasm: bytes) -> bytes:
    """Return the module without its `rotifer.*` sections, every other byte as it was. Raises `BadModuleError`."""
    kept, at = [], 0
    for section in list_sections(wasm):
        if section.name is not None and section.name.startswith(_PREFIX):
            kept.append(wasm[at : section.start])
            at = section.end
    return b"".join((*kept, wasm[at:])) if at else wasm


def code_digest(wasm: bytes) -> str:
    """Return the lower-case hex SHA-256 of the module without its `rotifer.*` sections. Raises `BadModuleError`."""
    return hashlib.sha256(without_rotifer_sections(wasm)).hexdigest()


def stamp(wasm: bytes, phenotype: Phenotype, source: Source) -> bytes:
    """Return the module with new `rotifer.*` sections at its end, in place of any it had.

    The same arguments give the same bytes. Raises `BadModuleError`.
    """
    contents = {
        "rotifer.version": _VERSION,
        "rotifer.phenotype": _phenotype_section(phenotype),
        "rotifer.constraints": {
            "memory": {
                "max_initial_pages": contract.DEFAULT_GUEST_MEMORY_BYTES // _PAGE,
                "max_grow_pages": contract.DEFAULT_GUEST_MEMORY_BYTES // _PAGE,
                "total_memory_limit": contract.DEFAULT_GUEST_MEMORY_BYTES,
            },
            "fuel": {
                "max_fuel": contract.DEFAULT_FUEL,
                "fuel_per_instruction": {
                    "arithmetic": 1,
                    "memory": 1,
                    "control": 1,
                    "host_call": contract.CALL_BASE_FUEL,
                },
            },
            "output": {"max_output_size": contract.MAX_OUTPUT_BYTES},
            "host_functions": HOST_FUNCTIONS,
        },
        "rotifer.metering": {
            "fuel_per_instruction": 1,
            "fuel_per_memory_page": 0,
            "fuel_per_host_call": contract.CALL_BASE_FUEL,
        },
        "rotifer.source": msgspec.to_builtins(source),
    }
    return without_rotifer_sections(wasm) + b"".join(
        _custom_section(name, msgpack.packb(content)) for name, content in contents.items()
    )


def read_source(wasm: bytes) -> Source:
    """Check the `rotifer.*` sections of an artefact and return what it was compiled from.

    Raises `BadModuleError` when a section is missing, twice there, broken, or of a
    version this host does not know.
    """
    found: dict[str, object] = {}
    for section in list_sections(wasm):
        if section.name in _REQUIRED:
            if section.name in found:
                message = f"section {section.name} is there twice"
                raise BadModuleError(message)
            found[section.name] = _unpack(section.name, wasm[section.payload : section.end])
    missing = [name for name in _REQUIRED if name not in found]
    if missing:
        message = f"no section {', '.join(missing)}"
        raise BadModuleError(message)
    version = found["rotifer.version"]
    if version != _VERSION:
        message = f"rotifer.version is {version!r}; this host reads {_VERSION!r}"
        raise BadModuleError(message)
    try:
        source = msgspec.convert(found["rotifer.source"], Source)
    except msgspec.ValidationError as error:
        message = f"rotifer.source is broken: {error}"
        raise BadModuleError(message) from error
    if source.v != contract.FORMAT_VERSION:
        message = f"rotifer.source has format version {source.v}; this host reads {contract.FORMAT_VERSION}"
        raise BadModuleError(message)
    return source


def _phenotype_section(phenotype: Phenotype) -> dict[str, object]:
    author = phenotype.fields.get("author")
    section: dict[str, object] = {
        "domain": phenotype.domain,
        "input_schema": phenotype.input_schema,
        "output_schema": phenotype.output_schema,
        "version": phenotype.version,
        "author": list(author.encode(errors="replace")) if isinstance(author, str) else [],
        "created_at": phenotype.created_ms or 0,
    }
    description = phenotype.fields.get("description")
    if isinstance(description, str):
        section["description"] = description.encode(errors="replace").decode()
    return section


def _custom_section(name: str, content: bytes) -> bytes:
    text = name.encode()
    body = write_u32(len(text)) + text + content
    return bytes((_CUSTOM,)) + write_u32(len(body)) + body


def _unpack(name: str, content: bytes) -> dict[str, object]:
    try:
        value = msgpack.unpackb(content)
    except (ValueError, RecursionError) as error:  # all of msgpack's own are ValueErrors
        message = f"section {name} is not MessagePack: {error or type(error).__name__}"
        raise BadModuleError(message) from error
    if not isinstance(value, dict):
        message = f"section {name} is not a map"
        raise BadModuleError(message)
    return value


def _read_name(wasm: bytes, start: int, end: int, limit: int) -> str:
    if end > limit:
        message = f"the name of the custom section at byte {start} is longer than the section"
        raise BadModuleError(message)
    try:
        return wasm[start:end].decode()
    except UnicodeDecodeError as error:
        message = f"the name of the custom section at byte {start} is not UTF-8"
        raise BadModuleError(message) from error


def read_u32(wasm: bytes, at: int, limit: int) -> tuple[int, int]:
    """Read an unsigned LEB128 number below 2**32 that ends before `limit`; return it and where it ends.

    Raises `BadModuleError`.
    """
    value = 0
    for index, byte in enumerate(wasm[at : min(at + _MAX_LEB_BYTES, limit)]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:  # noqa: PLR2004 - the continuation bit
            if value >= 1 << 32:
                break
            return value, at + index + 1
    message = f"no valid length at byte {at}"
    raise BadModuleError(message)


def write_u32(value: int) -> bytes:
    """Return a number as unsigned LEB128."""
    out = bytearray()
    while value >= 0x80:  # noqa: PLR2004 - the continuation bit
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
