"""When a condition holds, and what is none."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rotifer_host.agent.condition import read_condition


@pytest.mark.parametrize(
    ("op", "value", "document", "holds"),
    [
        ("Eq", 1, {"x": 1}, True),
        ("Eq", 1, {"x": 1.0}, False),
        ("Eq", 1, {"x": True}, False),
        ("Eq", True, {"x": 1}, False),
        ("Eq", 0, {"x": False}, False),
        ("Eq", None, {"x": None}, True),
        ("Eq", None, {}, False),
        ("Eq", "a", {"x": "a"}, True),
        ("Eq", {"a": 1, "b": [1, 2]}, {"x": {"b": [1, 2], "a": 1}}, True),
        ("Eq", {"a": 1, "b": [1, 2]}, {"x": {"b": [2, 1], "a": 1}}, False),
        ("Eq", {"a": 1}, {"x": {"a": 1.0}}, False),
        ("Eq", {"a": 1}, {"x": {"a": 1, "b": 1}}, False),
        ("Eq", [1], {"x": [1, 1]}, False),
        ("Eq", 2**70, {"x": 2**70}, True),
        ("Neq", 1, {"x": 1}, False),
        ("Neq", 1, {"x": 1.0}, True),
        ("Neq", 1, {"y": 1}, False),
        ("Neq", 1, [1], False),
        ("Neq", 1, None, False),
        ("Gt", 1, {"x": 1.5}, True),
        ("Gt", 1, {"x": 1}, False),
        ("Gte", 1, {"x": 1.0}, True),
        ("Lt", 0, {"x": -0.5}, True),
        ("Lte", 0, {"x": 0}, True),
        ("Lte", 0, {"x": 1}, False),
        ("Gt", 0, {"x": True}, False),
        ("Gt", 0, {"x": "1"}, False),
        ("Gt", 1.5, {"x": 10**400}, True),
        ("Contains", "b", {"x": "abc"}, True),
        ("Contains", "", {"x": ""}, True),
        ("Contains", "b", {"x": ["b"]}, False),
        ("Contains", "1", {"x": 1}, False),
    ],
    ids=range(32),
)
def test_a_condition(op: str, value: Any, document: Any, holds: bool) -> None:  # noqa: FBT001 - what is expected
    """Types count, the order of members does not; an input without the member meets no condition."""
    condition = read_condition({"field": "x", "op": op, "value": value}, "predicate", [])
    assert condition is not None
    assert condition.holds(document) is holds


DEEP: Any = 1
for _ in range(17):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (None, "predicate must be an object with field, op and value, not null"),
        ("x", "predicate must be an object"),
        ({"field": "x"}, "predicate must have either value or equals"),
        ({"field": "x", "value": 1, "equals": 1}, "predicate must have either value or equals"),
        ({"value": 1}, "predicate.field must name a member of the input, not null"),
        ({"field": "\ud800", "value": 1}, "predicate.field must name"),
        (
            {"field": "x", "op": "eq", "value": 1},
            'predicate.op must be one of Eq, Neq, Gt, Lt, Gte, Lte, Contains, not "eq"',
        ),
        ({"field": "x", "op": "Matches", "value": "."}, "predicate.op must be one of"),
        ({"field": "x", "op": ["Eq"], "value": 1}, "predicate.op must be one of"),
        ({"field": "x", "op": "Gt", "equals": 1}, "predicate.equals goes with op Eq; with another op write value"),
        ({"field": "x", "op": "Gt", "value": "1"}, 'predicate: Gt needs a number to compare with, not "1"'),
        ({"field": "x", "op": "Lte", "value": True}, "predicate: Lte needs a number to compare with, not true"),
        ({"field": "x", "op": "Lt", "value": math.inf}, "predicate: Lt needs a number"),
        ({"field": "x", "op": "Contains", "value": 1}, "predicate: Contains needs text to compare with, not 1"),
        ({"field": "x", "value": math.nan}, "predicate: Eq needs a JSON value"),
        ({"field": "x", "value": {1: 2}}, "predicate: Eq needs a JSON value"),
        ({"field": "x", "value": {"a": "\ud800"}}, "predicate: Eq needs a JSON value"),
        ({"field": "x", "value": DEEP}, "predicate: Eq needs a JSON value, not nested too deeply, to compare with"),
        ({"field": "x", "value": b"1"}, "predicate: Eq needs a JSON value"),
        ({"field": "x", "value": 1, "path": 1}, 'predicate has no member "path"'),
    ],
    ids=range(20),
)
def test_what_is_no_condition(document: Any, expected: str) -> None:
    """The problem names the member and what it may be."""
    problems: list[str] = []
    assert read_condition(document, "predicate", problems) is None
    assert expected in problems[0]
    assert len(problems) == 1
