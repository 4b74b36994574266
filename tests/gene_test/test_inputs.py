"""Inputs made from a schema."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.errors import UsageError
from rotifer_host.extras import how_to_install
from rotifer_host.gene.schema import SchemaValidator
from rotifer_host.suite.inputs import generate_inputs

OBJECT: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"enum": [1, 2]}, "c": {"type": "array", "items": {"type": "number"}}},
    "required": ["a", "b"],
}


def test_the_same_seed_gives_the_same_inputs(tmp_path: Path) -> None:
    """In another process and folder, with other modules loaded; another seed gives others, and all are valid."""
    inputs = generate_inputs(OBJECT, 10, 1).inputs
    (tmp_path / "other.py").write_text("X = 'a constant', 987654321.5\n", encoding="utf-8")
    program = (
        "import other; from rotifer_host.suite.inputs import generate_inputs;"
        f"print(ascii(generate_inputs({OBJECT!r}, 10, 1).inputs), end='')"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == ascii(inputs)
    assert [path.name for path in tmp_path.iterdir()] == ["other.py"]
    assert len(inputs) == 10
    assert all(SchemaValidator(OBJECT).allows(value) for value in inputs)
    assert generate_inputs(OBJECT, 10, 2).inputs != inputs


@pytest.mark.parametrize(
    ("schema", "simple"),
    [
        (True, False),
        ({}, False),
        ({"const": None}, False),
        ({"type": "object", "maxProperties": 0}, False),
        ({"type": "string", "format": "date-time"}, False),
        ({"type": "integer", "minimum": 2**70}, False),
        ({"definitions": {"a": {"type": "integer"}}, "$ref": "#/definitions/a"}, False),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "integer"}]}, False),
        ({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": []}, True),
    ],
)
def test_every_input_is_valid(schema: Any, *, simple: bool) -> None:
    """Whatever the draft, all inputs are allowed; simple ones are made where generating does not work."""
    generated = generate_inputs(schema, 10, 1)
    assert generated.inputs
    assert bool(generated.note) is simple
    assert all(SchemaValidator(schema).allows(value) for value in generated.inputs)


@pytest.mark.parametrize("schema", [False, {"not": {}}, {"enum": [1], "type": "string"}])
def test_there_may_be_no_input(schema: Any) -> None:
    """A schema that allows nothing gives nothing, and says why."""
    generated = generate_inputs(schema, 10, 1)
    assert generated.inputs == []
    assert generated.note


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("raise AttributeError('no more')", "does not work here: AttributeError: no more"),
        ("raise ModuleNotFoundError('hypothesis')", "does not work here: ModuleNotFoundError: hypothesis"),
    ],
)
def test_a_generator_that_does_not_work_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, message: str
) -> None:
    """Versions that do not fit each other are told, with what to install."""
    (tmp_path / "draw.py").write_text(program, encoding="utf-8")
    monkeypatch.setattr("rotifer_host.suite.inputs._PROGRAM", tmp_path / "draw.py")
    with pytest.raises(UsageError, match=message) as caught:
        generate_inputs({"title": message}, 10, 1)
    assert caught.value.help == how_to_install("test")


def test_generating_does_not_go_on_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema that takes too long is one that cannot be generated from."""
    (tmp_path / "draw.py").write_text("while True: pass", encoding="utf-8")
    monkeypatch.setattr("rotifer_host.suite.inputs._PROGRAM", tmp_path / "draw.py")
    monkeypatch.setattr("rotifer_host.suite.inputs._PATIENCE_S", 0.05)
    generated = generate_inputs({"type": "integer", "title": "slow"}, 10, 1)
    assert generated.inputs == [0]
    assert "takes longer than" in generated.note
