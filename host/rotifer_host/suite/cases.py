"""A gene's test suite, `testsuite.json`.

{"testCases": [{"input", "expectedOutput"?, "expectedSchema"?, "timeout"?}], "config"?: {"fuzzIterations"?, "seed"?}}
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET, UnsetType

from rotifer_host.errors import GeneError
from rotifer_host.files import is_file, read_json
from rotifer_host.gene.phenotype import shown
from rotifer_host.gene.schema import schema_problems

__all__ = ["DEFAULT_ITERATIONS", "DEFAULT_SEED", "SUITE_FILE", "Case", "Suite", "read_suite"]

SUITE_FILE: Final = "testsuite.json"
DEFAULT_ITERATIONS: Final = 10
DEFAULT_SEED: Final = 1

_MAX_ITERATIONS: Final = 10_000
_LARGEST_SEED: Final = 2**53 - 1
_LONGEST_MS: Final = 24 * 60 * 60 * 1000

_MEMBERS: Final = ("testCases", "config")
_CASE_MEMBERS: Final = ("input", "expectedOutput", "expectedSchema", "timeout")
_CONFIG: Final = {"fuzzIterations": _MAX_ITERATIONS, "seed": _LARGEST_SEED}


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a suite."""

    input: Any
    """Any JSON value."""
    expected_output: Any | UnsetType = UNSET
    """Any JSON value; null is one."""
    expected_schema: Mapping[str, Any] | UnsetType = UNSET
    timeout_ms: int | None = None
    """The deadline of its run; None for that of any run."""


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of a suite, and how many inputs are generated besides."""

    cases: tuple[Case, ...] = ()
    iterations: int = DEFAULT_ITERATIONS
    seed: int = DEFAULT_SEED


def read_suite(folder: Path) -> Suite | None:
    """Read the suite of the gene in `folder`; None when it has none.

    Raises `GeneError` with code `TESTSUITE` that names everything that is wrong.
    """
    path = folder / SUITE_FILE
    if not is_file(path, GeneError):
        return None
    document = read_json(path, _error)
    problems = list(_problems(document))
    if problems:
        message = f"{path}: {'; '.join(problems)}"
        raise _error(message)
    assert isinstance(document, dict)  # noqa: S101 - or it had a problem
    config = document.get("config", {})
    return Suite(
        tuple(
            Case(
                case["input"],
                case.get("expectedOutput", UNSET),
                case.get("expectedSchema", UNSET),
                math.ceil(case["timeout"]) if "timeout" in case else None,
            )
            for case in document["testCases"]
        ),
        config.get("fuzzIterations", DEFAULT_ITERATIONS),
        config.get("seed", DEFAULT_SEED),
    )


def _error(message: str) -> GeneError:
    return GeneError(message, code="TESTSUITE")


def _problems(document: object) -> Iterator[str]:
    if not isinstance(document, dict):
        yield f"it must be an object with {' and '.join(_MEMBERS)}"
        return
    yield from _unknown(document, _MEMBERS, "")
    cases = document.get("testCases")
    if not isinstance(cases, list) or not cases:
        yield "testCases must be a list of at least one case"
    else:
        for index, case in enumerate(cases):
            yield from _case_problems(case, f"testCases[{index}]")
    config = document.get("config", {})
    if not isinstance(config, dict):
        yield f"config must be an object, not {shown(config)}"
        return
    yield from _unknown(config, tuple(_CONFIG), "config")
    for name, largest in _CONFIG.items():
        value = config.get(name, 0)
        if type(value) is not int or not 0 <= value <= largest:
            yield f"config.{name} must be a whole number from 0 to {largest}, not {shown(value)}"


def _case_problems(case: object, place: str) -> Iterator[str]:
    if not isinstance(case, dict):
        yield f"{place} must be an object, not {shown(case)}"
        return
    yield from _unknown(case, _CASE_MEMBERS, place)
    if "input" not in case:
        yield f"{place} has no input"
    if "expectedSchema" in case:
        schema = case["expectedSchema"]
        if isinstance(schema, dict):
            yield from schema_problems(schema, f"{place}.expectedSchema")
        else:
            yield f"{place}.expectedSchema must be an object, not {shown(schema)}"
    timeout = case.get("timeout", 1)
    if type(timeout) not in {int, float} or not 0 < timeout <= _LONGEST_MS:
        yield f"{place}.timeout must be milliseconds, more than 0 and at most {_LONGEST_MS}, not {shown(timeout)}"


def _unknown(document: Mapping[str, object], known: tuple[str, ...], place: str) -> Iterator[str]:
    for name in document:
        if name not in known:
            yield f"{place or 'it'} has a member {shown(name)}; known are {', '.join(known)}"
