"""The tree of commands."""

from __future__ import annotations

import platform

import click

import rotifer_host
from rotifer_host.cli.agent import agent
from rotifer_host.cli.audit import audit
from rotifer_host.cli.bench import bench
from rotifer_host.cli.common import Group, Session
from rotifer_host.cli.compile_gene import compile_
from rotifer_host.cli.conformance import conformance
from rotifer_host.cli.conformance_gene import gene
from rotifer_host.cli.conformance_host import host
from rotifer_host.cli.doctor import doctor
from rotifer_host.cli.init import init
from rotifer_host.cli.list_genes import list_
from rotifer_host.cli.mcp import mcp
from rotifer_host.cli.memory_md import memory_md
from rotifer_host.cli.output import print_document, print_text
from rotifer_host.cli.replay import replay
from rotifer_host.cli.run_gene import run
from rotifer_host.cli.test_gene import test
from rotifer_host.cli.wrap import wrap

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


conformance.add_command(gene)
conformance.add_command(host)
for _command in (
    init,
    compile_,
    wrap,
    list_,
    run,
    test,
    agent,
    memory_md,
    mcp,
    bench,
    audit,
    replay,
    conformance,
    doctor,
):
    rotifer.add_command(_command)
