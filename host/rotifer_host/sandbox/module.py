"""Is this module a gene, and can it run here? Answered without running it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from rotifer_host.errors import BadModuleError, UnknownImportError
from rotifer_host.sandbox.binary import Binary, FunctionType, Import, read_binary
from rotifer_host.sandbox.calls.registry import HostFunctions
from rotifer_host.text import shortened

__all__ = ["SIGNATURES", "ModuleInfo", "check_imports", "describe", "import_problems", "own_functions"]

SIGNATURES: Final = {
    "express": "(i32, i32) -> i32",
    "alloc": "(i32) -> i32",
    "_start": "() -> ()",
    "_initialize": "() -> ()",
}
"""Types of the functions a gene exports."""
_MOST_LISTED: Final = 30
_LONGEST_LISTED: Final = 1000
_NAMED_BY_THE_IR: Final = ("rotifer.gene", "rotifer.crypto", "rotifer.net", "rotifer.kv", "rotifer.env")


class ModuleInfo(msgspec.Struct, frozen=True):
    """What a gene's module says about itself."""

    mode: Literal["direct", "wasi"]
    """`wasi` when it exports `_start`, which wins over `express`."""
    exports: tuple[str, ...]
    imports: tuple[Import, ...]
    has_alloc: bool
    has_initialize: bool
    memory_pages: int
    """Pages of 64 KiB that its memory starts with."""
    max_memory_pages: int | None
    """The most it lets its memory grow to, if it says so."""


def describe(wasm: bytes) -> ModuleInfo:
    """Describe a module that the engine has compiled. Raises `BadModuleError` for one that is no gene."""
    binary = read_binary(wasm)
    memory = binary.exports.get("memory")
    if memory is None or memory.kind != "memory":
        raise BadModuleError("exports no memory named `memory`")
    own = own_functions(binary)
    entry = "_start" if "_start" in own else "express"
    if entry not in own:
        reexported = " of its own: the one it exports is an import" if "express" in binary.exports else ""
        raise BadModuleError(
            f"exports neither `express` nor `_start`{reexported}",
            help="export express(ptr: i32, len: i32) -> i32, or _start() for a WASI program",
        )
    has_alloc = entry == "express" and "alloc" in own
    has_initialize = "_initialize" in own
    for name, called in ((entry, True), ("alloc", has_alloc), ("_initialize", has_initialize)):
        if called and str(own[name]) != SIGNATURES[name]:
            raise BadModuleError(f"`{name}` must be {SIGNATURES[name]}, not {own[name]}")
    size = binary.memories[memory.place]
    return ModuleInfo(
        mode="wasi" if entry == "_start" else "direct",
        exports=tuple(binary.exports),
        imports=tuple(binary.imports),
        has_alloc=has_alloc,
        has_initialize=has_initialize,
        memory_pages=size.minimum,
        max_memory_pages=size.maximum,
    )


def check_imports(info: ModuleInfo, functions: HostFunctions) -> None:
    """Refuse a module whose imports are not all offered, naming them. Raises `UnknownImportError`."""
    problems, offers = import_problems(info.imports, functions)
    if problems:
        error = UnknownImportError(_listed(problems), help=_listed(offers))
        error.modules = [item.module for item in info.imports if functions.find(item.module, item.name) is None]
        raise error


def import_problems(imports: Iterable[Import], functions: HostFunctions) -> tuple[list[str], list[str]]:
    """Return a sentence for each import that is not offered as it is asked for, and what is offered in its module."""
    problems = {item: problem for item in imports if (problem := _problem(item, functions))}
    return list(problems.values()), list(dict.fromkeys(_offer(item.module, functions) for item in problems))


def _listed(sentences: list[str]) -> str:
    """Join sentences that hold names of the module's, which may be many and long."""
    left = len(sentences) - _MOST_LISTED
    shown = [shortened(sentence, _LONGEST_LISTED) for sentence in sentences[:_MOST_LISTED]]
    return "; ".join([*shown, f"and {left} more"] if left > 0 else shown)


def own_functions(binary: Binary) -> dict[str, FunctionType]:
    """Return the exported functions that are no imports: an `express` of the host's would be no gene."""
    return {
        name: binary.functions[export.place]
        for name, export in binary.exports.items()
        if export.kind == "function" and export.place >= binary.imported_functions
    }


def _problem(item: Import, functions: HostFunctions) -> str | None:
    function = functions.find(item.module, item.name)
    if function is None:
        if item.signature.startswith("("):
            return f"unknown import {item.module}.{item.name} {item.signature}"
        return f"import {item.module}.{item.name} is a {item.signature}: only functions can be imported"
    offered = str(FunctionType(function.params, function.results))
    if item.signature != offered:
        return f"import {item.module}.{item.name} is {item.signature}, the host offers {offered}"
    return None


def _offer(module: str, functions: HostFunctions) -> str:
    names = functions.names(module)
    if names:
        return f"{module} offers {', '.join(names)}"
    if module in _NAMED_BY_THE_IR:
        return f"{module} is named by the IR specification, but this host does not offer it"
    modules = dict.fromkeys(function.module for function in functions)
    return f"there is no {module}; the host offers the modules {', '.join(modules)}"
