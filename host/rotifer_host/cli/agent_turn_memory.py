"""`rotifer agent turn-memory`: what an agent is told before a run and keeps after one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rotifer_host.cli.common import Command, Session
from rotifer_host.cli.output import print_document, print_styled, print_text
from rotifer_host.cli.table import print_table
from rotifer_host.errors import UsageError
from rotifer_host.files import read_json
from rotifer_host.limits import format_size
from rotifer_host.text import indented, quoted

if TYPE_CHECKING:
    import rotifer_host

__all__ = ["read_turn_memory_file", "turn_memory"]


@click.command(
    "turn-memory",
    cls=Command,
    examples=[
        "rotifer agent turn-memory my-agent",
        "rotifer agent turn-memory my-agent --set turn-memory.json",
        "rotifer agent turn-memory my-agent --forget diary",
        "rotifer agent turn-memory my-agent --none",
    ],
)
@click.argument("name")
@click.option(
    "--set",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON of the sources it is to have: memoryRuntime, memorySources, diary.",
)
@click.option("--none", "nothing", is_flag=True, help="Let it have none. What was kept stays.")
@click.option("--forget", metavar="SOURCE", help="Remove what is kept here for the source with this id.")
@click.pass_obj
def turn_memory(session: Session, name: str, *, file: Path | None, nothing: bool, forget: str | None) -> None:
    """Show the turn memory of the agent NAME and what its next run will be told, give it another, or let one go."""
    if (file is not None) + nothing + (forget is not None) > 1:
        message = "--set, --none and --forget are not given together"
        raise UsageError(message)
    agent = session.project().agent(name)
    if file is not None or nothing:
        agent = agent.set_turn_memory(None if file is None else read_turn_memory_file(session, file))
    if forget is not None:
        agent.forget_turn_memory(forget)
    texts = {} if agent.turn_memory is None else agent.turn_memory_texts()
    if session.json:
        document = {"agent": agent.name, "agentId": agent.id, "turnMemory": agent.turn_memory, "texts": texts}
        print_document(document)
        return
    if agent.turn_memory is None:
        print_text(f"{agent.name} has no turn memory")
        return
    _show(agent, agent.turn_memory, texts)


def read_turn_memory_file(session: Session, file: Path) -> dict[str, Any]:
    """Return what a file says of turn memory, for the project to check. Raises `UsageError`."""
    path = session.directory / file
    document = read_json(path, UsageError)
    if not isinstance(document, dict):
        message = f"{path} must hold turn memory: a JSON object with memoryRuntime and memorySources"
        raise UsageError(message)
    return document


def _show(agent: rotifer_host.Agent, memory: dict[str, Any], texts: dict[str, str]) -> None:
    print_text(f"{agent.name} has turn memory of the runtime {memory['memoryRuntime']}\n")
    print_table(
        ("source", "variable", "agent ref", "priority>", "text>"),
        [
            (
                quoted(source["id"]),
                source["variable"],
                quoted(source["agentRef"]),
                str(source["priority"]),
                format_size(len(texts[source["variable"]].encode())) if source["variable"] in texts else "elsewhere",
            )
            for source in memory["memorySources"]
        ],
    )
    for variable, text in texts.items():
        if text:
            print_styled(f"\n{variable}:\n{indented(text, '  | ')}")
