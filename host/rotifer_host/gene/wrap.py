"""Wrapping: giving a gene's folder the phenotype it needs, and telling its v2 id."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast

import msgspec

from rotifer_host import contract
from rotifer_host.clock import Clock, rfc3339
from rotifer_host.errors import GeneError, UsageError
from rotifer_host.files import is_file
from rotifer_host.gene.gene import Gene
from rotifer_host.gene.phenotype import DOMAIN_RULE, PHENOTYPE_FILE, Phenotype, read_fields
from rotifer_host.gene.phenotype_check import check_fields
from rotifer_host.gene.source import default_source, is_script, read_module_file, write_gene_file

__all__ = ["MANIFEST_FILE", "WrapResult", "wrap_gene"]

MANIFEST_FILE: Final = ".gene-manifest.json"

_Change = Literal["new", "changed", "as it was"]

_DEFAULT_DOMAIN: Final = "general"


@dataclass(frozen=True, slots=True)
class WrapResult:
    """What wrapping found and made."""

    gene: str
    gene_id: str | None
    """The v2 id of the gene as it would run now; None when there is nothing to run yet."""
    domain: str
    fidelity: str | None
    """What the phenotype says; None when that says nothing."""
    phenotype: Path
    change: _Change
    """What was done to the phenotype."""
    warnings: tuple[str, ...]
    next: str
    """What to do now, in words."""


def wrap_gene(gene: Gene, *, domain: str | None, fidelity: str | None, author: str, clock: Clock) -> WrapResult:
    """Make the phenotype of a gene, or check the one there is and give it another domain; write `.gene-manifest.json`.

    Raises `UsageError` for a domain or a fidelity that is none, and for a fidelity
    beside a phenotype that is there, `GeneError` with code `PHENOTYPE` naming all that
    is wrong with it.
    """
    _check_arguments(domain, fidelity)
    path = gene.path / PHENOTYPE_FILE
    change: _Change = "as it was"
    if not is_file(path, GeneError) and not path.exists():
        change = "new"
        fields = _new_fields(domain or _DEFAULT_DOMAIN, fidelity or _default_fidelity(gene), author, clock)
    else:
        if fidelity is not None:
            message = f"{path} is there already; --fidelity is for a new one"
            raise UsageError(message, help="change `fidelity` in the file")
        fields = read_fields(gene.path)
        if domain is not None and fields.get("domain") != domain:
            change = "changed"
            fields["domain"] = domain
    phenotype, warnings = check_fields(gene.path, fields)
    if change != "as it was":
        write_gene_file(path, json.dumps(fields, ensure_ascii=False, indent=2).encode() + b"\n")
    result = _result(gene, phenotype, change, warnings)
    write_gene_file(gene.path / MANIFEST_FILE, _manifest(result, clock))
    return result


def _check_arguments(domain: str | None, fidelity: str | None) -> None:
    if domain is not None and not re.fullmatch(contract.DOMAIN_PATTERN, domain, re.ASCII):
        message = f"domain must be {DOMAIN_RULE}, not {domain!r}"
        raise UsageError(message)
    if fidelity is not None and fidelity not in contract.FIDELITIES:
        message = f"fidelity must be one of {', '.join(contract.FIDELITIES)}, not {fidelity!r}"
        raise UsageError(message)


def _default_fidelity(gene: Gene) -> str:
    """Return what the gene's source says it is: a module, or anything else."""
    source = default_source(gene.path)
    return "Native" if source is not None and not is_script(source) else "Wrapped"


def _new_fields(domain: str, fidelity: str, author: str, clock: Clock) -> dict[str, object]:
    return {
        "domain": domain,
        "version": "0.1.0",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"},
        "author": author,
        "createdAt": rfc3339(clock.now_ms()),
        "fidelity": fidelity,
    }


def _result(gene: Gene, phenotype: Phenotype, change: _Change, warnings: list[str]) -> WrapResult:
    gene_id, advice = None, f"type `rotifer test {gene.name}`"
    try:
        gene_id = gene.current_id()
    except GeneError as error:
        gene_id = _id_when_compiled(gene)
        advice = error.help or error.message
    return WrapResult(
        gene=gene.name,
        gene_id=gene_id,
        domain=phenotype.domain,
        fidelity=cast("str | None", phenotype.fields.get("fidelity")),
        phenotype=gene.path / PHENOTYPE_FILE,
        change=change,
        warnings=tuple(warnings),
        next=advice,
    )


def _id_when_compiled(gene: Gene) -> str | None:
    """Return the v2 id that compiling the gene would give; None when its module has to be built first."""
    source = default_source(gene.path)
    if source is None or is_script(source):
        return None
    from rotifer_host.sandbox import assemble  # noqa: PLC0415 - loads the engine

    text = read_module_file(source)
    return gene.gene_id(assemble(text, name=str(source)) if source.suffix == ".wat" else text)


def _manifest(result: WrapResult, clock: Clock) -> bytes:
    manifest = {
        "v": contract.FORMAT_VERSION,
        "geneId": result.gene_id,
        "name": result.gene,
        "domain": result.domain,
        "fidelity": result.fidelity,
        "wrappedAt": rfc3339(clock.now_ms()),
    }
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
