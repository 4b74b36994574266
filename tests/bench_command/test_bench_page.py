"""The page about measuring says what the command does."""

from __future__ import annotations

import re
from pathlib import Path

import click

from rotifer_host.bench import STAGES
from rotifer_host.cli.bench import bench

PAGE = (Path(__file__).parents[2] / "docs" / "benchmarking.md").read_text(encoding="utf-8")


def test_every_stage_is_explained() -> None:
    """The table of stages has a row for each, in their order, and the rest."""
    table = PAGE.partition("| stage | what |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [*STAGES, "rest"]


def test_every_option_named_exists() -> None:
    """An option on the page is one of the command, and those that are for measuring alone are on the page."""
    options = {name for param in bench.params if isinstance(param, click.Option) for name in param.opts}
    of_others = re.compile(r"^rotifer (?!bench ).*$", re.MULTILINE)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", of_others.sub("", PAGE)))
    assert named <= options
    assert named >= {
        "--runs",
        "--durability",
        "--allow-varying",
        "--in-place",
        "--compare",
        "--pytest-benchmark",
        "--plot",
    }
