"""The tree of commands."""

from __future__ import annotations

import platform

import click

import rotifer_host
from rotifer_host.cli.common import Group, Session
from rotifer_host.cli.output import print_document, print_text

__all__ = ["rotifer"]


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it so
    del param
    if not value or ctx.resilient_parsing:
        return
    if ctx.ensure_object(Session).json:
        print_document({"version": rotifer_host.__version__, "python": platform.python_version()})
    else:
        print_text(f"rotifer {rotifer_host.__version__} (Python {platform.python_version()})")
    ctx.exit()


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done, 1 failed or rejected, 2 wrong usage, 3 a limit was hit (fuel, deadline, memory). "
    "Results go to standard output, errors and notes to standard error.",
    examples=["rotifer init my-project", "rotifer --json list", "rotifer -C my-project doctor"],
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
def rotifer() -> None:
    """Run WebAssembly genes in a sandbox, and agents whose memory outlives them.

    A project is the nearest folder upwards with a rotifer.json. -C and --json may
    stand before or after any command.
    """


rotifer.load_later(
    {
        "init": "init:init",
        "compile": "compile_gene:compile_",
        "wrap": "wrap:wrap",
        "list": "list_genes:list_",
        "run": "run_gene:run",
        "test": "test_gene:test",
        "agent": "agent:agent",
        "memory-md": "memory_md:memory_md",
        "mcp": "mcp:mcp",
        "bench": "bench:bench",
        "audit": "audit:audit",
        "replay": "replay:replay",
        "conformance": "conformance:conformance",
        "doctor": "doctor:doctor",
    }
)
