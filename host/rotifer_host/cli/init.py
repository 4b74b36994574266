"""`rotifer init`."""

from __future__ import annotations

import shlex

import click

import rotifer_host
from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.output import print_document, print_note, print_text

__all__ = ["init"]


@click.command(cls=Command, examples=["rotifer init my-project"])
@click.argument("name")
@click.pass_obj
def init(session: Session, name: str) -> None:
    """Make a project in a new folder NAME, with a gene to start from.

    The name is lower-case letters, digits, dots, hyphens and underscores.
    """
    project = rotifer_host.Project.init(session.directory / name, name)
    if session.json:
        print_document({"project": name, "root": str(project.root)})
        return
    print_text(f"made the project {name} in {project.root}")
    print_note(
        "next:\n"
        f"  cd {shlex.quote(str(project.root))}\n"
        "  rotifer compile hello\n"
        "  rotifer agent create greeter --genes hello\n"
        """  rotifer agent run greeter --input '{"name": "Ada"}'"""
    )
