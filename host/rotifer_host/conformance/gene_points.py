"""What a gene is asked: every point with its rule, and what to do where it is broken."""

from __future__ import annotations

from typing import Final, NamedTuple

from rotifer_host.conformance.report import Verdict

__all__ = ["POINTS", "failed", "not_applicable", "passed"]


class Point(NamedTuple):
    """One rule."""

    title: str
    todo: str
    section: str
    """A heading of `abi/README.md`."""


POINTS: Final[dict[str, Point]] = {
    "module.valid": Point(
        "a core WebAssembly module that the engine takes",
        "build a core module, no component, without the feature that is named",
        "Modules",
    ),
    "module.size": Point("at most 64 MiB", "strip debug information, and leave out what is not used", "Limits"),
    "module.features": Point("features beyond the first version of WebAssembly", "", "Modules"),
    "module.sections": Point(
        "rotifer.* sections are whole", "compile the gene again with `rotifer compile`", "Identity of a gene"
    ),
    "exports.memory": Point(
        "exports its memory as `memory`", 'export it: (memory (export "memory") …), or --export-memory', "Modules"
    ),
    "exports.entry": Point(
        "exports express(ptr: i32, len: i32) -> i32, or _start()",
        "export a function of the gene's own with this name and type",
        "Modules",
    ),
    "exports.alloc": Point(
        "alloc, where exported, is alloc(len: i32) -> i32", "give alloc this type, or export none", "Modules"
    ),
    "exports.initialize": Point(
        "_initialize, where exported, is _initialize()", "give _initialize this type, or export none", "Modules"
    ),
    "imports.offered": Point(
        "imports nothing but what the ABI lists, with its types",
        "leave the import out, or give it the listed type",
        "Imports",
    ),
    "memory.size": Point(
        "its memory starts below the default limit", "start with less memory and let it grow", "Limits"
    ),
    "input.sample": Point(
        "each example input gives one JSON document, or is refused in words",
        "run `rotifer run` with this input, and look at the error",
        "Input and output",
    ),
    "input.accepted": Point(
        "at least one example input is accepted",
        "give an input that the gene accepts with --input JSON",
        "Input and output",
    ),
    "input.small": Point(
        '{}, [], null, "" and 0 are accepted or refused in words',
        "check the input's type before using it, and refuse it with __rotifer_error",
        "Rejecting an input",
    ),
    "input.large": Point(
        "an input of 1 MiB is taken",
        "let alloc grow memory by what it is asked for, and size no buffer by a guess",
        "Input and output",
    ),
    "input.unicode": Point(
        "text beyond ASCII is taken",
        "treat the input as UTF-8 bytes; convert where the language's strings are UTF-16",
        "Input and output",
    ),
    "output.end": Point("the output ends at a NUL or at the end of memory", "", "Input and output"),
    "output.same": Point(
        "the same input and memory give the same output",
        "let no randomness, clock or order of a hash map into the output; --random says that it is meant",
        "Input and output",
    ),
    "express.again": Point(
        "1,000 calls of one instance keep its linear memory",
        "free the input and what express allocated, or start from the same address in each call",
        "Modules",
    ),
    "fuel": Point("its example inputs need less than the default fuel", "do less work for each input", "Limits"),
    "requests.pointers": Point(
        "requests and buffers lie inside memory", "pass the address and length of memory the gene owns", "Pointers"
    ),
    "requests.valid": Point(
        "requests are ones that memory takes",
        "write the request as the ABI says; leave out optional fields",
        "Requests",
    ),
    "memory.remembered": Point(
        "runs again on what it wrote itself", "read what was written, as memory gives it back", "Responses"
    ),
}
"""Points that every gene is asked, by id."""

_IN_WORDS: Final = (
    "look for a result below 0 first; then go on without, return the payload, or an error of the gene's own"
)
CALL_POINTS: Final[dict[str, Point]] = {
    "success": Point("takes its response", "read the response as the ABI says", "Responses"),
    "null": Point("takes null, the answer for a missing key", "test for null before looking for members", "Responses"),
    "foreign": Point(
        "takes entries that another gene wrote",
        "expect any bytes in a value: any gene of the domain may write the key",
        "Responses",
    ),
    "large": Point(
        "takes the largest response there is",
        "make room for the size in the message of -1, or give up in words",
        "Results",
    ),
    "small": Point(
        "takes -1, and repeats with room or gives up",
        "repeat the same call with at least the bytes the message names, or end",
        "Results",
    ),
    "grown": Point(
        "goes on in the same way after its memory grew",
        "take addresses anew after memory.grow; do not let two buffers overlap",
        "Results",
    ),
    "-2": Point("takes MEMORY_ACCESS_DENIED, with its message and without", _IN_WORDS, "Results"),
    "-4": Point(
        "takes -4, with out untouched", "end the run: there is no budget to go on with, and no payload", "Results"
    ),
    "-8": Point("takes MEMORY_QUOTA_EXCEEDED, with its message and without", _IN_WORDS, "Results"),
    "-10": Point("takes MEMORY_INVALID_INPUT, with its message and without", _IN_WORDS, "Results"),
    "-12": Point("takes MEMORY_NOT_FOUND, with its message and without", _IN_WORDS, "Results"),
    "-13": Point("takes MEMORY_STORAGE_ERROR, with its message and without", _IN_WORDS, "Results"),
}
"""Points that a gene is asked for each memory call it makes: their ids are `readMemory.-2`."""


def passed(point: str, seen: str) -> Verdict:
    """Return that a point is kept, and how that was seen."""
    return _verdict(point)._replace(verdict="pass", seen=seen)


def failed(point: str, seen: str, *, todo: str | None = None) -> Verdict:
    """Return that a point is broken, and what to do: as the table says, or `todo`."""
    return _verdict(point)._replace(verdict="fail", seen=seen, todo=_point(point).todo if todo is None else todo)


def not_applicable(point: str, why: str) -> Verdict:
    """Return that a point cannot be asked of this gene."""
    return _verdict(point)._replace(verdict="not-applicable", seen=why)


def _point(point: str) -> Point:
    return POINTS.get(point) or CALL_POINTS[point.partition(".")[2]]


def _verdict(point: str) -> Verdict:
    title, _, section = _point(point)
    return Verdict(point, title, "not-applicable", section=section)
