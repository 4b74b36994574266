"""Inputs made from a gene's `inputSchema`, the same for the same seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from rotifer_host.conformance.gene_inputs import sample
from rotifer_host.errors import DocumentError, UsageError
from rotifer_host.extras import how_to_install
from rotifer_host.gene.schema import SchemaValidator
from rotifer_host.project import module_cache_dir
from rotifer_host.sandbox import encode_document

__all__ = ["Generated", "generate_inputs", "require_generator"]

_PROGRAM: Final = Path(__file__).with_name("draw.py")
_PATIENCE_S: Final = 60


class Generated(NamedTuple):
    """What could be generated."""

    inputs: list[Any]
    note: str
    """Why they are simple ones; empty when they are not."""


def require_generator() -> None:
    """Say what to install where the generator is missing. Raises `UsageError`."""
    if find_spec("hypothesis_jsonschema") is None:
        raise UsageError("testing a gene needs the package hypothesis-jsonschema", help=how_to_install("test"))


def generate_inputs(schema: Any, count: int, seed: int) -> Generated:  # noqa: ANN401 - a mapping, True or False
    """Return up to `count` JSON values that a schema allows; there may be no more, or none.

    From a schema that hypothesis-jsonschema cannot generate from they are a small and
    a full one, made of types, bounds and alternatives. Raises `UsageError` where it does
    not work at all.
    """
    validator = SchemaValidator(schema)

    def usable(values: Sequence[Any]) -> list[Any]:
        return [value for value in values if validator.allows(value) and _is_document(value)]

    try:
        answer = json.loads(_drawn(json.dumps({"schema": schema, "count": count, "seed": seed})))
    except subprocess.TimeoutExpired:
        answer = {"error": f"it takes longer than {_PATIENCE_S} s"}
    values = usable(answer.get("values", ()))
    if values:
        return Generated(values, "")
    simple = usable([sample(schema, full=False), sample(schema, full=True)])
    reason = answer.get("error", "what it makes is not valid by inputSchema")
    return Generated(
        simple[:1] if simple[:1] == simple[1:] else simple, f"hypothesis-jsonschema cannot generate: {reason}"
    )


@lru_cache(maxsize=64)
def _drawn(request: str) -> str:
    """Return what `draw.py` answers; the same request has the same answer. Raises `UsageError`, `TimeoutExpired`."""
    environment = os.environ | {
        "HYPOTHESIS_STORAGE_DIRECTORY": str(module_cache_dir() / "hypothesis"),  # its tables of Unicode
        "PYTHONHASHSEED": "0",  # it looks at sets
    }
    try:
        done = subprocess.run(  # noqa: S603 - this package's own program
            [sys.executable, "-P", _PROGRAM],
            input=request,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=_PATIENCE_S,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().rpartition("\n")[2]
        raise UsageError(f"hypothesis-jsonschema does not work here: {said}", help=how_to_install("test")) from error
    return done.stdout


def _is_document(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    try:
        encode_document(value)
    except DocumentError:
        return False
    return True
