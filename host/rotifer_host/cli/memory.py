"""`rotifer agent memory`: what a deployer may do with an agent's memory.

memory-api.en.md, "Viewing and clearing an agent's memory".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from rotifer_host import contract
from rotifer_host.cli.common import Group, Session
from rotifer_host.cli.output import print_document, print_note, print_text
from rotifer_host.cli.table import print_table
from rotifer_host.limits import format_size
from rotifer_host.text import quoted

if TYPE_CHECKING:
    from rotifer_host.memory.entry import Category

__all__ = ["memory"]

_CATEGORY: Final = click.Choice(contract.CATEGORIES)


@click.group(cls=Group, examples=["rotifer agent memory list my-agent"])
def memory() -> None:
    """List and delete what an agent remembers, whatever the entries' access policies say."""


@memory.command(
    "list",
    examples=["rotifer agent memory list my-agent", "rotifer agent memory list my-agent --category CACHE --json"],
)
@click.argument("agent")
@click.option("--category", type=_CATEGORY, help="Only entries of this category.")
@click.pass_obj
def list_(session: Session, agent: str, *, category: Category | None) -> None:
    """List the entries of AGENT without their values.

    Entries that have expired are removed first.
    """
    listing = session.project().agent(agent).memory().list(category)
    if session.json:
        print_document(
            {
                "agent": agent,
                "used": listing.used,
                "quota": listing.quota,
                "entries": [
                    {
                        "key": entry.key,
                        "category": entry.category,
                        "size": entry.size,
                        "createdBy": entry.created_by,
                        "updatedAt": entry.updated_at,
                    }
                    for entry in listing.entries
                ],
            }
        )
        return
    if listing.entries:
        print_table(
            ("key", "category", "size>", "updated", "created by"),
            [
                (quoted(entry.key), entry.category, format_size(entry.size), entry.updated_at, entry.created_by)
                for entry in listing.entries
            ],
            shorten=("created by",),
        )
    print_note(f"{_entries(len(listing.entries))}; {format_size(listing.used)} of {format_size(listing.quota)} used")


@memory.command(
    "delete",
    examples=[
        "rotifer agent memory delete my-agent --key greeting/last-name",
        "rotifer agent memory delete my-agent --category CACHE",
    ],
)
@click.argument("agent")
@click.option("--key", metavar="KEY", help="Delete the entry with this key.")
@click.option("--category", type=_CATEGORY, help="Delete every entry of this category.")
@click.pass_obj
def delete(session: Session, agent: str, *, key: str | None, category: Category | None) -> None:
    """Delete one entry of AGENT by its key, or all of a category.

    Give exactly one of --key and --category. Each deletion goes into the audit log
    as done by the deployer.
    """
    if (key is None) == (category is None):
        raise click.UsageError("give exactly one of --key and --category", click.get_current_context())
    deleted = session.project().agent(agent).memory().delete(key=key, category=category)
    if session.json:
        print_document({"deleted": deleted})
    else:
        print_text(f"deleted {_entries(deleted)}")


def _entries(count: int) -> str:
    return f"{count:,} entry" if count == 1 else f"{count:,} entries"
