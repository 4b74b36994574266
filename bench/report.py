"""The figures as people read them: tables for the terminal, and the same in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.contest import EXTISM, FLOOR, ORDINARY
from bench.measure import Spread, Timings
from bench.targets import Verdict
from rotifer_host.cli.output import print_text
from rotifer_host.cli.table import print_table

__all__ = ["Table", "case_table", "fact_table", "markdown", "show", "target_table"]

_UNITS: Final = ((1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


@dataclass(frozen=True)
class Table:
    """A titled table of text."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def case_table(timings: Timings, place: str) -> Table:
    """Return everybody's time for a case, slowest first, and how it stands to the peers."""
    spreads = {name: Spread.of(times) for name, times in timings.rounds.items()}
    rows = []
    for name in sorted(spreads, key=lambda name: -spreads[name].median):
        time = spreads[name]
        against = [_ratio(timings.ratio(rival, name), name == rival) for rival in (ORDINARY, EXTISM)]
        against.append(_ratio(timings.ratio(name, FLOOR), name == FLOOR))
        rows.append((name, _time(time.median), f"{_time(time.low)} … {_time(time.high)}", *against))
    head = ("", "median", "quartiles", f"times as fast as {ORDINARY}", f"as {EXTISM}", "times the floor")
    return Table(f"{timings.case.name}: {timings.case.title}, {place}", head, rows)


def target_table(verdicts: Sequence[tuple[str, Verdict]]) -> Table:
    """Return the targets with what was found; each comes with the place it was timed in."""
    rows = [
        (verdict.target.case, place, verdict.target.words, _ratio(verdict.ratio, same=False), verdict.words)
        for place, verdict in verdicts
    ]
    return Table("Targets", ("case", "place", "target", "found", "verdict"), rows)


def fact_table(facts: Mapping[str, str]) -> Table:
    """Return what the figures were taken on."""
    return Table("Machine", ("", ""), list(facts.items()))


def markdown(table: Table, level: int = 2) -> str:
    """Render a table with its title as a heading."""
    rows = [table.head, ["---"] * len(table.head), *table.rows]
    return "\n".join(["#" * level + " " + table.title, "", *(f"| {' | '.join(row)} |" for row in rows), ""])


def show(table: Table) -> None:
    """Print a table."""
    print_text(f"\n{table.title}\n")
    print_table(table.head, [[cell.replace("**", "") for cell in row] for row in table.rows])
    print_text("")


def _time(nanoseconds: float) -> str:
    for factor, unit in _UNITS:
        if abs(nanoseconds) >= factor:
            return f"{_number(nanoseconds / factor)} {unit}"
    return f"{nanoseconds:.2f} ns"


def _ratio(ratio: Spread | None, same: bool) -> str:  # noqa: FBT001
    if ratio is None:
        return "none"
    if same:
        return "1"
    spread = f"({_number(ratio.low)} … {_number(ratio.high)})"
    return f"no difference {spread}" if ratio.holds(1.0) else f"{_number(ratio.median)} {spread}"


def _number(value: float) -> str:
    """Three digits, never an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
