"""What each gene of a run cost, and what it said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rotifer_host.limits import Limits, format_size
from rotifer_host.report.cells import milliseconds, number, table
from rotifer_host.report.markup import Markup, element, joined
from rotifer_host.text import counted

if TYPE_CHECKING:
    from rotifer_host.report.trace import Part
    from rotifer_host.sandbox import GuestResult

__all__ = ["gene_table", "texts"]


def gene_table(parts: Sequence[Part], limits: Limits) -> Markup | None:
    """List the genes with what they used of their limits; None when none ran."""
    if not parts:
        return None
    rows: list[tuple[Markup, ...]] = []
    for part in parts:
        result: GuestResult | None = part.result
        if result is None:
            rows.append((element("td", part.name), element("td", "the host failed", class_="failed")))
            continue
        rows.append(
            (
                element("td", part.name, element("br"), element("code", part.gene_id or "no v2 id", class_="quiet")),
                element("td", result.status, class_=f"word {result.status}"),
                number(milliseconds(result.duration_ms)),
                number(f"{result.fuel:,} of {limits.fuel:,}" if result.fuel else "-"),
                number(f"{format_size(result.peak_memory_bytes)} of {format_size(limits.memory_bytes)}"),
                element("td", _calls(result)),
                element("td", "" if result.error is None else f"{result.error.code}: {result.error.message}"),
            )
        )
    return table(("gene", "status", "time>", "fuel>", "memory>", "host calls", "error"), rows)


def texts(parts: Sequence[Part]) -> Markup | None:
    """Show the logs and standard errors of the genes; None when they said nothing."""
    said = []
    for part in parts:
        result: GuestResult | None = part.result
        if result is None:
            continue
        for what, text, dropped in (
            ("log", result.log, result.log_dropped),
            ("standard error", result.stderr, result.stderr_dropped),
        ):
            if text or dropped:
                rest = f"; not kept: {counted(dropped, 'byte')} more" if dropped else ""
                summary = element("summary", f"{what} of {part.name}{rest}")
                said.append(element("details", summary, element("pre", text), open=""))
    return joined(*said) if said else None


def _calls(result: GuestResult) -> str:
    return ", ".join(
        f"{name} {stats.count:,}"
        + "".join(f" ({times:,} × {answer})" for answer, times in sorted(stats.errors.items(), reverse=True))
        for name, stats in result.host_calls.items()
    )
