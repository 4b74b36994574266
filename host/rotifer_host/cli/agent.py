"""`rotifer agent`: make, list and run agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rotifer_host import contract
from rotifer_host.cli.agent_grant import read_grant_options
from rotifer_host.cli.agent_turn_memory import read_turn_memory_file
from rotifer_host.cli.common import Group, Session, limit_options, size
from rotifer_host.cli.composition_options import read_composition_options
from rotifer_host.cli.genes_option import GenesCommand, gene_names
from rotifer_host.cli.output import print_document, print_error, print_note, print_text, working
from rotifer_host.cli.record_option import record_options, recorder, tell_recorded
from rotifer_host.cli.report_option import report_of, report_option, tell_reported
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


@agent.command(
    "create",
    cls=GenesCommand,
    examples=[
        "rotifer agent create my-agent --genes hello",
        "rotifer agent create team --genes hello counter --composition Par --merge concat --memory-quota 50MB",
        "rotifer agent create nested --composition @composition.json --exclusive",
        "rotifer agent create careful --genes hello,counter --data-policy policy.json --grant json,markdown",
        "rotifer agent create friend --genes hello --turn-memory turn-memory.json",
    ],
)
@click.argument("name")
@click.option(
    "--genes",
    "genes",
    multiple=True,
    metavar="GENE...",
    help="Its genes, in order: separated by spaces or commas, or the option repeated. Not needed with --composition "
    "@FILE.",
)
@click.option(
    "--composition",
    metavar="KIND|@FILE",
    help=f"How the genes work together: {', '.join(contract.COMPOSITIONS)}, or a JSON file for any nesting of these. "
    "When left out Single for one gene, and Seq, each on the output of the one before, for more.",
)
@click.option(
    "--merge",
    "--par-merge",
    "merge",
    type=click.Choice(contract.MERGES),
    help="What --composition Par gives: the output of the first branch that ends ok (when left out), an array of all, "
    "or one object of all.",
)
@click.option(
    "--predicate",
    metavar="JSON|@FILE",
    help="When --composition Cond takes its first gene, and not the second: "
    """'{"field": "type", "op": "Eq", "value": "primary"}' when left out.""",
)
@click.option(
    "--exclusive",
    is_flag=True,
    help="Its runs take turns, those of other processes too: for genes that read, add and write.",
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
@click.option(
    "--grant",
    "granted",
    multiple=True,
    metavar="MODULE[=JSON|@FILE]",
    help="Host modules its genes may use, such as json: separated by commas, or the option repeated; with settings, "
    "one at a time.",
)
@click.option(
    "--turn-memory",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON of what it is told before a run and keeps after one: memoryRuntime, memorySources, diary.",
)
@click.pass_obj
def create(  # noqa: PLR0913 - click passes each option by name
    session: Session,
    name: str,
    *,
    genes: Sequence[str],
    composition: str | None,
    merge: str | None,
    predicate: str | None,
    exclusive: bool,
    memory_quota: int | None,
    data_policy: Path | None,
    granted: Sequence[str],
    turn_memory: Path | None,
) -> None:
    """Make the agent NAME of compiled or uncompiled genes of this project."""
    from rotifer_host.agent.record import read_data_policy  # noqa: PLC0415 - `rotifer --help` needs none of it

    names = gene_names(genes)
    if not names and not (composition or "").startswith("@"):
        raise click.MissingParameter(ctx=click.get_current_context(), param_type="option", param_hint="'--genes'")
    composed = read_composition_options(session, composition, merge=merge, predicate=predicate)
    policy = None if data_policy is None else read_data_policy(session.directory / data_policy)
    grants = read_grant_options(session, granted)
    made = session.project().create_agent(
        name,
        names,
        composition=composed,
        exclusive=exclusive,
        memory_quota=memory_quota,
        data_policy=policy,
        grants=grants,
        turn_memory=None if turn_memory is None else read_turn_memory_file(session, turn_memory),
    )
    if session.json:
        print_document(_agent_document(made))
        return
    print_text(
        f"made the agent {made.name}\n"
        f"  id           {made.id}\n"
        f"  genes        {' '.join(made.genome)}\n"
        f"  composition  {_composition(made)}\n"
        f"  quota        {format_size(made.quota)}"
        + (f"\n  granted      {' '.join(made.grants)}" if made.grants else "")
        + (f"\n  turn memory  {made.turn_memory['memoryRuntime']}" if made.turn_memory else "")
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
    some_granted = any(each.grants for each in agents)
    print_table(
        ("agent", "composition", "genes", *(["granted"] if some_granted else []), "quota>", "made", "id"),
        [
            (
                each.name,
                _composition(each),
                " ".join(each.genome),
                *([" ".join(each.grants)] if some_granted else []),
                format_size(each.quota),
                each.created_at,
                each.id,
            )
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
        "rotifer agent run my-agent --input @request.json --record run.rec --report run.html",
    ],
)
@click.argument("name")
@limit_options
@record_options
@report_option
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
    report: Path | None,
) -> int:
    """Run the agent NAME on one input and show its output, and what the run cost."""
    limits = Limits(fuel=fuel, deadline_ms=deadline_ms, memory_bytes=memory_bytes)
    document = read_input(session, source)
    runner = session.project().agent(name)
    tape = recorder(session, record, without_module=without_module)
    page = report_of(session, report)
    with working(f"running {name}"):
        result = runner.run(
            document,
            limits=limits,
            durability=durability,
            recompile=recompile,
            call_path=call_path,
            record=tape,
            report=page,
        )
    tell_recorded(record if result.genes else None)  # nothing ran of one that missed its turn
    tell_reported(report)
    return show_run(session, result, limits)


def _composition(agent: rotifer_host.Agent) -> str:
    return f"{agent.composition_text}{', exclusive' if agent.exclusive else ''}"


def _agent_document(made: rotifer_host.Agent) -> dict[str, Any]:
    return {
        "agent": made.name,
        "agentId": made.id,
        "genes": list(made.genome),
        "composition": made.composition,
        "compositionTree": made.composition_tree,
        "exclusive": made.exclusive,
        "memoryQuota": made.quota,
        "grants": made.grants,
        "turnMemory": made.turn_memory,
        "createdAt": made.created_at,
    }


agent.load_later(
    {
        "set-genes": "agent_genes:set_genes",
        "grant": "agent_grant:grant",
        "turn-memory": "agent_turn_memory:turn_memory",
        "memory": "memory:memory",
        "explain": "agent_explain:explain",
        "export": "agent_transfer:export",
        "import": "agent_transfer:import_",
    }
)
