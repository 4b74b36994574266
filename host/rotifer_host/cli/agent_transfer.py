"""`rotifer agent export` and `rotifer agent import`.

memory-api.en.md, "Moving an agent".
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import BinaryIO

import click

from rotifer_host import contract
from rotifer_host.cli.common import Command, Session, size
from rotifer_host.cli.output import OutputError, print_document, print_note, print_text, working
from rotifer_host.errors import TransferError, UsageError
from rotifer_host.limits import format_size
from rotifer_host.text import counted, quoted

__all__ = ["export", "import_"]


@click.command(
    cls=Command,
    examples=[
        "rotifer agent export my-agent my-agent.jsonl",
        "rotifer agent export my-agent my-agent.jsonl --with-cache --force",
        "rotifer agent export my-agent - | gzip > my-agent.jsonl.gz",
    ],
)
@click.argument("name")
@click.argument("file", type=click.Path(readable=False, path_type=Path, allow_dash=True))
@click.option("--with-cache", is_flag=True, help="Take CACHE entries along; they stay behind otherwise.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.pass_obj
def export(session: Session, name: str, file: Path, *, with_cache: bool, force: bool) -> None:
    """Write the agent NAME and what it remembers to FILE, or to standard output for -.

    The file holds every key and value, readable by its owner alone. Genes do not
    travel: the file names them.
    """
    agent = session.project().agent(name)
    target = _output(session) if str(file) == "-" else session.directory / file
    try:
        with working(f"exporting {name}"):
            exported = agent.export(target, with_cache=with_cache, force=force)
    except TransferError as error:
        if not isinstance(target, Path) and isinstance(error.__cause__, OSError):  # ends as all output does
            raise OutputError(error.__cause__.errno or errno.EIO) from error
        raise
    stayed = f"; {counted(exported.left_behind, 'entry', 'entries')} of CACHE stayed" if exported.left_behind else ""
    if session.json:
        print_document(
            {
                "agent": agent.name,
                "agentId": agent.id,
                "file": str(file),
                "entries": exported.entries,
                "bytes": exported.bytes,
                "leftBehind": exported.left_behind,
                "documentsLeftBehind": list(exported.documents),
            }
        )
    else:
        tell = print_text if isinstance(target, Path) else print_note
        tell(f"exported {name}: {counted(exported.entries, 'entry', 'entries')}, {format_size(exported.bytes)}{stayed}")
    if exported.documents:
        print_note(f"not in the file, for only entries travel: {', '.join(map(quoted, exported.documents))}")


@click.command(
    "import",
    cls=Command,
    examples=[
        "rotifer agent import ../my-agent.jsonl -C my-project",
        "rotifer agent export team - | rotifer agent import - -C my-project --name second-team --memory-quota 100MB",
    ],
)
@click.argument("file", type=click.Path(readable=False, path_type=Path, allow_dash=True))
@click.option("--name", metavar="NAME", help="Another name for the agent.")
@click.option(
    "--memory-quota",
    type=size("--memory-quota", maximum=contract.MAX_QUOTA_BYTES),
    metavar="SIZE",
    help="Another quota: a number with KB, MB or GB.",
)
@click.option("--data-policy", type=click.Path(path_type=Path), metavar="FILE", help="Another data policy.")
@click.pass_obj
def import_(
    session: Session, file: Path, *, name: str | None, memory_quota: int | None, data_policy: Path | None
) -> None:
    """Take in the agent in FILE, or in standard input for -, with what it remembers: whole, or not at all.

    It keeps its id; its entries keep their creators, policies, times and order. A
    damaged file, or anything that stands against it, changes nothing.
    """
    from rotifer_host.agent.record import read_data_policy  # noqa: PLC0415 - `rotifer --help` needs none of it

    policy = None if data_policy is None else read_data_policy(session.directory / data_policy)
    source = _input() if str(file) == "-" else session.directory / file
    with working(f"importing {file}"):
        agent, imported = session.project().import_agent(
            source, name=name, memory_quota=memory_quota, data_policy=policy
        )
    if session.json:
        print_document(
            {
                "agent": agent.name,
                "agentId": agent.id,
                "entries": imported.entries,
                "bytes": imported.bytes,
                "genes": list(agent.genome),
                "grants": agent.grants,
                "missingGenes": list(imported.missing_genes),
                "changedGenes": list(imported.changed_genes),
            }
        )
    else:
        entries = counted(imported.entries, "entry", "entries")
        print_text(
            f"imported {quoted(agent.name)}: {entries}, {format_size(imported.bytes)}\n"
            f"  id       {agent.id}\n"
            f"  genes    {' '.join(agent.genome)}"
            + (f"\n  granted  {' '.join(map(quoted, agent.grants))}" if agent.grants else "")
        )
    if imported.missing_genes:
        print_note(f"not in this project yet: {' '.join(imported.missing_genes)}")
    for gene in imported.changed_genes:
        print_note(f"{gene} has another v2 id here: entries that only its creator may use are out of its reach")


def _output(session: Session) -> BinaryIO:
    if session.json:
        raise UsageError("--json and - both want standard output; name a file")
    if sys.stdout is None:
        raise OutputError(errno.EBADF)
    if sys.stdout.isatty():
        raise UsageError("standard output is a terminal; redirect it, or name a file")
    return sys.stdout.buffer


def _input() -> BinaryIO:
    if sys.stdin is None:
        raise UsageError("there is no standard input")
    return sys.stdin.buffer
