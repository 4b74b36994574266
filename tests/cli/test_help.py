"""Help: complete, light, with examples that work, and the same as the reference."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from rotifer_host.cli.common import Command
from rotifer_host.cli.reference import commands, reference

ROOT = Path(__file__).parents[2]
CONTEXTS = list(commands())


def examples(ctx: click.Context) -> tuple[str, ...]:
    """Return the examples in a command's help."""
    assert isinstance(ctx.command, Command)
    return ctx.command.examples


EXAMPLES = dict.fromkeys(example for ctx in CONTEXTS for example in examples(ctx))
ECHO = """(module (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32) (local.get 0)))"""
HEAVY = ("wasmtime", "lmdb", "rich", "msgspec", "orjson", "jsonschema", "cffi", "msgpack", "matplotlib", "mcp")


def test_the_commands_of_the_contract_are_there() -> None:
    """The tree of commands is the documented one."""
    assert [ctx.command_path for ctx in CONTEXTS] == [
        "rotifer",
        "rotifer init",
        "rotifer compile",
        "rotifer wrap",
        "rotifer list",
        "rotifer run",
        "rotifer test",
        "rotifer agent",
        "rotifer agent create",
        "rotifer agent list",
        "rotifer agent run",
        "rotifer agent set-genes",
        "rotifer agent grant",
        "rotifer agent turn-memory",
        "rotifer agent memory",
        "rotifer agent memory list",
        "rotifer agent memory delete",
        "rotifer agent memory check",
        "rotifer agent memory stats",
        "rotifer agent explain",
        "rotifer agent export",
        "rotifer agent import",
        "rotifer memory-md",
        "rotifer memory-md write",
        "rotifer memory-md update",
        "rotifer memory-md read",
        "rotifer memory-md search",
        "rotifer mcp",
        "rotifer bench",
        "rotifer audit",
        "rotifer audit show",
        "rotifer audit verify",
        "rotifer replay",
        "rotifer conformance",
        "rotifer conformance gene",
        "rotifer conformance host",
        "rotifer doctor",
    ]


@pytest.mark.parametrize("ctx", CONTEXTS, ids=lambda ctx: ctx.command_path)
def test_every_command_explains_itself(ctx: click.Context) -> None:
    """A command has a description, an explanation of each option, the global options and an example of itself."""
    assert ctx.command.help
    options = [param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option)]
    assert [option.opts for option in options if not option.help] == []
    assert {"-C", "--json"} <= {name for option in options for name in option.opts}
    assert any(example.split(" | ")[-1].startswith(ctx.command_path) for example in examples(ctx))
    assert all(f"\n  {example}\n" in ctx.get_help() + "\n" for example in examples(ctx))


def test_the_usage_names_what_nobody_may_leave_out(rotifer: Callable[..., Any]) -> None:
    """An error that something is missing shows it in its place."""
    wanted = "usage: rotifer agent explain [OPTIONS] AGENT --gene GENE --key KEY;"
    assert wanted in rotifer("agent", "explain", "greeter").stderr


def test_lists_of_commands_are_not_cut_short() -> None:
    """Each command is listed with its first sentence whole, however long the others' names are."""
    groups = {ctx.command_path: " ".join(ctx.get_help().split()) for ctx in commands()}
    for ctx in commands():
        if ctx.parent is not None:
            sentence = " ".join((ctx.command.help or "").split("\n\n")[0].split())
            assert f" {ctx.command.name} {sentence}".split(". ")[0] in groups[ctx.parent.command_path]


@pytest.mark.parametrize("arguments", [["--help"], ["agent", "run", "-h"], ["--version"], ["agent", "create"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    """Help and refused command lines wait for neither the engine nor the store nor the table printer."""
    program = (
        "import sys; from rotifer_host.cli import main; main(sys.argv[1:]);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "there", "absent"),
    [
        (["agent", "run"], ["agent"], ["doctor", "bench", "memory", "agent_transfer"]),
        (["agent", "memory", "list"], ["agent", "memory"], ["doctor", "agent_transfer"]),
        (["conformance", "host", "--part"], ["conformance_host"], ["agent", "conformance_gene"]),
        (["--version"], [], ["agent", "doctor"]),
    ],
)
def test_a_command_line_loads_its_own_commands(arguments: list[str], there: list[str], absent: list[str]) -> None:
    """What a command is in is loaded when it is asked for, and the others' modules never."""
    program = (
        "import sys; from rotifer_host.cli import main; main(sys.argv[1:]);"
        f"names = {[*there, *absent]!r};"
        "print([name for name in names if f'rotifer_host.cli.{name}' in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == repr(there)


def test_the_reference_is_the_help() -> None:
    """docs/cli.md is what `python -m rotifer_host.cli.reference` prints."""
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == reference()


def test_help_is_a_document_with_json(rotifer: Callable[..., Any]) -> None:
    """With --json even help and version are one document."""
    assert "Usage: rotifer agent run" in rotifer("agent", "run", "--help", "--json").document["help"]
    assert set(rotifer("--version", "--json").document) == {"v", "version", "python"}


def test_every_example_works(tmp_path: Path, project: Path, add_gene: Callable[[str, str], Path]) -> None:
    """The examples of all commands, typed one after another into a shell, each exit 0."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "rotifer"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rotifer_host "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    host = project / "my-host"
    host.write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rotifer_host.conformance.host_own\n", encoding="utf-8"
    )
    host.chmod(0o700)
    add_gene("echo", ECHO)
    (project / "request.json").write_text('{"name": "Ada"}', encoding="utf-8")
    (project / "composition.json").write_text(
        '{"type": "Try", "primary": "counter", "fallback": {"type": "Seq", "steps": ["hello"]}}', encoding="utf-8"
    )
    (project / "policy.json").write_text(
        '{"maxRetentionDays": 30, "autoDeleteOnTermination": false, "anonymizationSupported": true}', encoding="utf-8"
    )
    (project / "settings.json").write_text('{"schema": {"required": ["scene"]}}', encoding="utf-8")
    (project / "turn-memory.json").write_text(
        '{"memoryRuntime": "axon_go", "diary": {"generator": "hello"}, "memorySources": '
        '[{"id": "diary", "agentRef": "me", "variable": "compassMemory"}]}',
        encoding="utf-8",
    )
    # groups show what needs an agent before the command that makes one
    for example in sorted(EXAMPLES, key=lambda line: not line.startswith(("rotifer init", "rotifer agent create"))):
        done = subprocess.run(
            ["sh", "-c", example],
            cwd=project,
            env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, (example, done.stdout, done.stderr)
