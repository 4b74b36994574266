"""`rotifer agent explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.output import print_document, print_note, print_text
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.limits import format_size
from rotifer_host.text import quoted

if TYPE_CHECKING:
    from rotifer_host.agent.explain import Explanation, Verdict

__all__ = ["explain"]


@click.command(
    cls=Command,
    examples=[
        "rotifer agent explain my-agent --gene hello --key greeting/last-name",
        "rotifer agent explain my-agent --gene counter --key greeting/last-name --json",
    ],
)
@click.argument("agent")
@click.option("--gene", required=True, metavar="GENE", help="The gene that asks, in the agent's genome or not yet.")
@click.option("--key", required=True, metavar="KEY", help="The key it asks for, whether there is an entry or not.")
@click.pass_obj
def explain(session: Session, agent: str, *, gene: str, key: str) -> None:
    """Say whether GENE may read, write and delete the entry of KEY in the memory of AGENT, and by which rule.

    Asks the rules and does nothing: the audit log gets no line. The exit status says
    nothing of the answer.
    """
    explained = session.project().agent(agent).explain(gene, key)
    if session.json:
        print_document(explained.to_json())
    else:
        _show(explained)


def _show(explained: Explanation) -> None:
    entry = explained.entry
    print_text(f"gene {explained.gene}  {explained.gene_id or 'no v2 id'}  domain {explained.domain or 'unknown'}")
    if not explained.in_genome:
        print_note(f"{explained.gene} is not in the genome of {explained.agent}")
    if entry is None:
        print_text(f"key {quoted(explained.key)}: no entry; a write would create it")
    else:
        access = entry.access_policy
        print_text(
            f"key {quoted(explained.key)}: {entry.category}, {format_size(entry.size)}, changed {entry.updated_at}, "
            + ("never expires" if entry.expires_at is None else f"expires {entry.expires_at}")
            + f"\n  created by {entry.created_by} in the domain {entry.created_in}"
            f"\n  read {access.readScope}, write {access.writeScope}, share {access.sharePolicy}"
        )
    print_text("")
    print_table(
        ("may it", "answer", "why"),
        [
            _row("read", explained.read),
            _row("create" if entry is None else "overwrite", explained.write),
            _row("delete", explained.delete),
            _row("set an access policy", explained.change_access_policy),
            _row("set a retention policy", explained.change_retention_policy),
        ],
    )
    room = explained.room
    if room.largest_value is None:
        fits = "no value fits"
    elif room.largest_without_eviction is None:
        fits = f"a value of up to {format_size(room.largest_value)} fits, in place of others that are evicted"
    elif room.largest_without_eviction == room.largest_value:
        fits = f"a value of up to {format_size(room.largest_value)} fits"
    else:
        fits = (
            f"a value of up to {format_size(room.largest_without_eviction)} fits, "
            f"one of up to {format_size(room.largest_value)} in place of others that are evicted"
        )
    print_text(
        f"\nquota: {format_size(room.used)} of {format_size(room.quota)} and {room.entries:,} of {room.entry_limit:,} "
        f"entries used; {fits}\nkept: {explained.kept}"
    )


def _row(what: str, verdict: Verdict) -> tuple[str | Cell, ...]:
    answer = Cell("yes", "green") if verdict.allowed else Cell("no", "red")
    return what, answer, verdict.rule if verdict.code is None else f"{verdict.code}: {verdict.rule}"
