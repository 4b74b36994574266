"""Wrong usage in the style of all errors: what is wrong, and what is allowed."""

from __future__ import annotations

import click

__all__ = ["describe"]


def describe(error: click.UsageError) -> tuple[str, str]:
    """Return the message and the help of a command line that click refused."""
    ctx = error.ctx
    message = error.format_message()
    if ctx is None:
        return message, "see rotifer --help"
    # click has two ways to miss a command: no arguments at all, and options alone
    if isinstance(error, click.exceptions.NoArgsIsHelpError) or (
        isinstance(ctx.command, click.Group) and type(error) is click.UsageError
    ):
        return f"{ctx.command_path} needs a command", _one_of("command", _commands(ctx), ctx)
    if isinstance(error, click.exceptions.NoSuchCommand):
        return (
            f"{ctx.command_path} has no command {error.command_name!r}",
            _one_of("command", _commands(ctx), ctx, error.command_name),
        )
    if isinstance(error, click.NoSuchOption):
        return (
            f"{ctx.command_path} has no option {error.option_name!r}",
            _one_of("option", _options(ctx), ctx, error.option_name),
        )
    message = message[:1].lower() + message[1:].rstrip(".")
    usage = ctx.get_usage().removeprefix("Usage: ")
    return message, f"usage: {usage}; see {ctx.command_path} --help"


def _one_of(what: str, allowed: list[str], ctx: click.Context, given: str | None = None) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - few command lines need it

    meant = get_close_matches(given, allowed, n=1) if given else []
    guess = f"did you mean {meant[0]}? " if meant else ""
    return f"{guess}the {what}s are {', '.join(allowed)}; see {ctx.command_path} --help"


def _commands(ctx: click.Context) -> list[str]:
    return ctx.command.list_commands(ctx) if isinstance(ctx.command, click.Group) else []


def _options(ctx: click.Context) -> list[str]:
    return [name for param in ctx.command.get_params(ctx) if isinstance(param, click.Option) for name in param.opts]
