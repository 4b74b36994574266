"""`rotifer compile`."""

from __future__ import annotations

from pathlib import Path

import click

from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.output import print_document, print_note, print_text, working
from rotifer_host.limits import format_size

__all__ = ["compile_"]


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
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The module, .wasm or .wat; without it the gene's own gene.wasm or gene.wat.",
)
@click.option("--check", is_flag=True, help="Check the phenotype and the module, and write nothing.")
@click.pass_obj
def compile_(session: Session, gene: str, *, wasm: Path | None, check: bool) -> None:
    """Compile GENE into what is run, gene.ir.wasm, and print its v2 id."""
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
                "sections": list(result.sections),
                "warnings": list(result.warnings),
            }
        )
        return
    print_text(
        f"{'checked' if result.output is None else 'compiled'} {result.gene}\n"
        f"  Gene ID (v2): {result.gene_id}\n"
        f"  Domain:       {result.domain}\n"
        f"  Mode:         {result.mode}\n"
        f"  Source:       {result.source}\n"
        f"  Output:       {result.output or 'none, only checked'}\n"
        f"  Size:         {format_size(result.size_bytes)}"
    )
