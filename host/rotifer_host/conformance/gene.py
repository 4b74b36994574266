"""Does this guest keep the ABI? One verdict for every point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rotifer_host import contract
from rotifer_host.conformance.gene_calls import check_calls
from rotifer_host.conformance.gene_host import GeneHost
from rotifer_host.conformance.gene_module import check_module
from rotifer_host.conformance.gene_points import POINTS, not_applicable
from rotifer_host.conformance.gene_runs import check_runs
from rotifer_host.conformance.report import Report, Verdict
from rotifer_host.sandbox import encode_document, inspect

__all__ = ["check_gene"]


def check_gene(wasm: bytes, *, subject: str, inputs: Sequence[Any], random: bool = False) -> Report:
    """Test a gene's module on example inputs, at least one: JSON values.

    `random` says that another output each time is meant. A gene that cannot be run is
    asked nothing more. Raises `DocumentError` for an
    input that is no JSON value.
    """
    return Report.of(subject, _verdicts(wasm, inputs, random=random))


def _verdicts(wasm: bytes, inputs: Sequence[Any], *, random: bool) -> Iterator[Verdict]:
    documents = [encode_document(value) for value in inputs]
    seen = list(check_module(wasm))
    yield from seen
    if any(verdict.verdict == "fail" for verdict in seen):
        answered = {verdict.point for verdict in seen}
        yield from (not_applicable(point, "it cannot be run as it is") for point in POINTS if point not in answered)
        return
    info = inspect(wasm)
    host = GeneHost(wasm)
    yield from check_runs(host, inputs, direct=info.mode == "direct", random=random)
    names = {item.name for item in info.imports if item.module == "rotifer"}
    yield from check_calls(host, documents, [call for call in contract.MEMORY_CALLS if call in names])
