"""What a measurement shows: runs, calls, where their time goes, and the call paths side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rotifer_host.cli.output import print_note, print_text
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.limits import format_size
from rotifer_host.text import counted

if TYPE_CHECKING:
    from rotifer_host.bench import CallReport, PathReport, Report, Spread

__all__ = ["show_comparison", "show_report"]

_MEMORY: Final = {
    "copy": "a copy of the agent's memory",
    "empty": "an empty memory",
    "own": "the agent's own memory",
}
_WIDE: Final = 100
_KEYS: Final = 2
"""Columns that say which host call on which call path."""
_SAME: Final = "not different"
_SHORTCUT: Final = "a shortcut answers in C: one part, where a handler decodes, applies the rules, looks up and renders"


def show_report(report: Report) -> None:
    """Print a measurement on standard output."""
    print_text(
        f"{report.kind} {report.target}, on {_MEMORY[report.memory]}: {report.runs} timed runs on each call path "
        f"after {report.warmup} of warm-up, durability {report.durability}, input {format_size(report.input_bytes)}"
    )
    if report.outputs > 1:
        print_text(f"the output varied: {report.outputs} different ones, so these runs did not all do the same work")
    _show_machine(report)
    print_text("\nmicroseconds; in brackets the quartiles over runs\n")
    print_table(
        ("whole run", "time>", "", "fuel>", "memory>", "saving at the end>"),
        [
            (
                path.call_path,
                _micros(path.run.median),
                _scatter(path.run),
                f"{path.fuel:,}",
                format_size(path.peak_memory_bytes),
                _micros(sum(path.end.values())) if path.end else "-",
            )
            for path in report.paths
        ],
    )
    calls = [
        (label, path, path.calls[label]) for label in _labels(report) for path in report.paths if label in path.calls
    ]
    if not calls:
        print_text("\nno host calls of the request-and-response shape were made")
        return
    print_text("")
    _show_calls(calls)
    print_text("\nwhere the average call's time goes, in runs of their own; the rest is what the parts do not explain")
    if any(call.shortcuts for _, _, call in calls):
        print_text(_SHORTCUT)
    print_text("")
    _show_stages(calls)
    _show_single_calls(calls)
    _show_side_by_side(report)


def show_comparison(before: Report, now: Report, *, as_notes: bool) -> None:
    """Print how the figures differ from earlier ones; `as_notes` on standard error, beside a document."""
    from rotifer_host.bench.compare import compare, differing_conditions  # noqa: PLC0415 - loaded by now

    say = print_note if as_notes else print_text
    say(f"\nbeside the measurement of {before.started_at}, {before.runs} runs:")
    for condition in differing_conditions(before, now):
        say(f"  not the same: {condition}")
    pairs = list(compare(before, now))
    if not pairs:
        say("  no call path was measured both times")
    for pair in pairs:
        verdict = f"{pair.ratio:.2f} times as long" if pair.real else f"{_SAME}: less than the figures scatter"
        say(
            f"  {pair.what} on {pair.call_path}: {_micros(pair.before.median)} {_scatter(pair.before)} µs then, "
            f"{_micros(pair.now.median)} {_scatter(pair.now)} µs now, {verdict}"
        )


def _show_machine(report: Report) -> None:
    machine = report.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    print_text(
        f"{machine.processor}, {counted(machine.cpus, 'CPU')}, load {machine.load_before}; {machine.system}; "
        f"memory on {machine.file_system}\n{machine.python}, {versions}"
    )


def _show_calls(calls: list[tuple[str, PathReport, CallReport]]) -> None:
    print_table(
        (
            "host call",
            "path",
            "calls>",
            "again>",
            "shortcut>",
            "errors",
            "in>",
            "out>",
            "fuel>",
            "time>",
            "",
        ),
        [
            (
                label,
                path.call_path,
                f"{call.count:,}",
                f"{call.again:,}",
                f"{call.shortcuts:,}",
                ", ".join(f"{result} ({times:,})" for result, times in call.errors.items()) or "-",
                format_size(round(call.bytes_in)),
                format_size(round(call.bytes_out)),
                f"{call.fuel:,.0f}",
                _micros(call.micros.median),
                _scatter(call.micros),
            )
            for label, path, call in calls
        ],
        keys=_KEYS,
    )


def _show_stages(calls: list[tuple[str, PathReport, CallReport]]) -> None:
    stages = [stage for stage in calls[0][2].stages if any(call.stages[stage].mean for _, _, call in calls)]
    print_table(
        ("host call", "path", *(f"{stage}>" for stage in stages), "sum>", "rest>", "time>"),
        [
            (
                label,
                path.call_path,
                *(_micros(call.stages[stage].mean) if call.stages[stage].mean else "-" for stage in stages),
                _micros(call.micros.median - call.rest),
                Cell(_micros(call.rest), "dim"),
                _micros(call.micros.median),
            )
            for label, path, call in calls
        ],
        keys=_KEYS,
    )


def _show_single_calls(calls: list[tuple[str, PathReport, CallReport]]) -> None:
    rows = [
        (label, path.call_path, _micros(call.micros.median - call.rest), *map(_micros, (each.p50, each.p90, each.p99)))
        for label, path, call in calls
        if (each := call.percentiles) is not None
    ]
    if rows:
        print_text("\nsingle calls, of the runs that the parts are of: compare them with the sum, not with the time\n")
        print_table(("host call", "path", "sum>", "p50>", "p90>", "p99>"), rows, keys=_KEYS)


def _show_side_by_side(report: Report) -> None:
    if len(report.paths) < 2:  # noqa: PLR2004 - one is beside nothing
        return
    first, *others = report.paths
    rows = []
    for label in ("run", *_labels(report)):
        base = _figure(first, label)
        for path in others:
            other = _figure(path, label)
            if base is not None and other is not None:
                ratio = f"{other.median / base.median:.2f} times as long" if base.differs(other) else _SAME
                rows.append((label, path.call_path, ratio))
    print_text("")
    print_table(("what", "path", f"beside {first.call_path}"), rows)


def _figure(path: PathReport, label: str) -> Spread | None:
    if label == "run":
        return path.run
    return path.calls[label].micros if label in path.calls else None


def _labels(report: Report) -> list[str]:
    return list(dict.fromkeys(label for path in report.paths for label in path.calls))


def _micros(value: float) -> str:
    return f"{value:,.1f}" if abs(value) >= _WIDE else f"{value:,.2f}"


def _scatter(spread: Spread) -> str:
    return f"({_micros(spread.low)}…{_micros(spread.high)})"
