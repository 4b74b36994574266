"""`rotifer agent`: make, list and run agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rotifer_host import contract
from rotifer_host.cli.common import Command, Group, Session, limit_options, size
from rotifer_host.cli.memory import memory
from rotifer_host.cli.output import print_document, print_error, print_note, print_text, working
from rotifer_host.cli.record_option import record_options, recorder, tell_recorded
from rotifer_host.cli.run_input import read_input
from rotifer_host.cli.run_report import show_run
from rotifer_host.cli.table import print_table
from rotifer_host.limits import Limits, format_size

if TYPE_CHECKING:
    import rotifer_host
    from rotifer_host.errors import AgentError

__all__ = ["agent"]


@click.group(cls=Group, examples=["rotifer agent list"])
def agent() -> None:
    """Make, list and run agents, and look after their memory."""


class _CreateCommand(Command):
    """`agent create`, whose --genes takes one or more arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _repeat_option("--genes", args))

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the order that works: a NAME after --genes would be taken for a gene."""
        del ctx
        return ["NAME", "--genes GENE...", "[OPTIONS]"]


def _repeat_option(option: str, args: Sequence[str]) -> list[str]:
    """Return `--genes a b --x` as `--genes a --genes b --x`: click's options take a fixed number of values."""
    spread: list[str] = []
    values = None  # how many the option in progress has got
    for index, arg in enumerate(args):
        if arg == "--":
            return [*spread, *args[index:]]
        if arg == option:
            values = 0
            continue
        if arg.startswith("-"):
            values = 1 if arg.startswith(f"{option}=") else None
        elif values is not None:
            values += 1
            spread.append(option)
        spread.append(arg)
    return spread


@agent.command(
    "create",
    cls=_CreateCommand,
    examples=[
        "rotifer agent create my-agent --genes hello",
        "rotifer agent create team --genes hello counter --composition Seq --memory-quota 50MB",
        "rotifer agent create careful --genes hello,counter --data-policy policy.json",
    ],
)
@click.argument("name")
@click.option(
    "--genes",
    "genes",
    multiple=True,
    required=True,
    metavar="GENE...",
    help="Its genes, in order: separated by spaces or commas, or the option repeated.",
)
@click.option(
    "--composition",
    type=click.Choice(contract.COMPOSITIONS),
    help="How the genes work together; Single for one gene and Seq, each on the output of the one before, for more.",
)
@click.option(
    "--memory-quota",
    type=size("--memory-quota", maximum=contract.MAX_QUOTA_BYTES),
    metavar="SIZE",
    help="What its memory may hold: a number with KB, MB or GB (10MB when left out).",
)
@click.option(
    "--data-policy",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON of what its entries may ask for: maxRetentionDays, autoDeleteOnTermination, anonymizationSupported.",
)
@click.pass_obj
def create(  # noqa: PLR0913 - click passes each option by name
    session: Session,
    name: str,
    *,
    genes: Sequence[str],
    composition: str | None,
    memory_quota: int | None,
    data_policy: Path | None,
) -> None:
    """Make the agent NAME of compiled or uncompiled genes of this project."""
    from rotifer_host.agent.record import read_data_policy  # noqa: PLC0415 - `rotifer --help` needs none of it

    names = [gene for part in genes for gene in part.replace(",", " ").split()]
    policy = None if data_policy is None else read_data_policy(session.directory / data_policy)
    made = session.project().create_agent(
        name, names, composition=composition, memory_quota=memory_quota, data_policy=policy
    )
    if session.json:
        print_document(_agent_document(made))
        return
    print_text(
        f"made the agent {made.name}\n"
        f"  id           {made.id}\n"
        f"  genes        {' '.join(made.genome)}\n"
        f"  composition  {made.composition}\n"
        f"  quota        {format_size(made.quota)}"
    )


@agent.command("list", examples=["rotifer agent list"])
@click.pass_obj
def list_(session: Session) -> int:
    """List the agents of the project; one whose record cannot be read is named, and the exit status is 1."""
    unreadable: list[AgentError] = []
    agents = session.project().agents(unreadable.append)
    status = contract.EXIT_FAILED if unreadable else contract.EXIT_OK
    if session.json:
        print_document({"agents": [_agent_document(each) for each in agents]})
    for error in unreadable:
        print_error(error.code, error.message, error.help)
    if session.json:
        return status
    if not agents:
        print_note("no agents yet: rotifer agent create NAME --genes GENE")
        return status
    print_table(
        ("agent", "composition", "genes", "quota>", "made", "id"),
        [
            (each.name, each.composition, " ".join(each.genome), format_size(each.quota), each.created_at, each.id)
            for each in agents
        ],
        shorten=("id",),
    )
    return status


@agent.command(
    "run",
    examples=[
        """rotifer agent run my-agent --input '{"name": "Ada"}'""",
        "rotifer agent run my-agent --input @request.json --json",
        "rotifer agent run my-agent --input @request.json --deadline-ms 500 --max-memory 64MB --durability run",
        "rotifer agent run my-agent --input @request.json --record run.rec",
    ],
)
@click.argument("name")
@limit_options
@record_options
@click.option(
    "--durability",
    type=click.Choice(contract.DURABILITIES),
    default=contract.DURABILITIES[0],
    show_default=True,
    help="call: each change is on disk when its call returns. run: all changes of the run are saved together, or none.",
)
@click.pass_obj
def run(  # noqa: PLR0913 - click passes each option by name
    session: Session,
    name: str,
    *,
    source: str,
    durability: Literal["call", "run"],
    fuel: int,
    deadline_ms: int,
    memory_bytes: int,
    recompile: bool,
    call_path: str | None,
    record: Path | None,
    without_module: bool,
) -> int:
    """Run the agent NAME on one input and show its output, and what the run cost."""
    limits = Limits(fuel=fuel, deadline_ms=deadline_ms, memory_bytes=memory_bytes)
    document = read_input(session, source)
    runner = session.project().agent(name)
    tape = recorder(session, record, without_module=without_module)
    with working(f"running {name}"):
        result = runner.run(
            document,
            limits=limits,
            durability=durability,
            recompile=recompile,
            call_path=call_path,
            record=tape,
        )
    tell_recorded(record)
    return show_run(session, result, limits)


def _agent_document(made: rotifer_host.Agent) -> dict[str, Any]:
    return {
        "agent": made.name,
        "agentId": made.id,
        "genes": list(made.genome),
        "composition": made.composition,
        "memoryQuota": made.quota,
        "createdAt": made.created_at,
    }


agent.add_command(memory)
