"""`rotifer agent memory`: what a deployer may do with an agent's memory.

memory-api.en.md, "Viewing and clearing an agent's memory".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from rotifer_host import contract
from rotifer_host.cli.common import Group, Session, log_option
from rotifer_host.cli.memory_stats import show_stats
from rotifer_host.cli.output import print_document, print_note, print_text, working
from rotifer_host.cli.table import Cell, print_table
from rotifer_host.limits import format_size
from rotifer_host.text import counted, quoted

if TYPE_CHECKING:
    from rotifer_host.memory.entry import Category

__all__ = ["memory"]

_CATEGORY: Final = click.Choice(contract.CATEGORIES)
_REACH: Final = {True: "", False: Cell("lost", "yellow"), None: "?"}


@click.group(cls=Group, examples=["rotifer agent memory list my-agent"])
def memory() -> None:
    """List, delete and check what an agent remembers, whatever the entries' access policies say."""


@memory.command(
    "list",
    examples=["rotifer agent memory list my-agent", "rotifer agent memory list my-agent --category CACHE --json"],
)
@click.argument("agent")
@click.option("--category", type=_CATEGORY, help="Only entries of this category.")
@click.pass_obj
def list_(session: Session, agent: str, *, category: Category | None) -> None:
    """List the entries of AGENT without their values.

    Entries that have expired are removed first. Those that no gene of the agent can
    read, change or delete any more, after an upgrade or with other genes, are marked:
    `lost`, or `?` where it hangs on the v2 id of a gene that is not compiled.
    """
    deployer = session.project().agent(agent).memory()
    with working(f"listing what {agent} remembers"):
        listing = deployer.list(category)
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
                        "reachable": entry.reachable,
                    }
                    for entry in listing.entries
                ],
            }
        )
        return
    if listing.entries:
        marked = any(entry.reachable is not True for entry in listing.entries)
        print_table(
            ("key", "category", "size>", "updated", "created by", *(("reach",) if marked else ())),
            [
                (
                    quoted(entry.key),
                    entry.category,
                    format_size(entry.size),
                    entry.updated_at,
                    entry.created_by,
                    *((_REACH[entry.reachable],) if marked else ()),
                )
                for entry in listing.entries
            ],
            shorten=("created by",),
        )
    lost = sum(entry.reachable is False for entry in listing.entries)
    if lost:
        print_note(
            f"lost to every gene of {agent}: {counted(lost, 'entry', 'entries')}; "
            f"`rotifer agent memory delete {agent} --key KEY` clears one"
        )
    entries = counted(len(listing.entries), "entry", "entries")
    print_note(f"{entries}; {format_size(listing.used)} of {format_size(listing.quota)} used")


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
    deployer = session.project().agent(agent).memory()
    with working(f"deleting from the memory of {agent}"):
        deleted = deployer.delete(key=key, category=category)
    if session.json:
        print_document({"deleted": deleted})
    else:
        print_text(f"deleted {counted(deleted, 'entry', 'entries')}")


@memory.command(
    "check",
    examples=["rotifer agent memory check my-agent", "rotifer agent memory check my-agent --json"],
)
@click.argument("agent")
@log_option
@click.pass_obj
def check(session: Session, agent: str, *, older: tuple[Path, ...]) -> int:
    """Check that the memory of AGENT is sound and that the audit log proves it; changes nothing.

    All pages of the file must be sound, counters and indexes what the entries say, nothing
    expired may be served or counted, and every change must have its audit line. Exit status
    1 when anything is broken.
    """
    deployer = session.project().agent(agent).memory()
    with working(f"checking the memory of {agent}"):
        found = deployer.check(older=older)
    if session.json:
        print_document(
            {
                "agent": agent,
                "sound": not found.problems,
                "entries": found.entries,
                "used": found.used,
                "expired": found.expired,
                "changes": len(found.proof.changes),
                "neverSaved": len(found.proof.never) + len(found.proof.taken_back),
                "torn": found.torn,
                "problems": found.problems,
            }
        )
    else:
        for problem in found.problems:
            print_text(problem)
        if found.torn is not None:
            print_text(f"{found.torn} is torn: a crash, or a line being written")
        state = "broken" if found.problems else "sound"
        entries, made = counted(found.entries, "entry", "entries"), counted(len(found.proof.changes), "change")
        print_text(f"{agent} is {state}: {entries}, {made} on record")
    return contract.EXIT_FAILED if found.problems else contract.EXIT_OK


@memory.command(
    "stats",
    examples=["rotifer agent memory stats my-agent", "rotifer agent memory stats my-agent --json"],
)
@click.argument("agent")
@click.pass_obj
def stats(session: Session, agent: str) -> None:
    """Show what the memory of AGENT is made of, and which entries would be evicted next; changes nothing."""
    counted = session.project().agent(agent).memory().stats()
    if session.json:
        print_document({"agent": agent, **counted.to_json()})
    else:
        show_stats(counted)
