"""`rotifer init`."""

from __future__ import annotations

import shlex
from typing import Final

import click

import rotifer_host
from rotifer_host import contract
from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.list_genes import gene_states
from rotifer_host.cli.output import print_document, print_note, print_text, working

__all__ = ["init"]

_HELLO: Final = (
    "rotifer compile hello",
    "rotifer agent create greeter --genes hello",
    """rotifer agent run greeter --input '{"name": "Ada"}'""",
)
_FORMATTER: Final = (
    "rotifer test formatter",
    "rotifer agent create tidy --genes formatter",
    """rotifer agent run tidy --input '{"code": "if x:\\n\\tgo()", "indent": 4}'""",
    "see genes/formatter/README.md for what to do after a change",
)


@click.command(cls=Command, examples=["rotifer init my-project", "rotifer init my-rust-project --template rust"])
@click.argument("name")
@click.option(
    "--template",
    type=click.Choice(contract.TEMPLATES),
    help="Start from a gene in this language, with its tests and the library it uses; typescript runs on Node.js.",
)
@click.pass_obj
def init(session: Session, name: str, *, template: str | None) -> None:
    """Make a project in a new folder NAME, with a gene to start from.

    The name is lower-case letters, digits, dots, hyphens and underscores.
    """
    with working(f"making {name}"):
        project = rotifer_host.Project.init(session.directory / name, name, template=template)
        # a gene that Node.js runs is the one that needs what is not there on every machine
        lacking = [gene for gene in gene_states(project.genes()) if gene.state == "no node"]
    warnings = [f"{gene.name} cannot be run yet: {gene.problem}; {gene.help}" for gene in lacking]
    for warning in warnings:
        print_note(f"warning: {warning}")
    if session.json:
        print_document({"project": name, "root": str(project.root), "template": template, "warnings": warnings})
        return
    print_text(f"made the project {name} in {project.root}")
    steps = _HELLO if template is None else _FORMATTER
    print_note("\n".join(("next:", f"  cd {shlex.quote(str(project.root))}", *(f"  {step}" for step in steps))))
