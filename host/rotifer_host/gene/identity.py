"""The v2 id of a gene: what memory knows it by.

memory-api.en.md, "Entries": `v2:` and 64 hex digits, another after every upgrade.
"""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

from rotifer_host.gene.phenotype import Phenotype

__all__ = ["gene_id"]


def gene_id(phenotype: Phenotype, code: str) -> str:
    """Return the v2 id of a gene with this phenotype and this digest of its code (lower-case hex SHA-256).

    It is `v2:` and the SHA-256 of the RFC 8785 text of `{"domain", "version",
    "inputSchema", "outputSchema", "code"}`; for a WASM gene `code` is
    `sections.code_digest`, for one that Node.js runs `Script.digest`. The other fields
    of a phenotype describe and do not identify.
    """
    identity: dict[str, Any] = {
        "domain": phenotype.domain,
        "version": phenotype.version,
        "inputSchema": phenotype.input_schema,
        "outputSchema": phenotype.output_schema,
        "code": code,
    }
    # nothing in a valid phenotype is beyond RFC 8785: see Phenotype
    return f"v2:{hashlib.sha256(rfc8785.dumps(identity)).hexdigest()}"
