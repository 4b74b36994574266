"""The vectors: what a host of the Memory API must do, asked in a language-neutral form.

Their sources are the modules `of_*` here, each for one part of the specification; a
vector is a call of `steps.Vector`. `python -m rotifer_host.conformance.vectors DIR`
writes them as the JSON of `abi/vectors/`, whose README specifies the format.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib import resources
from typing import Any, Final

from rotifer_host.conformance.vectors.steps import Vector

__all__ = ["PARTS", "all_vectors", "guest_source", "vectors_of"]

PARTS: Final = (
    "requests",
    "keys",
    "values",
    "policies",
    "filters",
    "reading",
    "writing",
    "querying",
    "deleting",
    "access",
    "rewriting",
    "retention",
    "quota",
    "results",
    "pointers",
    "order",
    "budgets",
    "recording",
    "identity",
    "deployer",
    "modules",
    "imports",
    "wasi",
    "json",
    "markdown",
)
"""In the order of a first reading."""


def vectors_of(part: str) -> Iterator[dict[str, Any]]:
    """Yield the vectors of one part as JSON objects."""
    module = importlib.import_module(f"rotifer_host.conformance.vectors.of_{part}")
    written: Iterator[Vector] = module.vectors()
    for number, vector in enumerate(written, start=1):
        yield vector.to_json(f"{part}-{number:03}")


def all_vectors() -> Iterator[dict[str, Any]]:
    """Yield every vector."""
    for part in PARTS:
        yield from vectors_of(part)


def guest_source() -> bytes:
    """Return the scripted guest as WebAssembly text."""
    return resources.files(__package__).joinpath("guest.wat").read_bytes()
