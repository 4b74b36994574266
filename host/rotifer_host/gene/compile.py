"""Compiling: from a gene's module, its text or its script to the artefact that runs, `gene.ir.wasm`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from rotifer_host import contract
from rotifer_host.clock import Clock, SystemClock, rfc3339
from rotifer_host.errors import BadModuleError, GeneError, UsageError
from rotifer_host.files import absolute
from rotifer_host.gene import sections
from rotifer_host.gene.gene import Gene
from rotifer_host.gene.phenotype import Phenotype
from rotifer_host.gene.phenotype_check import check_phenotype
from rotifer_host.gene.source import (
    ARTEFACT_FILE,
    RESULT_FILE,
    default_source,
    entry_of,
    how_to_build,
    is_script,
    read_given_file,
    read_module_file,
    write_gene_file,
)

if TYPE_CHECKING:
    from rotifer_host.sandbox import ModuleInfo, Sandbox

__all__ = ["CompileResult", "compile_gene"]

_CLOCK: Final = SystemClock()


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What compiling found and made."""

    gene: str
    gene_id: str
    domain: str
    mode: str
    """How the host will call the module: `direct` or `wasi`."""
    source: Path
    source_sha256: str
    """Lower-case hex digest of the source file's bytes."""
    output: Path | None
    """The artefact; None when only checked."""
    size_bytes: int
    """Of the artefact."""
    steps: tuple[str, ...]
    """How the source became a module, for people; empty when it was one."""
    exports: tuple[str, ...]
    imports: tuple[str, ...]
    """`rotifer.readMemory`: all of them are offered."""
    features: tuple[str, ...]
    """What the code uses beyond the first version of WebAssembly, by the names of the proposals."""
    sections: tuple[str, ...]
    """The `rotifer.*` sections of the artefact, in order."""
    warnings: tuple[str, ...]


def compile_gene(
    gene: Gene, *, sandbox: Sandbox, wasm: Path | None = None, check_only: bool = False, clock: Clock = _CLOCK
) -> CompileResult:
    """Check a gene and write its artefact, unless `check_only`.

    The source is `wasm`: a module, a `.wat` text, or TypeScript or JavaScript; without it
    what `default_source` finds. `sandbox` refuses an artefact it could not run. The same
    source and phenotype give the same artefact, byte for byte, with the same tools.

    Raises `GeneError` for a phenotype or a source that cannot be used, for tools that are
    missing too; `UsageError` for a `wasm` that is missing or is the artefact itself, and
    `ModuleError`.
    """
    from rotifer_host.gene.features import used_features  # noqa: PLC0415 - loads the engine, as below

    phenotype, unknown = check_phenotype(gene.path)
    source = _source(gene, wasm)
    text = _text(source, given=wasm is not None)
    made = _make(gene, phenotype, source, text)
    recorded = _record(gene, source, text, made.bundled)
    try:
        artefact = sections.stamp(made.module, phenotype, recorded)
        info = sandbox.load(artefact, name=gene.name).info
    except BadModuleError as error:
        raise BadModuleError(f"{_shown(gene, source)}: {error.message}", help=error.help) from error
    result = CompileResult(
        gene=gene.name,
        gene_id=gene.gene_id(artefact),
        domain=phenotype.domain,
        mode=info.mode,
        source=source,
        source_sha256=recorded.sha256,
        output=None if check_only else gene.path / ARTEFACT_FILE,
        size_bytes=len(artefact),
        steps=made.steps,
        exports=info.exports,
        imports=tuple(f"{item.module}.{item.name}" for item in info.imports),
        features=used_features(artefact),
        sections=tuple(sections.rotifer_section_names(artefact)),
        warnings=(*unknown, *made.warnings, *_warnings(gene, source, info, recorded)),
    )
    if result.output is not None:
        write_gene_file(result.output, artefact)
        write_gene_file(gene.path / RESULT_FILE, _report(result, recorded, clock.now_ms()))
    return result


class _Made(NamedTuple):
    module: bytes
    steps: tuple[str, ...] = ()
    bundled: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()


def _make(gene: Gene, phenotype: Phenotype, source: Path, text: bytes) -> _Made:
    if is_script(source):
        return _script(gene, phenotype, source)
    if source.suffix == ".wat":
        from rotifer_host.sandbox import assemble  # noqa: PLC0415 - loads the engine, which listing genes does not need

        return _Made(assemble(text, name=_shown(gene, source)), (f"assembled {source.name}",))
    return _Made(text)


def _script(gene: Gene, phenotype: Phenotype, source: Path) -> _Made:
    from rotifer_host.gene.typescript import build  # noqa: PLC0415 - the same

    if phenotype.fields.get("fidelity") == "Hybrid":
        message = f"gene {gene.name} is Hybrid: it runs on Node.js, and is not compiled"
        raise GeneError(message, code="GENE_NO_MODULE", help="a gene with fidelity Native or Wrapped can be compiled")
    bundle = build(source, gene.project)
    return _Made(bundle.module, bundle.steps, bundle.files, bundle.warnings)


def _source(gene: Gene, wasm: Path | None) -> Path:
    if wasm is None:
        source = default_source(gene.path)
        if source is None:
            message = f"gene {gene.name} has no module to compile"
            raise GeneError(message, code="GENE_NO_MODULE", help=how_to_build(gene.path))
        return source
    source = absolute(wasm, UsageError)
    artefact = gene.path / ARTEFACT_FILE
    if source == artefact or _same_file(source, artefact):
        message = f"{source} is what compiling writes; give the module or the text it is made from"
        raise UsageError(message)
    return source


def _text(source: Path, *, given: bool) -> bytes:
    if given:
        return read_given_file(source)
    try:
        return read_module_file(source)
    except FileNotFoundError:  # gone since it was found
        raise GeneError(f"there is no file {source}") from None


def _shown(gene: Gene, source: Path) -> str:
    """Return a source as errors name it: from the project's folder, if it lies there."""
    return os.fspath(source.relative_to(gene.project) if source.is_relative_to(gene.project) else source)


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one is missing, or reading it says what is wrong
        return False


def _record(gene: Gene, source: Path, text: bytes, bundled: Sequence[Path]) -> sections.Source:
    file = _named(gene, source, text)
    others = tuple(_named(gene, other, read_module_file(other)) for other in bundled)
    return sections.Source(file.base, file.file, file.sha256, v=contract.FORMAT_VERSION, bundled=others)


def _named(gene: Gene, source: Path, content: bytes) -> sections.SourceFile:
    digest = hashlib.sha256(content).hexdigest()
    bases: tuple[tuple[Literal["gene", "project"], Path], ...] = (("gene", gene.path), ("project", gene.project))
    for name in (source, Path(os.path.realpath(source))):  # as it was named first: a link may come to mean another file
        for base, folder in bases:
            for root in (folder, Path(os.path.realpath(folder))):
                if name.is_relative_to(root):
                    return sections.SourceFile(base, name.relative_to(root).as_posix(), digest)
    return sections.SourceFile(None, None, digest)


def _warnings(gene: Gene, source: Path, info: ModuleInfo, recorded: sections.Source) -> list[str]:
    warnings = []
    script = entry_of(gene.path)
    if script is not None and not is_script(source):
        warnings.append(f"{source.name} was compiled; for {script}, which is there too, give it with --wasm")
    if info.mode == "direct" and not info.has_alloc:
        warnings.append("the module exports no alloc: its input is written at address 0")
    if any(file.file is None for file in (recorded, *recorded.bundled)):
        warnings.append("a source lies outside the project: the host will not notice when it changes")
    return warnings


def _report(result: CompileResult, recorded: sections.Source, now_ms: int) -> bytes:
    report = {
        "v": contract.FORMAT_VERSION,
        "geneId": result.gene_id,
        "name": result.gene,
        "domain": result.domain,
        "compiledAt": rfc3339(now_ms),
        "mode": result.mode,
        "source": recorded.file,
        "sourceBase": recorded.base,
        "sourceSha256": recorded.sha256,
        "bundled": [file.file for file in recorded.bundled],
        "sizeBytes": result.size_bytes,
        "sections": result.sections,
    }
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
