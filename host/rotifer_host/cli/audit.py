"""`rotifer audit`: read the audit log, and have it prove the agents' memory.

memory-api.en.md, "What gets recorded".
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rotifer_host import contract
from rotifer_host.cli.common import Group, Session, log_option, whole_number
from rotifer_host.cli.output import print_document, print_note, print_text
from rotifer_host.cli.table import print_table
from rotifer_host.text import counted, quoted

if TYPE_CHECKING:
    from rotifer_host.verify import Proof, ReadLog

__all__ = ["audit"]

_PREFIX: Final = "memory."
_MOST_SENTENCES: Final = 30
_ACTIONS: Final = [action.removeprefix(_PREFIX) for action in contract.AUDIT_ACTIONS]
_OTHER_ACTION: Final = re.compile(r"[a-z][a-z0-9-]*\.[a-z][a-z0-9_-]*")


def _instant(text: str) -> int:
    from rotifer_host.memory.timestamp import ceil_ms  # noqa: PLC0415 - `rotifer --help` needs none of it

    try:
        return ceil_ms(text)
    except ValueError:
        message = f"{quoted(text)} is no date and time of RFC 3339 with a zone, like 2026-01-31T12:00:00Z"
        raise click.BadParameter(message) from None


def _action(text: str) -> str:
    if text in _ACTIONS:
        return f"{_PREFIX}{text}"
    if _OTHER_ACTION.fullmatch(text):
        return text
    allowed = ", ".join(_ACTIONS)
    message = f"{quoted(text)} is no action: it is one of {allowed}, or MODULE.VERB of a host module, like json.update"
    raise click.BadParameter(message)


@click.group(cls=Group, examples=["rotifer audit show my-agent", "rotifer audit verify"])
def audit() -> None:
    """Read the audit log, and check that it proves what agents remember."""


@audit.command(
    "show",
    examples=[
        "rotifer audit show my-agent --action deny --limit 20",
        "rotifer audit show --key greeting/last-name --since 2026-01-31T12:00:00Z --json",
    ],
)
@click.argument("agent", required=False)
@click.option(
    "--action",
    type=_action,
    metavar="ACTION",
    help=f"Only lines of this action: {', '.join(_ACTIONS)}, or one of a host module, like markdown.write.",
)
@click.option("--key", metavar="KEY", help="Only lines about the entry with this key.")
@click.option("--since", type=_instant, metavar="TIME", help="Only lines from this time on, RFC 3339.")
@click.option("--until", type=_instant, metavar="TIME", help="Only lines before this time, RFC 3339.")
@click.option(
    "--limit",
    type=whole_number("--limit", maximum=sys.maxsize),
    metavar="N",
    help="Only the last N of these lines.",
)
@log_option
@click.pass_obj
def show(  # noqa: PLR0913 - click passes each option by name
    session: Session,
    agent: str | None,
    *,
    action: str | None,
    key: str | None,
    since: int | None,
    until: int | None,
    limit: int | None,
    older: tuple[Path, ...],
) -> None:
    """Show the lines of the audit log, or those of AGENT, oldest first."""
    project = session.project()
    agent_id = None if agent is None else project.agent(agent).id
    lines: deque[dict[str, Any]] = deque(maxlen=limit)
    for line in _lines((*older, project.audit_path)):
        if (
            (agent_id is None or line.get("agentId") == agent_id)
            and (action is None or line.get("action") == action)
            and (key is None or line.get("key") == key)
            and _within(line, since, until)
        ):
            lines.append(line)
    if session.json:
        print_document({"lines": list(lines)})
        return
    if lines:
        heads = ("time", "agent", "action", "key", "category", "bytes>", "by")
        print_table(heads, [_row(line) for line in lines], shorten=("by",))
    print_note(counted(len(lines), "line"))


@audit.command(
    "verify",
    examples=["rotifer audit verify", "rotifer audit verify my-agent --json"],
)
@click.argument("agent", required=False)
@log_option
@click.pass_obj
def verify(session: Session, agent: str | None, *, older: tuple[Path, ...]) -> int:
    """Check that the audit log proves the memory of AGENT, or of all agents; changes nothing.

    Says which lines are missing, changed, out of order or torn, and which never became a
    change. Exit status 1 when the log does not prove the memory.
    """
    log, proofs = session.project().verify_audit(agent, older=older)
    of_all = log.problems()
    problems = {name: proof.problems(log.name) for name, proof in proofs.items()}
    if session.json:
        print_document(_document(log, proofs, problems))
    else:
        for problem in of_all:
            print_text(problem)
        for name, proof in proofs.items():
            _tell(log, name, proof, problems[name], whole=not of_all)
        _tell_rest(log)
    return contract.EXIT_FAILED if of_all or any(problems.values()) else contract.EXIT_OK


def _lines(paths: tuple[Path, ...]) -> Iterator[dict[str, Any]]:
    from rotifer_host.audit import read_lines  # noqa: PLC0415

    for path in paths:
        yield from read_lines(path)


def _within(line: dict[str, Any], since: int | None, until: int | None) -> bool:
    if since is None and until is None:
        return True
    try:
        time = _instant(str(line.get("ts")))
    except click.BadParameter:
        return False
    return (since is None or time >= since) and (until is None or time < until)


def _row(line: dict[str, Any]) -> tuple[str, ...]:
    key, size = line.get("key"), line.get("bytes")
    by = line.get("actor") if line.get("geneId") is None else line["geneId"]
    texts = [line.get("ts"), line.get("agent"), str(line.get("action")).removeprefix(_PREFIX)]
    texts += [None if key is None else quoted(str(key)), line.get("category"), size, by]
    return tuple("" if text is None else str(text) for text in texts)


def _document(log: ReadLog, proofs: dict[str, Proof], problems: dict[str, list[str]]) -> dict[str, Any]:
    def names(places: list[Any]) -> list[str]:
        return [log.name(place) for place in places]

    return {
        "proven": not (log.problems() or any(problems.values())),
        "agents": [
            {
                "agent": name,
                "lines": proof.lines,
                "changes": len(proof.changes),
                "missing": [{"first": gap.first, "last": gap.last} for gap in proof.missing],
                "changed": names(proof.changed),
                "reordered": names(proof.reordered),
                "unfounded": names(proof.unfounded),
                "neverSaved": names(proof.never),
                "takenBack": names(proof.taken_back),
                "lost": names(proof.lost),
                "beforeImport": names(proof.earlier),
                "problems": problems[name],
            }
            for name, proof in proofs.items()
        ],
        "unreadable": names(log.broken),
        "unlinked": names(log.order.unlinked()),
        "displaced": names(log.order.displaced()),
        "sealed": names(log.sealed),
        "torn": log.torn_at,
        "outsideAgents": log.outside,
    }


def _tell(log: ReadLog, name: str, proof: Proof, problems: list[str], *, whole: bool) -> None:
    verdict = "NOT proven" if problems else "proven" if whole else "proven but for the lines above"
    print_text(f"{name}: {verdict}, {counted(proof.lines, 'line')}, {counted(len(proof.changes), 'change')}")
    said = list(problems)
    said += [f"{log.name(place)} never became a change: a crash, or a run that goes on" for place in proof.never]
    said += [f"{log.name(place)} never became a change: it was taken back" for place in proof.taken_back]
    if proof.earlier:
        changes, first = counted(len(proof.earlier), "change"), log.name(proof.earlier[0])
        said.append(f"{changes}, from {first} on, of a memory that was here before the agent was imported")
    for sentence in said[:_MOST_SENTENCES]:
        print_text(f"  {sentence}")
    if len(said) > _MOST_SENTENCES:
        print_text(f"  and {len(said) - _MOST_SENTENCES:,} more: see --json")
    if proof.missing:
        print_note("help: if the log was moved away, name its older files with --log")


def _tell_rest(log: ReadLog) -> None:
    for place in log.sealed:
        print_text(f"{log.name(place)} holds what a crash left of a line")
    if log.torn_at is not None:
        print_text(f"{log.torn_at} is torn: a crash, or a line being written")
