"""The condition of a `Cond`: a comparison of one member of the input with a fixed value."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from rotifer_host import contract
from rotifer_host.text import shortened

__all__ = ["Condition", "read_condition", "shown"]

_MEMBERS: Final = ("field", "op", "value", "equals")
_LONGEST_SHOWN: Final = 60

_ORDER: Final[dict[str, Callable[[float, float], bool]]] = {
    "Gt": lambda one, other: one > other,
    "Lt": lambda one, other: one < other,
    "Gte": lambda one, other: one >= other,
    "Lte": lambda one, other: one <= other,
}


class Condition(msgspec.Struct, frozen=True):
    """`{"field", "op", "value"}`, with the names of the record."""

    field: str
    """A member of the input; what is not an object has none."""
    op: Literal["Eq", "Neq", "Gt", "Lt", "Gte", "Lte", "Contains"]
    value: Any
    """Any JSON value for `Eq` and `Neq`, text for `Contains`, a number for the others."""

    def holds(self, document: object) -> bool:
        """Tell whether an input meets the condition; one without the member never does, with `Neq` neither.

        Values are equal only when their types are: 1 is not 1.0, nor true. The order of
        members does not matter, that of elements does. What is no number is neither more
        nor less, what is no text contains nothing.
        """
        if not isinstance(document, dict) or self.field not in document:
            return False
        found = document[self.field]
        if self.op in {"Eq", "Neq"}:
            return _same(found, self.value) is (self.op == "Eq")
        if self.op == "Contains":
            return isinstance(found, str) and self.value in found
        return _is_number(found) and _ORDER[self.op](found, self.value)

    def __str__(self) -> str:
        return f"{self.field} {self.op} {shown(self.value)}"


def read_condition(document: object, where: str, problems: list[str]) -> Condition | None:
    """Return the condition in a JSON value; adds everything that is wrong to `problems`, each naming its place.

    `{"field", "equals"}` is another way to write `{"field", "op": "Eq", "value"}`.
    """
    if not isinstance(document, dict):
        problems.append(f"{where} must be an object with field, op and value, not {shown(document)}")
        return None
    before = len(problems)
    problems += [f"{where} has no member {shown(name)}" for name in document if name not in _MEMBERS]
    field, op = document.get("field"), document.get("op", "Eq")
    if not _is_text(field):
        problems.append(f"{where}.field must name a member of the input, not {shown(field)}")
    if op not in contract.CONDITION_OPS:
        problems.append(f"{where}.op must be one of {', '.join(contract.CONDITION_OPS)}, not {shown(op)}")
    if ("value" in document) == ("equals" in document):
        problems.append(f"{where} must have either value or equals")
    elif "equals" in document and op != "Eq":
        problems.append(f"{where}.equals goes with op Eq; with another op write value")
    else:
        value = document.get("value", document.get("equals"))
        rule = _rule(op, value)
        if rule:
            problems.append(f"{where}: {op} needs {rule} to compare with, not {shown(value)}")
        elif len(problems) == before:
            return msgspec.convert({"field": field, "op": op, "value": value}, Condition)
    return None


def shown(value: object) -> str:
    """Return a value as a message shows it: short, whatever it is."""
    if isinstance(value, dict):
        return "an object" if value else "{}"
    if isinstance(value, list | tuple):
        return "an array" if value else "[]"
    return shortened(json.dumps(value, ensure_ascii=False, default=repr), _LONGEST_SHOWN)


def _rule(op: object, value: object) -> str | None:
    """Return what `value` ought to be and is not."""
    if op == "Contains":
        return None if _is_text(value) else "text"
    if op in list(_ORDER):  # whatever `op` is, a list too
        return None if _is_number(value) else "a number"
    return None if _is_json(value, contract.MAX_COMPOSITION_DEPTH) else "a JSON value, not nested too deeply,"


def _is_number(value: object) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _is_text(value: object) -> bool:
    """Tell whether it is text that UTF-8 can write."""
    return isinstance(value, str) and value.encode(errors="ignore").decode() == value


def _is_json(value: object, depth: int) -> bool:
    if isinstance(value, dict):
        return depth > 0 and all(_is_text(name) and _is_json(item, depth - 1) for name, item in value.items())
    if isinstance(value, list):
        return depth > 0 and all(_is_json(item, depth - 1) for item in value)
    return value is None or isinstance(value, bool) or _is_number(value) or _is_text(value)


def _same(one: object, other: object) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(item, other[name]) for name, item in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other
