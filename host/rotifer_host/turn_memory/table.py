"""The memory table: named tables of rows, changed by the edits that an output holds.

json-and-turn-memory.zh.md, "产品里已经接好的几种资料".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec

from rotifer_host import contract
from rotifer_host.errors import InvalidInputError, StoreError
from rotifer_host.store.protocol import DocumentName
from rotifer_host.turn_memory.report import EventName, TurnEvent

if TYPE_CHECKING:
    from rotifer_host.memory import AgentMemory
    from rotifer_host.turn_memory.sources import MemorySource

__all__ = ["TableMemory"]

_Cell = str | int | float | bool
_Tables = dict[str, dict[str, dict[str, _Cell]]]
"""Cells by column, by row, by table."""
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_TRIES: Final = 2


class _Set(msgspec.Struct, tag_field="op", tag="set", forbid_unknown_fields=True):
    """Give a row these cells, and make it where it is not there; None takes a cell away."""

    table: _Name
    row: _Name
    cells: dict[_Name, _Cell | None]


class _Delete(msgspec.Struct, tag_field="op", tag="delete", forbid_unknown_fields=True):
    """Take a row away, if it is there."""

    table: _Name
    row: _Name


class _Stored(msgspec.Struct):
    """The document."""

    v: Literal[1]
    revision: int
    tables: _Tables


class _ConflictError(Exception):
    """The table is not the one the edits were applied to."""


class TableMemory:
    """An agent's memory table for the length of one turn."""

    failed: Final[EventName] = "table.failed"

    def __init__(self, memory: AgentMemory, source: MemorySource) -> None:
        self._memory = memory
        self._source = source
        self._name = DocumentName(contract.TURN_DOCUMENTS, f"table/{source.agentRef}")
        self._recalled = _Stored(1, 0, {})

    def recall(self) -> str:
        """Return the table as text, empty where there is nothing. Raises `StoreError`, `HostCallError`."""
        self._recalled = self._read()
        return _shown(self._recalled.tables)

    def remember(self, output: Any) -> TurnEvent | None:  # noqa: ANN401 - any JSON value
        """Apply the edits in an output, all or none; None where it holds none.

        They are applied to the table as it was recalled. When another run has replaced
        that meanwhile, it is read again and they are tried on it, once.
        """
        if not isinstance(output, Mapping) or contract.TABLE_EDITS not in output:
            return None
        try:
            edits = msgspec.convert(output[contract.TABLE_EDITS], list[_Set | _Delete])
        except msgspec.ValidationError as error:
            return TurnEvent("table.failed", self._source.id, f"{contract.TABLE_EDITS} are no edits: {error}")
        for again in range(_TRIES):
            if again:
                self._recalled = self._read()
            tables = _edited(self._recalled.tables, edits)
            if _encoded(tables) == _encoded(self._recalled.tables):
                return TurnEvent("table.unchanged", self._source.id, "the edits change nothing")
            try:
                self._replace(tables)
            except _ConflictError:
                continue
            message = f"revision {self._recalled.revision + 1}"
            return TurnEvent("table.replaced", self._source.id, message)
        return TurnEvent("table.failed", self._source.id, "other runs replaced the table twice meanwhile")

    def forget(self) -> None:
        """Begin anew."""
        self._memory.documents.change(None, "turn.forget", self._name, lambda _old: None)

    def _replace(self, tables: _Tables) -> None:
        expected = self._recalled.revision
        data = _encoded(_Stored(1, expected + 1, tables))
        if len(data) > contract.MAX_TABLE_BYTES:
            message = f"the memory table would have {len(data)} bytes, more than {contract.MAX_TABLE_BYTES}"
            raise InvalidInputError(message)

        def replaced(old: bytes | None) -> bytes:
            if _decoded(old).revision != expected:
                raise _ConflictError
            return data

        self._memory.documents.change(None, "turn.table", self._name, replaced)

    def _read(self) -> _Stored:
        return _decoded(self._memory.documents.read(None, self._name))


def _decoded(data: bytes | None) -> _Stored:
    if data is None:
        return _Stored(1, 0, {})
    try:
        return msgspec.json.decode(data, type=_Stored)
    except msgspec.MsgspecError as error:
        message = f"the memory table is not one this host can read: {error}"
        raise StoreError(message) from error


def _encoded(value: object) -> bytes:
    return msgspec.json.encode(value)


def _edited(tables: _Tables, edits: list[_Set | _Delete]) -> _Tables:
    edited = {table: {row: dict(cells) for row, cells in rows.items()} for table, rows in tables.items()}
    for edit in edits:
        if isinstance(edit, _Delete):
            rows = edited.get(edit.table, {})
            rows.pop(edit.row, None)
            if not rows:
                edited.pop(edit.table, None)
            continue
        cells = edited.setdefault(edit.table, {}).setdefault(edit.row, {})
        for column, value in edit.cells.items():
            if value is None:
                cells.pop(column, None)
            else:
                cells[column] = value
    return edited


def _shown(tables: _Tables) -> str:
    """Return the tables in Markdown, each with the columns that any of its rows has."""
    return "\n\n".join(
        "\n".join(
            [
                f"## {_one_line(table)}",
                "",
                _line(["", *columns]),
                "|---" * (len(columns) + 1) + "|",
                *(_line([row, *(_text(cells.get(column)) for column in columns)]) for row, cells in rows.items()),
            ]
        )
        for table, rows in tables.items()
        for columns in [list(dict.fromkeys(column for cells in rows.values() for column in cells))]
    )


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(_one_line(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _text(cell: _Cell | None) -> str:
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else msgspec.json.encode(cell).decode()


def _one_line(text: str) -> str:
    return " ".join(text.split())
