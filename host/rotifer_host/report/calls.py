"""The genes and calls of a run on a line of time, and in tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rotifer_host import contract
from rotifer_host.report.cells import milliseconds, number, table, value_cell
from rotifer_host.report.markup import Markup, element, joined
from rotifer_host.text import counted

if TYPE_CHECKING:
    from rotifer_host.report.trace import Call, Part, Trace
    from rotifer_host.sandbox import GuestResult

__all__ = ["call_tables", "denials", "timeline"]

_MOST_IN_A_TABLE: Final = 500


def timeline(trace: Trace, duration_ms: float) -> Markup | None:
    """Draw a lane for each gene's run, with its calls on it; None when no gene ran."""
    if not trace.parts:
        return None
    whole = max([duration_ms, *(part.ended_ms or 0.0 for part in trace.parts)]) or 1.0
    lanes: list[str] = []
    for part in trace.parts:
        ended = whole if part.ended_ms is None else part.ended_ms
        bars = [_bar(part.started_ms, ended - part.started_ms, whole, "gene", _label(part))]
        bars += [_bar(call.started_ms, call.took_ms, whole, _kind(call), _told(call)) for call in part.calls]
        lanes.append(element("div", part.name, class_="lane", title=part.name))
        lanes.append(element("div", *bars, class_="track"))
    ends = element("p", f"0 to {milliseconds(whole)}; genes light, calls dark, refused calls red", class_="quiet")
    return joined(element("div", *lanes, class_="timeline"), ends)


def denials(parts: Sequence[Part]) -> Markup | None:
    """List the accesses that were refused; None when there were none."""
    rows = [
        (
            number(milliseconds(call.started_ms)),
            element("td", part.name),
            element("td", call.name),
            element("td", element("code", call.asks)),
            element("td", call.message or ""),
        )
        for part in parts
        for call in part.calls
        if call.result == contract.ACCESS_DENIED
    ]
    if not rows:
        return None
    return joined(
        element(
            "p",
            f"{counted(len(rows), 'access', 'accesses')} denied, each with a line in the audit log.",
            class_="quiet",
        ),
        table(("at>", "gene", "call", "key", "rule"), rows),
    )


def call_tables(trace: Trace) -> Markup | None:
    """List every call of each gene that was kept; None when none was made."""
    children = []
    for part in trace.parts:
        unseen = _unseen(part) if trace.dropped == 0 else 0
        if not part.calls and not unseen:
            continue
        rows = [_row(count, call) for count, call in enumerate(part.calls[:_MOST_IN_A_TABLE], start=1)]
        children.append(
            element(
                "details",
                element("summary", f"{part.name}: {counted(len(part.calls), 'call')}"),
                table(("#>", "at>", "took>", "call", "key or filter", "result", "category", "value"), rows),
                *_left_out("Not listed", len(part.calls) - len(rows)),
                *_left_out("Refused before they got to memory, for their pointers, request or fuel", unseen),
                open="" if len(part.calls) <= _MOST_IN_A_TABLE else None,
            )
        )
    children += _left_out("Not kept, for there were too many", trace.dropped)
    return joined(*children) if children else None


def _row(count: int, call: Call) -> tuple[Markup, ...]:
    if call.result is None:
        result = element("td", "the run ended here", class_="failed")
    elif call.result < 0:
        result = element("td", f"{call.result} {call.code}: {call.message}", class_="failed")
    else:
        result = element("td", counted(call.result, "byte"))
    return (
        number(str(count)),
        number(milliseconds(call.started_ms)),
        number(milliseconds(call.took_ms)),
        element("td", call.name),
        element("td", element("code", call.asks)),
        result,
        element("td", call.category or ""),
        value_cell(call.value, call.size),
    )


def _unseen(part: Part) -> int:
    """Return how many of the gene's memory calls did not get as far as the rules."""
    if part.result is None:
        return 0
    result: GuestResult = part.result
    made = sum(stats.count for name, stats in result.host_calls.items() if name in contract.MEMORY_CALLS)
    return max(made - len(part.calls), 0)


def _left_out(what: str, count: int) -> list[Markup]:
    return [element("p", f"{what}: {counted(count, 'call')}.", class_="quiet")] if count > 0 else []


def _bar(start: float, length: float, whole: float, kind: str, title: str) -> Markup:
    style = f"left:{100 * start / whole:.3f}%;width:{100 * length / whole:.3f}%"
    return element("span", class_=kind, style=style, title=title)


def _kind(call: Call) -> str:
    return "call" if call.result is not None and call.result >= 0 else "call refused"


def _label(part: Part) -> str:
    ended = "?" if part.ended_ms is None else milliseconds(part.ended_ms - part.started_ms)
    return f"{part.name}, {ended}"


def _told(call: Call) -> str:
    came = "the run ended here" if call.result is None else call.code or counted(call.result, "byte")
    return f"{call.name} {call.asks}: {came}, {milliseconds(call.took_ms)}"
