"""What all commands share: global options, examples in the help, types of arguments.

Command modules stay light, since `rotifer --help` loads them all: they reach the
library as attributes of `rotifer_host`, which loads what is behind them on use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import click

import rotifer_host
from rotifer_host import contract
from rotifer_host.cli.output import print_document, print_text
from rotifer_host.errors import UsageError
from rotifer_host.limits import parse_size

__all__ = [
    "Command",
    "FileName",
    "Group",
    "Session",
    "budget_options",
    "call_path_option",
    "limit_options",
    "log_option",
    "names_in",
    "run_limits",
    "size",
    "wants_json",
    "whole_number",
]

_WASM32_BYTES: Final = 4 * contract.GIB
_LARGEST_LIMIT: Final = (1 << 63) - 1
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass
class Session:
    """What the global options say."""

    json: bool
    directory: Path = Path()

    def project(self) -> rotifer_host.Project:
        """Open the project around the session's directory."""
        return rotifer_host.Project.open(self.directory)


def wants_json(arguments: Sequence[str]) -> bool:
    """Tell whether `--json` stands among the options, even of a command line that does not parse."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


class Command(click.Command):
    """A command with the global options, and `Examples` in its help; one without a `document` offers no `--json`."""

    def __init__(self, *args: Any, examples: Sequence[str], document: bool = True, **kwargs: Any) -> None:  # noqa: ANN401 - click's arguments
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.params += [
            click.Option(
                ["-C", "directory"],
                type=click.Path(exists=True, file_okay=False, path_type=Path),
                metavar="DIR",
                expose_value=False,
                callback=_set_directory,
                help="Work as if started in DIR.",
            ),
            # main() has read it from the whole command line; here it is only parsed and explained.
            click.Option(
                ["--json"],
                is_flag=True,
                expose_value=False,
                hidden=not document,
                help="Print exactly one JSON document on standard output.",
            ),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; an error that click has left without its context gets it, so that it can say what is allowed.

        An option that takes one value is refused the second time: which one counts nobody could tell.
        """
        try:
            if not ctx.resilient_parsing:
                _refuse_repeated(self.make_parser(ctx).parse_args(list(args))[2])
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage, with the options that nobody may leave out."""
        needed = [each for each in self.params if isinstance(each, click.Option) and each.required]
        return [*super().collect_usage_pieces(ctx), *(f"{each.opts[0]} {each.make_metavar(ctx)}" for each in needed)]

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first sentence of the help whole: the list of commands wraps it, and cuts nothing."""
        del limit
        return super().get_short_help_str(len(self.help or ""))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, one line each, never wrapped."""
        super().format_epilog(ctx, formatter)
        with formatter.section("Examples"):
            formatter.write("".join(f"  {example}\n" for example in self.examples))

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return `--help`, which answers with a document when there is `--json` too."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _show_help
            option.help = "Show this text."
        return option


class FileName(click.Path):
    """The type of a file's name, a `Path`; no name at all is refused, where `Path("")` would be the current folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click has it
        """Return the path. Raises click's error."""
        if value == "":
            self.fail("a file has a name", param, ctx)
        return super().convert(value, param, ctx)


def _refuse_repeated(given: Sequence[click.Parameter]) -> None:
    for option, times in Counter(given).items():
        single = isinstance(option, click.Option) and option.expose_value and not (option.multiple or option.is_flag)
        if times > 1 and single:
            message = f"{option.opts[0]} is given {times} times, and takes one value"
            raise click.UsageError(message)


class _Elsewhere(click.Command):
    """Stands for a command until it is loaded."""

    def __init__(self, place: str) -> None:
        super().__init__(None)
        self.place = place


class Group(Command, click.Group):
    """A group of commands, listed in the order they were added.

    What `load_later` adds costs a command line nothing in which it does not occur.
    """

    command_class = Command

    def load_later(self, places: Mapping[str, str]) -> None:
        """Add commands by name, each with where it lies: `module:attribute` of this package."""
        self.commands.update({name: _Elsewhere(place) for name, place in places.items()})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of use, not of the alphabet."""
        del ctx
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, loaded, or None."""
        found = super().get_command(ctx, cmd_name)
        if isinstance(found, _Elsewhere):
            module, _, attribute = found.place.partition(":")
            found = getattr(import_module(f"rotifer_host.cli.{module}"), attribute)
            self.commands[cmd_name] = found
        return found


def names_in(given: Sequence[str], empty: UsageError) -> list[str]:
    """Return the names in what an option was given, with blanks or commas between them. Raises `empty` for none."""
    names = [part.replace(",", " ").split() for part in given]
    if not all(names):
        raise empty
    return [name for part in names for name in part]


def size(what: str, *, maximum: int) -> Callable[[str], int]:
    """Return the type of a size as people type it, in bytes; `what` names the option in its errors."""

    def convert(text: str) -> int:
        return parse_size(text, what=what, maximum=maximum)

    return convert


def whole_number(what: str, *, maximum: int) -> Callable[[str], int]:
    """Return the type of a whole number from 1 to `maximum`; `what` names the option in its errors."""

    def convert(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,19}", text) and 1 <= int(text) <= maximum:
            return int(text)
        message = f"{what} must be a whole number from 1 to {maximum}, not {text!r}"
        raise UsageError(message)

    return convert


def limit_options(function: _Function) -> _Function:
    """Add the options that say how a gene or an agent runs."""
    return budget_options(call_path_option(function))


def budget_options(function: _Function) -> _Function:
    """Add those of them that a measurement of several call paths has too."""
    recompile = click.option("--recompile", is_flag=True, help="First compile what has changed since it was compiled.")
    source = click.option(
        "--input",
        "source",
        metavar="JSON",
        default="{}",
        show_default=True,
        help="The input: JSON text, @FILE for a file, or - for standard input. A run does not check it against"
        " inputSchema: that is the gene's to do.",
    )
    return source(run_limits(recompile(function)))


def run_limits(function: _Function) -> _Function:
    """Add what each run may use."""
    for option in (
        click.option(
            "--max-memory",
            "memory_bytes",
            type=size("--max-memory", maximum=_WASM32_BYTES),
            metavar="SIZE",
            default="256MB",
            show_default=True,
            help="Linear memory each gene may have: a number with KB, MB or GB.",
        ),
        click.option(
            "--deadline-ms",
            type=whole_number("--deadline-ms", maximum=_LARGEST_LIMIT),
            metavar="N",
            default=str(contract.DEFAULT_DEADLINE_MS),
            show_default=True,
            help="Milliseconds the run may take, host calls included.",
        ),
        click.option(
            "--fuel",
            type=whole_number("--fuel", maximum=_LARGEST_LIMIT),
            metavar="N",
            default=str(contract.DEFAULT_FUEL),
            show_default=True,
            help="Fuel each gene may burn: about one unit an instruction, more for a host call.",
        ),
    ):
        function = option(function)
    return function


def call_path_option(function: _Function) -> _Function:
    """Add how host calls reach Python."""
    return click.option(
        "--call-path",
        metavar="PATH",
        help="How host calls reach Python: native, raw, plain or auto; ROTIFER_CALL_PATH otherwise.",
    )(function)


log_option: Final = click.option(
    "--log",
    "older",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A file the audit log was moved to; repeat it, the oldest first.",
)


def _set_directory(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:
    del param
    if value is not None:
        ctx.ensure_object(Session).directory = value


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it so
    del param
    if not value or ctx.resilient_parsing:
        return
    if ctx.find_object(Session) is not None and ctx.obj.json:
        print_document({"help": ctx.get_help()})
    else:
        print_text(ctx.get_help())
    ctx.exit()
