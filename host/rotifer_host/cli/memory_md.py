"""`rotifer memory-md`: memories in Markdown files, beside those of agents.

markdown-memory.zh.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from rotifer_host import contract
from rotifer_host.cli.common import Group, Session, whole_number
from rotifer_host.cli.output import print_document, print_note, print_text
from rotifer_host.cli.run_input import read_bytes
from rotifer_host.errors import UsageError
from rotifer_host.text import quoted, shortened

if TYPE_CHECKING:
    from rotifer_host.markdown_memory import Found

__all__ = ["memory_md"]

_LONGEST_SHOWN: Final = 200

_tags: Final = click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; repeat it for more.")


@click.group(
    "memory-md",
    cls=Group,
    examples=["rotifer memory-md search stand"],
)
def memory_md() -> None:
    """Write, update, read and search memories in the Markdown files below .agent/memory.

    Each memory is a block with the heading `### KEY`; files written by hand are read, too.
    """


@memory_md.command(
    "write",
    examples=[
        "rotifer memory-md write team/stand-up 'every day at ten'",
        "rotifer memory-md write style 'four spaces, no tabs' --summary --tag code",
    ],
)
@click.argument("key")
@click.argument("content")
@click.option("--summary", is_flag=True, help="Into MEMORY.md, not into the file of today (UTC).")
@_tags
@click.pass_obj
def write(session: Session, key: str, content: str, *, summary: bool, tags: tuple[str, ...]) -> None:
    """Make a new memory KEY of CONTENT: a text, @FILE for a file, or - for standard input.

    No file may have a block with this key yet.
    """
    memory = session.project().markdown_memory()
    written = memory.write(key, _text(session, content), target="summary" if summary else "daily", tags=tags)
    if session.json:
        print_document(written._asdict())
    else:
        print_text(f"wrote {quoted(written.key)} to {written.path}")


@memory_md.command(
    "update",
    examples=["rotifer memory-md update team/stand-up 'every day at nine'"],
)
@click.argument("key")
@click.argument("content")
@_tags
@click.option("--no-tags", is_flag=True, help="Take away the tags it has.")
@click.pass_obj
def update(session: Session, key: str, content: str, *, tags: tuple[str, ...], no_tags: bool) -> None:
    """Replace the memory KEY, the one that `read` shows, by CONTENT: a text, @FILE or - for standard input.

    Without --tag and --no-tags it keeps its tags.
    """
    if tags and no_tags:
        raise click.UsageError("give --tag or --no-tags, not both", click.get_current_context())
    memory = session.project().markdown_memory()
    updated = memory.update(key, _text(session, content), tags=tags if tags or no_tags else None)
    if session.json:
        print_document(updated._asdict())
    else:
        print_text(f"updated {quoted(updated.key)} in {updated.path}")


@memory_md.command("read", examples=["rotifer memory-md read team/stand-up"])
@click.argument("key")
@click.pass_obj
def read(session: Session, key: str) -> None:
    """Show the memory KEY: the newest block of MEMORY.md with this key, else the newest of all other files."""
    found = session.project().markdown_memory().read(key)
    if session.json:
        print_document(found.to_json())
        return
    print_text(found.content)
    print_note(_origin(found))


@memory_md.command(
    "search",
    examples=["rotifer memory-md search stand", "rotifer memory-md search '' --tag team --limit 100 --json"],
)
@click.argument("query")
@_tags
@click.option(
    "--limit",
    type=whole_number("--limit", maximum=contract.MAX_MARKDOWN_RESULTS),
    metavar="N",
    default=str(contract.DEFAULT_MARKDOWN_RESULTS),
    show_default=True,
    help=f"Show at most so many, up to {contract.MAX_MARKDOWN_RESULTS}.",
)
@click.pass_obj
def search(session: Session, query: str, *, tags: tuple[str, ...], limit: int) -> None:
    """Show the memories with QUERY in key or content, whatever the case, and with all tags given.

    Those of MEMORY.md come first, the newest first. An empty QUERY matches all.
    """
    results = session.project().markdown_memory().search(query, tags=tags, limit=limit)
    if session.json:
        print_document({"results": [found.to_json() for found in results]})
        return
    for found in results:
        print_text(f"{quoted(found.key)}  ({_origin(found)})")
        print_text(f"    {quoted(shortened(found.content, _LONGEST_SHOWN))}")
    if not results:
        print_note("nothing found")


def _origin(found: Found) -> str:
    tags = f", tags {', '.join(map(quoted, found.tags))}" if found.tags else ""
    return f"{found.kind}, {quoted(found.file)}, {found.updated_at or 'written by hand'}{tags}"


def _text(session: Session, source: str) -> str:
    try:
        return read_bytes(session, source, "the content").decode()
    except UnicodeDecodeError as error:
        message = f"the content is not UTF-8: byte {error.start}"
        raise UsageError(message) from error
