"""Tables on terminals of any width: what every command prints there can be read."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.terminal import shown_on

from rotifer_host import Limits, Project, Recorder, RunResult
from rotifer_host.bench import Options, Report, measure
from rotifer_host.cli import main
from rotifer_host.cli.bench_report import show_report
from rotifer_host.cli.common import Session
from rotifer_host.cli.run_report import show_run
from rotifer_host.cli.table import Cell, print_table

EXAMPLES = Path(__file__).parents[2] / "guest-examples"
WIDTHS = (40, 60, 80, 100, 120)
IDS = re.compile(r"v2:[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Terminal(io.StringIO):
    """Standard output that says it is a terminal."""

    def isatty(self) -> bool:
        """Tell that somebody watches."""
        return True


Show = Callable[[Callable[[], object], int | None], str]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Show:
    """Give what something prints on a terminal of a width, or into a file."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")

    def printed(what: Callable[[], object], width: int | None) -> str:
        with pytest.MonkeyPatch.context() as patch:
            stream = io.StringIO() if width is None else Terminal()
            patch.setattr(sys, "stdout", stream)
            patch.setenv("COLUMNS", str(width or 80))
            what()
            return stream.getvalue()

    return printed


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a project with genes and agents that have run, one of them recorded."""
    folder = tmp_path_factory.mktemp("tables")
    project = Project.init(folder / "project")
    for name in ("counter", "formatter"):
        shutil.copytree(EXAMPLES / name, project.root / "genes" / name)
    for gene in project.genes():
        project.compile(gene.name)
    tape = Recorder(project.root / "run.rec")
    project.create_agent("greeter", ["hello", "counter"]).run({"name": "Ada"}, record=tape)
    project.create_agent("tidy-and-count", ["formatter"], grants=["json"]).run({"code": "a", "indent": 3})
    return project.root


@pytest.fixture(scope="module")
def ran(root: Path) -> RunResult:
    """Run an agent."""
    return Project.open(root).agent("greeter").run({"name": "Bob"})


@pytest.fixture(scope="module")
def measured(root: Path) -> Report:
    """Measure a gene on two call paths."""
    return measure(root, "hello", {"name": "Ada"}, Options(runs=5, warmup=0, call_paths=("raw", "plain")))


def check(piped: str, shown: str, width: int) -> None:
    """Check that a terminal shows each word that a file has whole, or the beginning of an id, and keeps its width."""
    words = shown.split()
    for word in set(piped.split()) - set(words):
        assert IDS.fullmatch(word), f"{word} is broken"
        assert any(each.endswith("…") and len(each) >= 12 and word.startswith(each[:-1]) for each in words), word
    known = set(piped.splitlines())  # a sentence, which the terminal wraps
    for line in shown.splitlines():
        too_wide = len(line) > width and line not in known
        assert not too_wide or len(line.split()[-1]) > width // 2, line


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("agent", "list"),
        ("agent", "memory", "list", "greeter"),
        ("agent", "memory", "stats", "tidy-and-count"),
        ("agent", "explain", "greeter", "--gene", "counter", "--key", "greeting/last-name"),
        ("audit", "show"),
        ("replay", "run.rec"),
    ],
    ids=" ".join,
)
def test_every_table_can_be_read(show: Show, root: Path, command: tuple[str, ...], width: int) -> None:
    """However narrow the terminal is, no name, number or state is broken; ids are cut to their beginning."""
    line = [*command[:1], str(root / command[1]), *command[2:]] if command[0] == "replay" else [*command]

    def run() -> None:
        assert main(["-C", str(root), *line]) == 0

    piped = show(run, None)
    assert "…" not in piped
    check(piped, show(run, width), width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "command",
    [
        ("test", "hello"),
        ("conformance", "gene", "hello"),
        ("conformance", "host", "--part", "deleting"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_tables_of_text_can_be_read(show: Show, root: Path, command: tuple[str, ...], width: int) -> None:
    """Sentences in tables are wrapped between their words."""

    def run() -> None:
        assert main(["-C", str(root), *command]) == 0

    check(show(run, None), show(run, width), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_measurements_can_be_read(show: Show, measured: Report, width: int) -> None:
    """A table of many figures comes in parts, each of which says what its figures are of."""

    def run() -> None:
        show_report(measured)

    shown = show(run, width)
    check(show(run, None), shown, width)
    for line in shown.splitlines():
        assert not re.match(r"\d", line), f"{line} does not say what it is of"


@pytest.mark.parametrize("width", WIDTHS)
def test_runs_can_be_read(show: Show, ran: RunResult, width: int) -> None:
    """So can what a run cost."""

    def run() -> None:
        show_run(Session(json=False), ran, Limits())

    check(show(run, None), show(run, width), width)


@pytest.mark.parametrize("width", [1, 20, *WIDTHS])
def test_lists_keep_what_belongs_together(show: Show, width: int) -> None:
    """Where a table does not fit each row is a list; what has no head stands behind what it follows."""
    heads = ("key", "state", "", "bytes>", "what happened")
    rows: list[tuple[str | Cell, ...]] = [
        ("k" * 30, "not compiled", "(why)", "1,234,567", Cell("it was seen and then it was not")),
        ("b", "", "", "2", ""),
    ]
    shown = show(lambda: print_table(heads, rows), width)
    if width >= 100:
        assert len(shown.splitlines()) == 3
        return
    if width >= 60:
        first, _, second = shown.partition("\n\n")
        assert first.splitlines()[:3] == [
            f"key            {'k' * 30}",
            "state          not compiled  (why)",
            "bytes          1,234,567",
        ]
        assert second == "key            b\nbytes          2\n"
    check(show(lambda: print_table(heads, rows), None), shown, max(width, 46))


def test_wide_characters_take_two_columns(show: Show) -> None:
    """Columns stand under each other also where a character is as wide as two."""
    shown = show(lambda: print_table(("key", "bytes>"), [("记忆", "1"), ("memory", "22")]), 40)
    assert shown == "key     bytes\n记忆        1\nmemory     22\n"


def test_only_ids_are_cut(show: Show) -> None:
    """An id takes the room that is left, and a key that looks like one stays whole."""
    key, gene = "f" * 40, f"v2:{'1d550f37' * 8}"
    shown = show(lambda: print_table(("key", "by"), [(key, gene)], shorten=("by",)), 60)
    assert shown.splitlines()[1] == f"{key}  {gene[:17]}…"


def test_colours_do_not_count(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    """A coloured table stands as one without colours does, whose every cell has its style on each of its lines."""
    rows = [("a", Cell("it was seen and then it was not", "red"))]
    plain = show(lambda: print_table(("name", "what"), rows), 30)
    monkeypatch.delenv("NO_COLOR")
    coloured = show(lambda: print_table(("name", "what"), rows), 30)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert len(plain.splitlines()) == coloured.count("\x1b[31m") + 1 == 3


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Give the two ends of a pseudo-terminal."""
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)


@pytest.mark.parametrize("width", [40, 80])
def test_a_real_terminal(root: Path, terminal: tuple[int, int], width: int) -> None:
    """The program itself keeps to the width of the terminal it is started in."""
    ours, theirs = terminal
    subprocess.run(["stty", "cols", str(width), "rows", "24"], stdin=theirs, check=True)
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    command = [sys.executable, "-m", "rotifer_host", "list"]
    subprocess.run(
        command, cwd=root, env=environment | {"TERM": "xterm"}, stdin=theirs, stdout=theirs, timeout=60, check=True
    )
    os.close(theirs)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown_on(ours).decode()).splitlines()
    assert max(map(len, lines)) <= width
    assert {"formatter", "code.format", "ready"} <= {word for line in lines for word in line.split()}


def test_a_run_that_counted_no_fuel_says_so_twice(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A guest that is stopped by its deadline has no fuel to show: `-` in the table, null in the document."""
    folder = root / "genes" / "endless"
    folder.mkdir()
    (folder / "gene.wat").write_text(
        '(module (memory (export "memory") 1) (func (export "express") (param i32 i32) (result i32)'
        " (loop $on (br $on)) (i32.const 0)))",
        encoding="utf-8",
    )
    shutil.copy(root / "genes" / "hello" / "phenotype.json", folder)
    Project.open(root).compile("endless")
    line = [
        "-C",
        str(root),
        "run",
        "endless",
        "--deadline-ms",
        "50",
        "--fuel",
        str(1 << 62),
        "--input",
        '{"name": "A"}',
    ]
    assert main([*line, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["genes"][0]["fuel"] is None
    assert main(line) == 3
    assert re.search(r"^endless +limit +- ", capsys.readouterr().out, re.MULTILINE)
    shutil.rmtree(folder)
