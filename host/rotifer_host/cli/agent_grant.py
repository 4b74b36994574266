"""`rotifer agent grant`, and `--grant` of `rotifer agent create`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from rotifer_host.cli.common import Command, Session, names_in
from rotifer_host.cli.output import print_document, print_text
from rotifer_host.cli.run_input import read_bytes
from rotifer_host.errors import DocumentError, UsageError

__all__ = ["grant", "read_grant_options"]


@click.command(
    "grant",
    cls=Command,
    examples=[
        "rotifer agent grant my-agent json,markdown",
        """rotifer agent grant my-agent 'json={"schema": {"required": ["scene"]}}'""",
        "rotifer agent grant my-agent json=@settings.json --revoke markdown",
        "rotifer agent grant my-agent",
    ],
)
@click.argument("name")
@click.argument("granted", metavar="[MODULE[=JSON|@FILE]]...", nargs=-1)
@click.option(
    "--revoke", "revoked", multiple=True, metavar="MODULE", help="Take one away; the option repeated for more."
)
@click.pass_obj
def grant(session: Session, name: str, *, granted: Sequence[str], revoked: Sequence[str]) -> None:
    """Let the genes of the agent NAME use host modules, with settings where a module takes any; without one, list them.

    A module that is granted already gets the new settings. What a revoked one keeps for
    the agent stays.
    """
    agent = session.project().agent(name)
    if granted or revoked:
        agent = agent.grant(read_grant_options(session, granted), revoke=_names(revoked))
    if session.json:
        print_document({"agent": agent.name, "agentId": agent.id, "grants": agent.grants})
        return
    print_text(f"{agent.name} is granted {', '.join(agent.grants) or 'no host module'}")


def read_grant_options(session: Session, granted: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the settings of each module named, by name. Raises `UsageError`, also for one named twice."""
    grants: dict[str, dict[str, Any]] = {}
    for each in granted:
        name, separator, source = each.partition("=")
        if separator:
            _names([name])
        settings = _settings(session, name, source) if separator else {}
        for module in [name] if separator else _names([name]):
            if module in grants:
                message = f"{module} is granted twice"
                raise UsageError(message)
            grants[module] = settings
    return grants


def _settings(session: Session, name: str, source: str) -> dict[str, Any]:
    from rotifer_host.sandbox import decode_document  # noqa: PLC0415 - loads the engine

    try:
        settings = decode_document(read_bytes(session, source, f"the settings of {name}"))
    except DocumentError as error:
        message = f"the settings of {name} are not JSON: {error.message}"
        raise UsageError(message, help="--grant takes MODULE, MODULE=JSON or MODULE=@FILE") from error
    if not isinstance(settings, dict):
        message = f"the settings of {name} must be a JSON object"
        raise UsageError(message)
    return settings


def _names(given: Sequence[str]) -> list[str]:
    empty = UsageError("the name of a host module is empty", help="`rotifer doctor` shows the host modules there are")
    return names_in(given, empty)
