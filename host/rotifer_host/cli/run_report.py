"""What a run shows: its output, what it cost, what its genes said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rotifer_host import contract
from rotifer_host.cli.common import Session
from rotifer_host.cli.output import (
    finish_output,
    pretty,
    print_document,
    print_error,
    print_note,
    print_styled,
    print_text,
)
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.limits import Limits, format_size
from rotifer_host.text import counted, indented, printable

if TYPE_CHECKING:
    from rotifer_host import GeneReport, RunResult
    from rotifer_host.turn_memory.report import TurnReport

__all__ = ["show_run"]

_STATUS_STYLES: Final = {"ok": "green", "rejected": "yellow", "failed": "red", "limit": "red"}
_OVER: Final = "bold red"
_HELP: Final = {
    "FUEL_EXHAUSTED": "--fuel N gives each gene more",
    "DEADLINE_EXCEEDED": "--deadline-ms N gives the run more time",
    "MEMORY_EXCEEDED": "--max-memory SIZE gives each gene more",
}


def show_run(session: Session, result: RunResult, limits: Limits) -> int:
    """Show a run's result as a document or as a report, its error on standard error; return the exit status."""
    if session.json:
        print_document(result.to_json())
    else:
        if result.status == "ok":
            print_text(pretty(result.output) + "\n")
        _show_costs(result, limits)
        for gene in result.genes:
            _show_text(f"log of {gene.name}", gene.log, gene.log_dropped)
            _show_text(f"standard error of {gene.name}", gene.stderr, gene.stderr_dropped)
    finish_output()
    for warning in result.warnings:
        print_note(f"warning: {printable(warning)}")
    for gene in result.genes:
        if gene.error is not None and gene.error != result.error:
            print_note(f"{gene.name} ended {gene.status}: {gene.error.code}: {printable(gene.error.message)}")
    if result.error is not None:
        error = result.error
        print_error(error.code, error.message, _help(result, error.code, limits), error.backtrace)
    return result.exit_status


def _help(result: RunResult, code: str, limits: Limits) -> str | None:
    if result.agent is None and any(gene.denied for gene in result.genes):
        return "this gene uses memory, which only an agent has: rotifer agent create NAME --genes GENE"
    return _HELP.get(code) or _help_after_refusals(result, limits)


def _help_after_refusals(result: RunResult, limits: Limits) -> str | None:
    """Say which budget was used up for a gene that was answered -4: what it makes of that is its own."""
    ended = [gene.host_calls for gene in result.genes if gene.error == result.error]
    refused = [name for calls in ended for name, call in calls.items() if contract.BUDGET_EXHAUSTED in call.errors]
    if not refused:
        return None
    spent_ms = sum(call.micros for gene in result.genes for call in gene.host_calls.values()) / 1000
    if spent_ms >= limits.host_time_ms:
        return f"{refused[0]} was answered -4: host calls have used up the run's host time, {limits.host_time_ms:,} ms"
    advice = _HELP["FUEL_EXHAUSTED"]
    return f"{refused[0]} was answered -4: what is left of the fuel, {limits.fuel:,}, does not pay for it; {advice}"


def _show_costs(result: RunResult, limits: Limits) -> None:
    if not result.genes:
        return
    print_table(
        ("gene", "status", "fuel>", "memory>", "time>"),
        [_gene_row(gene, limits) for gene in result.genes],
    )
    calls = [
        (
            gene.name,
            name,
            f"{call.count:,}",
            ", ".join(f"{answer} ({times:,})" for answer, times in sorted(call.errors.items(), reverse=True)) or "-",
            format_size(call.bytes_in),
            format_size(call.bytes_out),
            _duration(call.micros / 1000),
        )
        for gene in result.genes
        for name, call in gene.host_calls.items()
    ]
    if calls:
        print_text("")
        print_table(("gene", f"host call ({result.call_path})", "count>", "errors", "in>", "out>", "time>"), calls)
    events = [
        (gene.name, f"{gene.denied:,}", f"{gene.evicted:,}", f"{gene.expired:,}")
        for gene in result.genes
        if gene.denied or gene.evicted or gene.expired
    ]
    if events:
        print_text("")
        print_table(("gene", "denied>", "evicted>", "expired>"), events)
    if result.turn is not None:
        _show_turn(result.turn)


def _show_turn(turn: TurnReport) -> None:
    rows = [("recalled", variable, format_size(size)) for variable, size in turn.recalled.items()]
    rows += [(event.event, event.source, event.message) for event in turn.events]
    if rows:
        print_text("")
        print_table((f"turn memory ({turn.runtime})", "of", "what"), rows)


def _gene_row(gene: GeneReport, limits: Limits) -> tuple[str | Cell, ...]:
    code = None if gene.error is None else gene.error.code

    def used(text: str, limit_code: str) -> Cell:
        return Cell(text, _OVER if gene.status == "limit" and code == limit_code else "")

    return (
        gene.name,
        Cell(gene.status, _STATUS_STYLES[gene.status]),
        used(f"{gene.fuel:,} of {limits.fuel:,}" if gene.fuel else "-", "FUEL_EXHAUSTED"),
        used(f"{format_size(gene.peak_memory_bytes)} of {format_size(limits.memory_bytes)}", "MEMORY_EXCEEDED"),
        used(_duration(gene.duration_ms), "DEADLINE_EXCEEDED"),
    )


def _show_text(title: str, text: str, dropped: int) -> None:
    if text:
        rest = f"\n  … and {counted(dropped, 'byte')} more, not kept" if dropped else ""
        print_styled(f"\n{title}:\n{indented(text, '  | ')}{rest}")


def _duration(ms: float) -> str:
    return f"{ms / 1000:,.2f} s" if ms >= 1000 else f"{ms:.2f} ms"  # noqa: PLR2004 - milliseconds of a second
