"""Compiling: from a gene's module or its text to the artefact that runs, `gene.ir.wasm`."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from rotifer_host import contract
from rotifer_host.clock import Clock, SystemClock, rfc3339
from rotifer_host.errors import GeneError, UsageError
from rotifer_host.files import absolute, write_atomic
from rotifer_host.gene import sections
from rotifer_host.gene.gene import Gene
from rotifer_host.gene.phenotype import PHENOTYPE_FILE
from rotifer_host.gene.source import ARTEFACT_FILE, RESULT_FILE, default_source, how_to_build, read_module_file

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
    sections: tuple[str, ...]
    """The `rotifer.*` sections of the artefact, in order."""
    warnings: tuple[str, ...]


def compile_gene(
    gene: Gene, *, sandbox: Sandbox, wasm: Path | None = None, check_only: bool = False, clock: Clock = _CLOCK
) -> CompileResult:
    """Check a gene and write its artefact, unless `check_only`.

    The source is `wasm`, a module or a `.wat` text; without it the gene's `gene.wasm`,
    else its `gene.wat`. `sandbox` refuses an artefact it could not run. The same source
    and phenotype give the same artefact, byte for byte.

    Raises `GeneError` for a phenotype or a source that cannot be used, `UsageError`
    for a `wasm` that is missing or is the artefact itself, and `ModuleError`.
    """
    phenotype = gene.phenotype
    phenotype.check_schemas(gene.path / PHENOTYPE_FILE)
    source = _source(gene, wasm)
    try:
        text = read_module_file(source)
    except FileNotFoundError:
        message = f"there is no file {source}"
        raise UsageError(message) from None
    module = _assemble(text) if source.suffix == ".wat" else text
    recorded = _record(gene, source, hashlib.sha256(text).hexdigest())
    artefact = sections.stamp(module, phenotype, recorded)
    info = sandbox.load(artefact, name=gene.name).info
    result = CompileResult(
        gene=gene.name,
        gene_id=gene.gene_id(artefact),
        domain=phenotype.domain,
        mode=info.mode,
        source=source,
        source_sha256=recorded.sha256,
        output=None if check_only else gene.path / ARTEFACT_FILE,
        size_bytes=len(artefact),
        sections=tuple(sections.rotifer_section_names(artefact)),
        warnings=tuple(_warnings(info, recorded)),
    )
    if result.output is not None:
        report = _report(result, recorded, clock.now_ms())
        try:
            write_atomic(result.output, artefact)
            write_atomic(gene.path / RESULT_FILE, report)
        except OSError as error:
            message = f"cannot write the compiled gene into {gene.path}: {error.strerror}"
            raise GeneError(message) from error
    return result


def _assemble(text: bytes) -> bytes:
    from rotifer_host.sandbox import assemble  # noqa: PLC0415 - loads the engine, which listing genes does not need

    return assemble(text)


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


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one is missing, or reading it says what is wrong
        return False


def _record(gene: Gene, source: Path, digest: str) -> sections.Source:
    bases: tuple[tuple[Literal["gene", "project"], Path], ...] = (("gene", gene.path), ("project", gene.project))
    for name in (source, Path(os.path.realpath(source))):  # as it was named first: a link may come to mean another file
        for base, folder in bases:
            for root in (folder, Path(os.path.realpath(folder))):
                if name.is_relative_to(root):
                    return sections.Source(contract.FORMAT_VERSION, base, name.relative_to(root).as_posix(), digest)
    return sections.Source(contract.FORMAT_VERSION, None, None, digest)


def _warnings(info: ModuleInfo, recorded: sections.Source) -> list[str]:
    warnings = []
    if info.mode == "direct" and not info.has_alloc:
        warnings.append("the module exports no alloc: its input is written at address 0")
    if recorded.file is None:
        warnings.append("the source lies outside the project: the host will not notice when it changes")
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
        "sizeBytes": result.size_bytes,
        "sections": result.sections,
    }
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
