"""What JSON is and what is not, by the cases of JSONTestSuite, for outputs and for requests."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rotifer_host.errors import DocumentError, InvalidInputError
from rotifer_host.memory import decode_delete, decode_query, decode_read, decode_write
from rotifer_host.sandbox import decode_document

_SPEC = importlib.util.spec_from_file_location("json_cases", Path(__file__).with_name("json_cases.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
_CASES = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_CASES)
CASES: dict[str, bytes] = _CASES.CASES
TAKEN: frozenset[str] = _CASES.TAKEN

DECODERS = {"read": decode_read, "write": decode_write, "query": decode_query, "delete": decode_delete}


def is_json(name: str) -> bool:
    """Tell whether a case must be taken for JSON."""
    return name.startswith("y_") or name in TAKEN


@pytest.mark.parametrize("name", CASES)
def test_documents(name: str) -> None:
    """An output, an input, or any other document that crosses the sandbox's border."""
    if is_json(name):
        decode_document(CASES[name])
    else:
        with pytest.raises(DocumentError):
            decode_document(CASES[name])


@pytest.mark.parametrize("call", DECODERS)
@pytest.mark.parametrize("name", CASES)
def test_requests(call: str, name: str) -> None:
    """A request that is no JSON is refused as such, one that is JSON for what it lacks."""
    decode: Callable[[bytes], object] = DECODERS[call]
    asks_for_everything = ("y_structure_lonely_null", "y_object_empty", "n_structure_no_data")
    if call == "query" and name in asks_for_everything:
        decode(CASES[name])
        return
    with pytest.raises(InvalidInputError) as refusal:
        decode(CASES[name])
    not_json = refusal.value.message.startswith(("the request must be one JSON", "the request is nested too deeply"))
    assert not_json != is_json(name), refusal.value.message


def test_the_suite_is_whole() -> None:
    """Every case that is taken exists, and every kind of case is there."""
    assert set(TAKEN) < set(CASES)
    assert {name[:2] for name in CASES} == {"y_", "n_", "i_"}
    assert sys.getrecursionlimit() >= 1000  # what `i_structure_500_nested_arrays` counts on
