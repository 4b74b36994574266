"""Wrong usage: exit status 2, one error on standard error, what is allowed in its help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from rotifer_host import contract
from rotifer_host.cli.app import rotifer as whole

TABLE = [
    ("", "rotifer needs a command", "the commands are init, compile, wrap, list"),
    ("agent", "rotifer agent needs a command", "create, list, run, set-genes, grant, turn-memory, memory"),
    ("agent memory", "rotifer agent memory needs a command", "list, delete"),
    ("agnet", "rotifer has no command 'agnet'", "did you mean agent?"),
    ("agent rum x", "rotifer agent has no command 'rum'", "did you mean run?"),
    ("list --jsn", "rotifer list has no option '--jsn'", "did you mean --json?"),
    ("run g --fule 1", "rotifer run has no option '--fule'", "--fuel, --deadline-ms, --max-memory"),
    ("init", "missing argument 'NAME'", "usage: rotifer init"),
    ("init a b", "unexpected extra argument", "usage: rotifer init"),
    ("run", "missing argument 'GENE'", "usage: rotifer run"),
    ("run g --fuel 0", "--fuel must be a whole number from 1 to 9223372036854775807, not '0'", ""),
    ("run g --fuel -1", "--fuel must be a whole number", ""),
    ("run g --fuel 1e9", "--fuel must be a whole number", ""),
    ("run g --fuel 1_000", "--fuel must be a whole number", ""),
    ("run g --fuel ٣", "--fuel must be a whole number", ""),
    ("run g --fuel 9223372036854775808", "--fuel must be a whole number from 1 to 9223372036854775807", ""),
    ("run g --deadline-ms 0", "--deadline-ms must be a whole number", ""),
    ("run g --max-memory 64", "--max-memory must be a number with KB, MB or GB", ""),
    ("run g --max-memory 0MB", "--max-memory must be more than zero", ""),
    ("run g --max-memory 5GB", "at most 4 GB", ""),
    ("run g --input", "'--input' requires an argument", "see rotifer run --help"),
    ("agent create a", "missing option '--genes'", "usage: rotifer agent create"),
    ("agent create a --genes", "missing option '--genes'", "usage: rotifer agent create"),
    ("agent create --genes a b", "missing argument 'NAME'", "rotifer agent create NAME --genes GENE... [OPTIONS]"),
    ("agent create --genes g a", "--genes took all that follows it: g a", ""),
    ("agent set-genes --genes g,h a", "--genes took all that follows it: g,h a", ""),
    ("agent create a --genes=", "--genes was given an empty name", "`rotifer list` shows the genes"),
    ("agent create a --genes=,", "--genes was given an empty name", ""),
    ("agent create a --genes g --grant=", "the name of a host module is empty", "`rotifer doctor` shows"),
    ("agent create a --genes g --composition Zip", "--composition must be one of Single, Seq, Par, Cond, Try", ""),
    ("agent create a --composition Par", "missing option '--genes'", ""),
    ("agent create a --genes g --merge any", "'any' is not one of 'first', 'concat', 'merge'", ""),
    ("agent create a --genes g --merge first", "--merge goes with --composition Par", ""),
    ("agent create a --genes g --composition Try --predicate {}", "--predicate goes with --composition Cond", ""),
    ("agent create a --genes g h --composition Cond --predicate {", "--predicate is not JSON", ""),
    ("agent create a --genes g h --composition Cond --predicate @no.json", "no.json: No such file", ""),
    ("agent create a --composition @no.json", "no.json: No such file", ""),
    ("agent create a --genes g --memory-quota 50", "--memory-quota must be a number with KB, MB or GB", ""),
    ("agent create a --genes g --memory-quota=-1MB", "--memory-quota must be a number", ""),
    ("agent create a --genes g --memory-quota 0KB", "--memory-quota must be more than zero", ""),
    ("agent create a --genes g --memory-quota 1025GB", "at most 1024 GB", ""),
    ("agent create a --genes g --data-policy no.json", "no.json: No such file", ""),
    ("agent run a --durability none", "'none' is not one of 'call', 'run'", ""),
    ("agent memory list a --category cache", "'cache' is not one of 'PREFERENCE', 'PATTERN'", ""),
    ("agent memory delete a", "give exactly one of --key and --category", "usage: rotifer agent memory delete"),
    ("agent memory delete a --key k --category CACHE", "give exactly one of --key and --category", ""),
    ("run g --input 1 --input 2", "--input is given 2 times, and takes one value", "see rotifer run --help"),
    ("agent run a --fuel 1 --fuel 1 --fuel 1", "--fuel is given 3 times", ""),
    ("audit show --limit 1 a --limit 2", "--limit is given 2 times", ""),
    ("-C nowhere list", "Directory 'nowhere' does not exist", ""),
]


@pytest.mark.parametrize(("line", "message", "help_text"), TABLE, ids=[line or "nothing" for line, *_ in TABLE])
def test_wrong_usage_says_what_is_allowed(rotifer: Callable[..., Any], line: str, message: str, help_text: str) -> None:
    """A command line that does not fit exits 2 and names what would."""
    outcome = rotifer(*line.split())
    first, *rest = outcome.stderr.splitlines()
    assert outcome.status == contract.EXIT_USAGE
    assert outcome.stdout == ""
    assert first.startswith("error[USAGE]: ")
    assert message in first
    assert help_text in "\n".join(rest)
    assert all(line.startswith("help: ") for line in rest)


@pytest.mark.parametrize(
    ("line", "message"), [(f"{line} --json", message) for line, message, _ in TABLE if not line.endswith("--input")]
)
def test_with_json_wrong_usage_is_one_document(rotifer: Callable[..., Any], line: str, message: str) -> None:
    """With --json the error is a document on standard output too, even of a line that does not parse."""
    outcome = rotifer(*line.split())
    assert outcome.status == contract.EXIT_USAGE
    assert list(outcome.document) == ["v", "error"]
    assert outcome.document["v"] == 1
    assert outcome.document["error"]["code"] == "USAGE"
    assert message in outcome.document["error"]["message"]


def commands(command: click.Command, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command there is, each with what to type for it."""
    if not isinstance(command, click.Group):
        yield names, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, (*names, name))


NUMBERS = [
    (*names, option.opts[0])
    for names, command in commands(whole)
    for option in command.params
    if isinstance(option, click.Option) and (option.metavar in {"N", "SIZE"} or isinstance(option.type, click.IntRange))
]


@pytest.mark.parametrize("number", ["99999999999999999999999", "-1", "99999999999999999999999GB", "-1MB"])
@pytest.mark.parametrize("option", NUMBERS, ids=" ".join)
def test_no_number_is_too_large_to_be_refused(
    rotifer: Callable[..., Any], option: tuple[str, ...], number: str
) -> None:
    """Every option of every command that takes a number or a size says what it may be."""
    outcome = rotifer(*option[:-1], f"{option[-1]}={number}")
    assert (outcome.status, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("error[USAGE]: ")
    assert option[-1] in outcome.stderr


def test_the_numbers_of_all_commands_are_tried() -> None:
    """The list above is not empty by accident."""
    assert {("audit", "show", "--limit"), ("agent", "run", "--fuel"), ("bench", "--runs")} <= set(NUMBERS)


@pytest.mark.parametrize("revoked", [("",), ("--revoke", "")])
def test_no_host_module_has_an_empty_name(rotifer: Callable[..., Any], project: Path, revoked: tuple[str, ...]) -> None:
    """`agent grant` refuses one, and does nothing."""
    assert rotifer("agent", "create", "a", "--genes", "hello", cwd=project).status == 0
    outcome = rotifer("agent", "grant", "a", *revoked, cwd=project)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "the name of a host module is empty" in outcome.stderr
