"""`rotifer mcp`: an agent for language models."""

from __future__ import annotations

import signal
from functools import partial

import click

from rotifer_host.cli.common import Command, Session, call_path_option, run_limits
from rotifer_host.cli.output import print_note
from rotifer_host.errors import UsageError
from rotifer_host.extras import how_to_install
from rotifer_host.limits import Limits

__all__ = ["mcp"]


@click.command(
    cls=Command,
    document=False,  # standard output is for the protocol
    examples=["rotifer mcp --agent my-agent --gene hello </dev/null", "rotifer mcp --agent my-agent </dev/null"],
)
@click.option("--agent", "name", required=True, metavar="NAME", help="The one agent it serves.")
@click.option(
    "--gene",
    metavar="GENE",
    help="Act as this gene on the agent's memory, under its v2 id and domain; without it, that memory is not offered.",
)
@run_limits
@call_path_option
@click.pass_obj
def mcp(  # noqa: PLR0913 - click passes each option by name
    session: Session,
    name: str,
    *,
    gene: str | None,
    fuel: int,
    deadline_ms: int,
    memory_bytes: int,
    call_path: str | None,
) -> None:
    """Serve an agent over the Model Context Protocol, on standard input and output, until its client leaves.

    The client starts this command by itself: docs/mcp.md says how to tell it. Its tools
    run the agent, and use the memories that the agent has and is granted. Notes and
    errors go to standard error.
    """
    if session.json:
        raise UsageError("mcp has no --json: standard output is for the protocol")
    try:
        from rotifer_host.mcp.server import serve  # noqa: PLC0415 - takes a second to load
    except ImportError as error:  # not there, or too old
        message = f"mcp needs the SDK of the Model Context Protocol: {error}"
        raise UsageError(message, help=how_to_install("mcp")) from error
    from rotifer_host.mcp.tools import agent_tools  # noqa: PLC0415 - loads the engine

    project = session.project()
    limits = Limits(fuel=fuel, deadline_ms=deadline_ms, memory_bytes=memory_bytes)
    tools = partial(agent_tools, project, name, gene, limits=limits, call_path=call_path)
    if gene is not None:
        project.gene(gene).current_id()  # one without cannot use memory
    offered = ", ".join(tool.name for tool in tools())
    print_note(f"serving {name}{'' if gene is None else f' as {gene}'}: {offered}")
    handler = signal.getsignal(signal.SIGTERM)
    ended_by = serve(
        tools, instructions=f"The agent {name}, its genes, and what it remembers.", deadline_ms=deadline_ms
    )
    if ended_by is not None:
        signal.signal(signal.SIGTERM, handler)  # the event loop has left the system's
        signal.raise_signal(ended_by)
