"""What became of an agent's memory in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rotifer_host.limits import format_size
from rotifer_host.report.cells import table, value_cell
from rotifer_host.report.markup import Markup, element, joined
from rotifer_host.report.picture import Change, Picture, changes, value_of
from rotifer_host.text import counted

if TYPE_CHECKING:
    from rotifer_host.memory.entry import Record
    from rotifer_host.report.trace import Part

__all__ = ["memory_section"]

_MOST_CHANGES: Final = 500


def memory_section(pictures: Sequence[Picture], parts: Sequence[Part]) -> Markup | None:
    """Show what is different after the run; None for a run without memory."""
    if not pictures:
        return None
    before, after = pictures[0], pictures[-1]
    found = changes(before, after)
    deleted = {
        call.asks
        for part in parts
        for call in part.calls
        if call.name == "deleteMemory" and call.result is not None and call.result >= 0
    }
    children = [
        element(
            "p",
            f"{_held(before)} before, {_held(after)} after. Changed: {counted(len(found), 'entry', 'entries')}, "
            "including what other runs changed meanwhile.",
            class_="quiet",
        )
    ]
    if found:
        rows = [_row(change, deleted) for change in found[:_MOST_CHANGES]]
        children.append(table(("", "key", "category", "before", "after", "created by"), rows))
    if len(found) > _MOST_CHANGES:
        children.append(element("p", f"{len(found) - _MOST_CHANGES:,} more are not listed.", class_="quiet"))
    return joined(*children)


def _held(picture: Picture) -> str:
    return f"{counted(len(picture.records), 'entry', 'entries')} of {format_size(picture.used)}"


def _row(change: Change, deleted: set[str]) -> tuple[Markup, ...]:
    record = change.record
    how: str = change.kind
    if change.kind == "removed":
        how = "deleted" if record.key in deleted else "evicted or gone"
    category = record.category
    if change.before is not None and change.before.category != category:
        category_text = f"{change.before.category} → {category}"
    else:
        category_text = category
    return (
        element("td", how, class_=f"word {change.kind}"),
        element("td", element("code", record.key)),
        element("td", category_text),
        _value(change.before),
        _value(change.after),
        element("td", element("code", record.created_by)),
    )


def _value(record: Record | None) -> Markup:
    return value_cell(None, None) if record is None else value_cell(value_of(record), record.size)
