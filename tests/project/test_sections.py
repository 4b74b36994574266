"""A module's section list, and the sections the host adds."""

from __future__ import annotations

import contextlib
import hashlib
from typing import Any

import msgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.errors import BadModuleError
from rotifer_host.gene.phenotype import Phenotype
from rotifer_host.gene.sections import (
    HOST_FUNCTIONS,
    Source,
    code_digest,
    list_sections,
    read_source,
    rotifer_section_names,
    stamp,
    without_rotifer_sections,
)
from rotifer_host.sandbox import HostFunctions, core_functions

MAGIC = b"\0asm\1\0\0\0"
SOURCE = Source("gene", "gene.wat", "ab" * 32, v=1)
NAMES = ["rotifer.version", "rotifer.phenotype", "rotifer.constraints", "rotifer.metering", "rotifer.source"]


def phenotype(**fields: Any) -> Phenotype:  # any JSON
    """Return a phenotype with these further fields."""
    return Phenotype(
        "text", "1.0.0", {"type": "object"}, output_schema=True, created_ms=1_700_000_000_000, fields=fields
    )


def leb(value: int) -> bytes:
    """Encode an unsigned LEB128 number."""
    out = bytearray()
    while True:
        low, value = value & 0x7F, value >> 7
        if not value:
            return bytes([*out, low])
        out.append(low | 0x80)


def custom(name: str, content: bytes) -> bytes:
    """Return a custom section."""
    body = leb(len(name.encode())) + name.encode() + content
    return b"\0" + leb(len(body)) + body


def contents(wasm: bytes) -> dict[str, Any]:
    """Return the rotifer.* sections of a module, decoded."""
    return {
        section.name: msgpack.unpackb(wasm[section.payload : section.end])
        for section in list_sections(wasm)
        if section.name is not None and section.name.startswith("rotifer.")
    }


plain_sections = st.builds(
    lambda number, body: bytes([number]) + leb(len(body)) + body, st.integers(1, 13), st.binary(max_size=300)
)
foreign_sections = st.builds(
    custom, st.text(st.characters(codec="utf-8"), max_size=9).filter(lambda name: name[:8] != "rotifer."), st.binary()
)
rotifer_sections = st.builds(custom, st.sampled_from([*NAMES, "rotifer.", "rotifer.ext"]), st.binary(max_size=50))


def test_sections_are_listed_with_their_places() -> None:
    """Every section is found, and names are those of custom sections alone."""
    type_section = b"\1\4\1\x60\0\0"
    wasm = MAGIC + type_section + custom("näme", b"xyz")
    first, second = list_sections(wasm)
    assert (first.id, first.name, first.start, first.payload, first.end) == (1, None, 8, 10, 14)
    assert (second.id, second.name, wasm[second.payload : second.end], second.end) == (0, "näme", b"xyz", len(wasm))
    assert list_sections(MAGIC) == []


@pytest.mark.parametrize(
    ("wasm", "expected"),
    [
        (b"", "not WebAssembly"),
        (b"(module)", "not WebAssembly"),
        (b"\0asm", "component"),
        (b"\0asm\x0d\0\1\0", "a component, not a core module"),
        (MAGIC + b"\1", "no valid length at byte 9"),
        (MAGIC + b"\1\x80", "no valid length at byte 9"),
        (MAGIC + b"\1\x80\x80\x80\x80\x80\0", "no valid length at byte 9"),
        (MAGIC + b"\1\xff\xff\xff\xff\x1f", "no valid length at byte 9"),
        (MAGIC + b"\1\xff\xff\xff\xff\x0f", "4294967295 bytes beyond the module"),
        (MAGIC + b"\1\2\0", "ends 1 bytes beyond the module"),
        (MAGIC + b"\0\0", "no valid length at byte 10"),
        (MAGIC + b"\0\1\1\1a", "longer than the section"),
        (MAGIC + b"\0\3\2\xff\xff", "is not UTF-8"),
    ],
    ids=range(13),
)
def test_what_does_not_add_up_is_refused(wasm: bytes, expected: str) -> None:
    """Lengths beyond their bounds, names that are none, and what is no module are refused with the place."""
    for use in (list_sections, without_rotifer_sections, code_digest, read_source):
        with pytest.raises(BadModuleError, match=expected):
            use(wasm)


def test_a_padded_length_is_valid() -> None:
    """LEB128 may be longer than need be, up to five bytes."""
    assert [section.id for section in list_sections(MAGIC + b"\1\x81\x80\x80\x80\0x")] == [1]


@given(st.binary(), st.booleans())
@example(MAGIC + custom("rotifer.version", b"\xdf\xff\xff\xff\xff"), False)  # noqa: FBT003 - a map of 4 G members
def test_random_bytes_are_never_more_than_a_bad_module(data: bytes, prefix: bool) -> None:  # noqa: FBT001
    """No input raises anything but `BadModuleError`."""
    wasm = MAGIC + data if prefix else data
    for use in (list_sections, code_digest, rotifer_section_names, read_source):
        with contextlib.suppress(BadModuleError):
            use(wasm)


@given(st.binary(max_size=80), st.sampled_from(NAMES))
def test_random_section_contents_are_never_more_than_a_bad_module(content: bytes, broken: str) -> None:
    """Whatever stands in a rotifer.* section, reading it raises nothing else."""
    good = stamp(MAGIC, phenotype(), SOURCE)
    wasm = MAGIC + b"".join(
        custom(name, content if name == broken else msgpack.packb(value)) for name, value in contents(good).items()
    )
    with contextlib.suppress(BadModuleError):
        read_source(wasm)


@given(st.lists(st.one_of(plain_sections, foreign_sections, rotifer_sections.map(lambda data: (data,)))))
def test_the_digest_does_not_see_rotifer_sections(sections: list[Any]) -> None:
    """Wherever rotifer.* sections stand, whatever is in them, the digest is that of the module without them."""
    kept = MAGIC + b"".join(section for section in sections if isinstance(section, bytes))
    whole = MAGIC + b"".join(section if isinstance(section, bytes) else section[0] for section in sections)
    assert without_rotifer_sections(whole) == kept
    assert code_digest(whole) == hashlib.sha256(kept).hexdigest()
    stamped = stamp(whole, phenotype(), SOURCE)
    assert code_digest(stamped) == code_digest(kept)
    assert rotifer_section_names(stamped) == NAMES
    assert stamp(stamped, phenotype(), SOURCE) == stamped
    assert read_source(stamped) == SOURCE


@given(st.lists(st.one_of(plain_sections, foreign_sections), min_size=1), st.data())
def test_the_digest_sees_every_other_byte(sections: list[bytes], data: st.DataObject) -> None:
    """Two modules that differ elsewhere have different digests."""
    wasm = MAGIC + b"".join(sections)
    other = MAGIC + b"".join(data.draw(st.permutations(sections)))
    assert (code_digest(wasm) == code_digest(other)) == (wasm == other)


def test_the_sections_are_those_of_the_ir_specification() -> None:
    """Names, order and members are those tools of other hosts read, in MessagePack with text keys."""
    found = contents(stamp(MAGIC, phenotype(author="ab", description="d", tags=["x"]), SOURCE))
    assert list(found) == NAMES
    assert found["rotifer.version"] == {"spec_version": "0.2.0", "ir_version": 2}
    assert list(found["rotifer.phenotype"].items()) == [
        ("domain", "text"),
        ("input_schema", {"type": "object"}),
        ("output_schema", True),
        ("version", "1.0.0"),
        ("author", [97, 98]),
        ("created_at", 1_700_000_000_000),
        ("description", "d"),
    ]
    assert list(found["rotifer.constraints"]) == ["memory", "fuel", "output", "host_functions"]
    assert found["rotifer.metering"]["fuel_per_instruction"] == 1
    assert found["rotifer.source"] == {
        "base": "gene",
        "file": "gene.wat",
        "sha256": "ab" * 32,
        "v": 1,
        "bundled": [],
    }


def test_the_listed_host_functions_are_those_offered() -> None:
    """What `rotifer.constraints` lists is what the sandbox links in module `rotifer`."""
    offered = HostFunctions(core_functions(), memory_functions()).names("rotifer")
    assert sorted(HOST_FUNCTIONS) == sorted(f"rotifer.{name}" for name in offered)


def replaced(name: str, value: object) -> bytes:
    """Return a stamped module with other contents in one section, or without it."""
    values = {**contents(stamp(MAGIC, phenotype(), SOURCE)), name: value}
    return MAGIC + b"".join(custom(name, msgpack.packb(value)) for name, value in values.items() if value is not None)


@pytest.mark.parametrize(
    ("wasm", "expected"),
    [
        (MAGIC, "no section rotifer.version, rotifer.phenotype"),
        (replaced("rotifer.source", None), "no section rotifer.source"),
        (replaced("rotifer.metering", [1]), "rotifer.metering is not a map"),
        (replaced("rotifer.version", {"spec_version": "0.3.0", "ir_version": 2}), "rotifer.version is .*0.3.0"),
        (replaced("rotifer.version", {"spec_version": "0.2.0", "ir_version": 3}), "this host reads"),
        (replaced("rotifer.source", {"v": 2, "base": None, "file": None, "sha256": ""}), "format version 2"),
        (replaced("rotifer.source", {"v": 1, "base": None, "file": None}), "missing required field `sha256`"),
        (replaced("rotifer.source", {"v": 1, "base": "home", "file": "a", "sha256": ""}), "rotifer.source is broken"),
        (stamp(MAGIC, phenotype(), SOURCE) + custom("rotifer.source", b"\x80"), "rotifer.source is there twice"),
        (stamp(MAGIC, phenotype(), SOURCE)[:-1], "beyond the module"),
        (MAGIC + custom("rotifer.version", b"\xc1"), "not MessagePack"),
    ],
    ids=range(11),
)
def test_sections_that_are_missing_broken_or_newer_are_refused(wasm: bytes, expected: str) -> None:
    """An artefact is read only when all its sections are there once, whole, and of a known version."""
    with pytest.raises(BadModuleError, match=expected):
        read_source(wasm)


def test_odd_texts_in_a_phenotype_do_not_stop_it() -> None:
    """Descriptive fields of any type and with lone surrogates are written as far as they go, or left out."""
    for author in (7, "\ud800", None, ["a"]):
        found = contents(stamp(MAGIC, phenotype(author=author, description=author), SOURCE))
        assert all(0 <= byte < 256 for byte in found["rotifer.phenotype"]["author"])
