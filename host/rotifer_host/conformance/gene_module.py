"""What can be told from a gene's module without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rotifer_host import contract
from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.conformance.gene_points import failed, not_applicable, passed
from rotifer_host.conformance.report import Verdict
from rotifer_host.errors import BadModuleError
from rotifer_host.gene.features import used_features
from rotifer_host.gene.sections import list_sections, read_source, rotifer_section_names
from rotifer_host.limits import format_size
from rotifer_host.modules.functions import module_functions
from rotifer_host.modules.registry import usable_modules
from rotifer_host.sandbox import HostFunctions, core_functions, wasi_functions
from rotifer_host.sandbox.binary import Binary, read_binary
from rotifer_host.sandbox.engine import engine
from rotifer_host.sandbox.guest_memory import PAGE_BYTES
from rotifer_host.sandbox.module import SIGNATURES, import_problems, own_functions

__all__ = ["check_module"]

_STATIC: Final = (
    "module.features",
    "module.sections",
    "exports.memory",
    "exports.entry",
    "exports.alloc",
    "exports.initialize",
    "imports.offered",
    "memory.size",
)


def check_module(wasm: bytes) -> Iterator[Verdict]:
    """Look at a module; a gene that fails here cannot be run."""
    size = f"{format_size(len(wasm))}"
    yield (passed if len(wasm) <= contract.MAX_MODULE_BYTES else failed)("module.size", size)
    try:
        engine().compile(wasm)
    except BadModuleError as error:
        yield failed("module.valid", error.message, todo=error.help)
        for point in _STATIC:
            yield not_applicable(point, "there is no module to look at")
        return
    yield passed("module.valid", "compiles")
    yield passed("module.features", ", ".join(used_features(wasm)) or "none")
    yield _sections(wasm)
    binary = read_binary(wasm)
    yield from _exports(binary)
    yield _imports(binary)
    yield _memory(binary)


def _sections(wasm: bytes) -> Verdict:
    names = [section.name for section in list_sections(wasm) if section.name is not None]
    seen = f"custom sections: {', '.join(names) or 'none'}"
    if "name" not in names:
        seen += "; without `name`, backtraces show numbers for functions"
    if rotifer_section_names(wasm):
        try:
            read_source(wasm)
        except BadModuleError as error:
            return failed("module.sections", f"{error.message} ({seen})")
    return passed("module.sections", seen)


def _exports(binary: Binary) -> Iterator[Verdict]:
    memory = binary.exports.get("memory")
    if memory is None or memory.kind != "memory":
        yield failed("exports.memory", "no `memory`" if memory is None else f"`memory` is a {memory.kind}")
    else:
        yield passed("exports.memory", "`memory`")
    own = {name: str(kind) for name, kind in own_functions(binary).items()}
    entry = "_start" if "_start" in own else "express"
    if entry in own:
        yield _signature("exports.entry", entry, own)
    elif entry in binary.exports:
        kind = binary.exports[entry].kind
        yield failed("exports.entry", f"`express` is {'an import' if kind == 'function' else f'a {kind}'}")
    else:
        yield failed("exports.entry", f"neither: it exports {', '.join(binary.exports) or 'nothing'}")
    if entry == "_start":
        yield not_applicable("exports.alloc", "a WASI program gets its input from standard input")
    elif "alloc" in own:
        yield _signature("exports.alloc", "alloc", own)
    else:
        yield not_applicable("exports.alloc", "no alloc: the input is written at address 0, over whatever is there")
    if "_initialize" in own:
        yield _signature("exports.initialize", "_initialize", own)
    else:
        yield not_applicable("exports.initialize", "no _initialize")


def _signature(point: str, name: str, own: Mapping[str, str]) -> Verdict:
    if own[name] == SIGNATURES[name]:
        return passed(point, f"{name}: {own[name]}")
    return failed(point, f"{name} is {own[name]}, not {SIGNATURES[name]}")


def _imports(binary: Binary) -> Verdict:
    functions = HostFunctions(
        core_functions(), wasi_functions(), memory_functions(), module_functions(usable_modules())
    )
    problems, offers = import_problems(binary.imports, functions)
    if problems:
        return failed("imports.offered", "; ".join(problems), todo="; ".join(offers))
    names = dict.fromkeys(f"{item.module}.{item.name}" for item in binary.imports)
    return passed("imports.offered", ", ".join(names) or "imports nothing")


def _memory(binary: Binary) -> Verdict:
    memory = binary.exports.get("memory")
    if memory is None or memory.kind != "memory":
        return not_applicable("memory.size", "no memory is exported")
    pages = binary.memories[memory.place]
    size = pages.minimum * PAGE_BYTES
    most = "" if pages.maximum is None else f", at most {format_size(pages.maximum * PAGE_BYTES)}"
    seen = f"{format_size(size)} at the start{most}; the limit is {format_size(contract.DEFAULT_GUEST_MEMORY_BYTES)}"
    return (passed if size <= contract.DEFAULT_GUEST_MEMORY_BYTES else failed)("memory.size", seen)
