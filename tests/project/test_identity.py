"""The v2 id of a gene."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest

from rotifer_host import contract
from rotifer_host.gene.identity import gene_id
from rotifer_host.gene.phenotype import Phenotype

CODE = "ab" * 32


def phenotype(**changes: Any) -> Phenotype:  # any JSON
    """Return a phenotype with these changes."""
    values: dict[str, Any] = {"domain": "text", "version": "1.0.0", "input_schema": {"b": 1, "a": "é"}}
    values |= {"output_schema": True, "created_ms": None, "fields": {}}
    return Phenotype(**{**values, **changes})


def test_the_id_is_the_hash_of_the_canonical_identity() -> None:
    """The id can be computed by anyone from five members of sorted, compact JSON."""
    text = f'{{"code":"{CODE}","domain":"text","inputSchema":{{"a":"é","b":1}},"outputSchema":true,"version":"1.0.0"}}'
    assert gene_id(phenotype(), CODE) == "v2:" + hashlib.sha256(text.encode()).hexdigest()
    assert re.fullmatch(contract.GENE_ID_PATTERN, gene_id(phenotype(), CODE))


@pytest.mark.parametrize(
    "change",
    [
        {"domain": "text.code"},
        {"version": "1.0.1"},
        {"input_schema": {"b": 2, "a": "é"}},
        {"input_schema": {}},
        {"output_schema": False},
        {"output_schema": {}},
    ],
    ids=range(6),
)
def test_every_part_of_the_identity_counts(change: dict[str, Any]) -> None:
    """Another domain, version, schema or code is another gene."""
    assert gene_id(phenotype(**change), CODE) != gene_id(phenotype(), CODE)
    assert gene_id(phenotype(), "cd" * 32) != gene_id(phenotype(), CODE)


def test_what_only_describes_does_not_count() -> None:
    """The order of members, the spelling of numbers, and other fields change nothing."""
    same = phenotype(input_schema=json.loads('{"a":"\\u00e9","b":1.0}'), created_ms=5, fields={"author": "x"})
    assert gene_id(same, CODE) == gene_id(phenotype(), CODE)
