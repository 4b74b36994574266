"""What the agent's turn memory did before and after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_host.limits import format_size
from rotifer_host.report.cells import table
from rotifer_host.report.markup import Markup, element

if TYPE_CHECKING:
    from rotifer_host.turn_memory.report import TurnReport

__all__ = ["turn_table"]


def turn_table(turn: TurnReport | None) -> Markup | None:
    """List what was recalled and what became of each source; None where there is nothing of either."""
    if turn is None or not (turn.recalled or turn.events):
        return None
    rows = [
        (element("td", "recalled"), element("td", variable), element("td", format_size(size)))
        for variable, size in turn.recalled.items()
    ]
    rows += [
        (
            element("td", event.event, class_="word failed" if event.failed else "word"),
            element("td", event.source),
            element("td", event.message),
        )
        for event in turn.events
    ]
    return table((f"runtime {turn.runtime}", "of", "what"), rows)
