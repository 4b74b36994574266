"""What `rotifer agent memory stats` shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from rotifer_host.cli.output import print_note, print_text
from rotifer_host.cli.table import print_table
from rotifer_host.limits import format_size
from rotifer_host.text import counted, quoted

if TYPE_CHECKING:
    from rotifer_host.agent.stats import MemoryStats, Share

__all__ = ["show_stats"]

_MOST_CREATORS: Final = 10


def show_stats(stats: MemoryStats) -> None:
    """Show an agent's memory in numbers."""
    print_text(
        f"{format_size(stats.used)} of {format_size(stats.quota)} and {stats.entries:,} of {stats.entry_limit:,} "
        f"entries used; {format_size(stats.evictable.bytes)} could be evicted"
    )
    _show_shares("category", stats.categories)
    if stats.creators:
        print_text("")
        print_table(
            ("created by", "domain", "now", "entries>", "bytes>"),
            [
                (each.gene_id, each.domain, " ".join(each.genes) or "-", f"{each.entries:,}", format_size(each.bytes))
                for each in stats.creators[:_MOST_CREATORS]
            ],
            shorten=("created by",),
        )
        if len(stats.creators) > _MOST_CREATORS:
            print_note(f"and {len(stats.creators) - _MOST_CREATORS:,} more creators, which --json lists")
    _show_shares("last changed within", {name: share for name, share in stats.ages.items() if share.entries})
    _show_shares("expires within", {name: share for name, share in stats.expiries.items() if share.entries})
    if stats.next_evicted:
        print_text("")
        print_table(
            ("evicted next", "category", "bytes>", "updated"),
            [
                (quoted(each.key), each.category, format_size(each.bytes), each.updated_at)
                for each in stats.next_evicted
            ],
        )
    if stats.next_expiry is not None:
        print_note(f"the next entry expires at {stats.next_expiry}")
    if stats.unreachable.entries:
        print_note(
            f"out of the reach of every gene of the agent: {counted(stats.unreachable.entries, 'entry', 'entries')}, "
            f"{format_size(stats.unreachable.bytes)}; `rotifer agent memory list` marks what is lost"
        )


def _show_shares(head: str, shares: Mapping[str, Share]) -> None:
    if shares:
        print_text("")
        print_table(
            (head, "entries>", "bytes>"),
            [(name, f"{share.entries:,}", format_size(share.bytes)) for name, share in shares.items()],
        )
