"""The reference of the command line, made of its help: `python -m rotifer_host.cli.reference > docs/cli.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from rotifer_host.cli.app import rotifer

__all__ = ["commands", "reference"]

_HEAD = """# Command line

What `--help` says, in one place.
"""


def commands() -> Iterator[click.Context]:
    """Yield a context for every command, groups before what is in them."""
    yield from _walk(rotifer, None)


def reference() -> str:
    """Return the reference as Markdown."""
    sections = [_HEAD]
    for ctx in commands():
        level = "#" * min(ctx.command_path.count(" ") + 2, 4)
        sections.append(f"{level} {ctx.command_path}\n\n```text\n{ctx.get_help()}\n```\n")
    return "\n".join(sections)


def _walk(command: click.Command, parent: click.Context | None) -> Iterator[click.Context]:
    ctx = command.make_context(command.name, [], parent=parent, resilient_parsing=True, terminal_width=100)
    yield ctx
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            found = command.get_command(ctx, name)
            if found is not None:
                yield from _walk(found, ctx)


if __name__ == "__main__":
    sys.stdout.write(reference())
