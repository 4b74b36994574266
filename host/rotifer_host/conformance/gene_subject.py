"""Which module is tested, and on what: a file, or a gene of a project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rotifer_host.conformance.gene import check_gene
from rotifer_host.conformance.gene_inputs import inputs_beside
from rotifer_host.conformance.report import Report
from rotifer_host.errors import GeneError
from rotifer_host.gene import Gene
from rotifer_host.gene.source import default_source, is_script, read_given_file
from rotifer_host.sandbox import assemble

__all__ = ["check_file", "check_project_gene"]


def check_file(path: Path, inputs: Sequence[Any] = (), *, random: bool = False) -> Report:
    """Test a `.wasm` or `.wat` file, on the inputs of the test suite or the phenotype beside it if none are given.

    Raises `UsageError` for a file that cannot be read, `BadModuleError` for text that does
    not assemble.
    """
    data = read_given_file(path)
    wasm = assemble(data, name=str(path)) if path.suffix == ".wat" else data
    return check_gene(wasm, subject=str(path), inputs=inputs or inputs_beside(path.parent), random=random)


def check_project_gene(gene: Gene, inputs: Sequence[Any] = (), *, random: bool = False) -> Report:
    """Test a gene as it is compiled, or from its `gene.wasm` or `gene.wat` if it is not.

    Raises `GeneError` for one without either, for one that runs on Node.js, and for one
    that has changed since it was compiled.
    """
    inputs = inputs or inputs_beside(gene.path)
    try:
        return check_gene(gene.artefact(), subject=gene.name, inputs=inputs, random=random)
    except GeneError as error:
        source = default_source(gene.path)
        if error.code != "GENE_NOT_COMPILED" or source is None:
            raise
        if is_script(source):
            if gene.script() is None:  # it calls itself Native
                raise
            message = f"gene {gene.name} runs on Node.js: there is no module"
            advice = f"`rotifer test {gene.name}` tests it; compiled it would have a module, and no memory"
            raise GeneError(message, code="GENE_NO_MODULE", help=advice) from None
        return check_file(source, inputs, random=random)
