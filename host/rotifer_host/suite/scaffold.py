"""A suite to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from rotifer_host.conformance.gene_inputs import sample
from rotifer_host.errors import GeneError
from rotifer_host.gene import Gene
from rotifer_host.gene.phenotype_check import check_phenotype
from rotifer_host.gene.schema import SchemaValidator
from rotifer_host.suite.cases import DEFAULT_ITERATIONS, DEFAULT_SEED, SUITE_FILE

__all__ = ["write_suite"]

_WRONG: Final[tuple[Any, ...]] = (None, {}, [], 0, "", True, {"": None})


def write_suite(gene: Gene) -> Path:
    """Write a gene's `testsuite.json` with an input its `inputSchema` allows, and one that it forbids.

    Returns its path. Raises `GeneError` for a phenotype that is wrong, and for a suite that is
    there already.
    """
    phenotype, _ = check_phenotype(gene.path)
    validator = SchemaValidator(phenotype.input_schema)
    simple = [sample(phenotype.input_schema, full=full) for full in (False, True)]
    allowed = [value for value in simple if validator.allows(value)][:1]
    forbidden = [value for value in _WRONG if not validator.allows(value)][:1]
    suite = {
        "testCases": [{"input": value} for value in (*allowed, *forbidden)] or [{"input": {}}],
        "config": {"fuzzIterations": DEFAULT_ITERATIONS, "seed": DEFAULT_SEED},
    }
    path = gene.path / SUITE_FILE
    try:
        with path.open("xb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(suite), indent=2) + b"\n")
    except FileExistsError:
        message = f"{path} is there already"
        raise GeneError(message, help="change it by hand, or move it away") from None
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}"
        raise GeneError(message) from error
    return path
