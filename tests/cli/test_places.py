"""Paths that cannot be looked at, and folders that are gone: an error that names them, never a bug."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Project
from rotifer_host.errors import ProjectError

ENDLESS = "x" * 300
"""No file system takes a name of this length; unlike a missing permission it stops root too."""
UNREADABLE = [
    ("rotifer.json", "list", "PROJECT"),
    ("rotifer.json", "agent list", "PROJECT"),
    ("genes", "list", "PROJECT"),
    ("genes", "run hello", "GENE"),
    ("genes/hello", "run hello", "GENE"),
    ("genes/hello", "compile hello", "GENE"),
    ("genes/hello", "agent create new --genes hello", "GENE"),
    ("genes/hello/phenotype.json", "compile hello", "PHENOTYPE"),
    ("genes/hello/gene.wat", "run hello", "GENE"),
    ("genes/hello/gene.wat", "compile hello", "GENE"),
    ("genes/hello/gene.wasm", "compile hello", "GENE"),
    ("genes/hello/gene.ir.wasm", "run hello", "GENE"),
]


def lead_nowhere(path: Path) -> None:
    """Put a link in the place of `path` that cannot be followed."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(ENDLESS)


@pytest.mark.parametrize(
    ("place", "line", "code"), UNREADABLE, ids=[f"{place}, {line}" for place, line, _ in UNREADABLE]
)
def test_what_cannot_be_looked_at_is_named(
    rotifer: Callable[..., Any], project: Path, place: str, line: str, code: str
) -> None:
    """A path the file system refuses fails the command with the code of what it should have been, and its name."""
    lead_nowhere(project / place)
    outcome = rotifer(*line.split(), cwd=project)
    assert outcome.status == 1
    assert outcome.stderr.startswith(f"error[{code}]: cannot ")
    assert str(project / place) in outcome.stderr


def test_a_gene_that_cannot_be_looked_at_does_not_hide_the_others(rotifer: Callable[..., Any], project: Path) -> None:
    """The list shows an unreadable gene as broken beside those that are ready, and doctor counts both."""
    lead_nowhere(project / "genes" / "hello" / "phenotype.json")
    listed = rotifer("list", "--json", cwd=project).document["genes"]
    assert [(gene["name"], gene["state"]) for gene in listed] == [("counter", "ready"), ("hello", "broken")]
    assert "1 ready, 1 broken" in rotifer("doctor", cwd=project).stdout


@pytest.mark.parametrize(
    "line",
    [
        f"compile hello --wasm {ENDLESS}",
        f"run hello --input @{ENDLESS}",
        f"agent create a --genes hello --data-policy {ENDLESS}",
    ],
    ids=["--wasm", "--input", "--data-policy"],
)
def test_a_file_name_no_file_can_have_is_no_bug(rotifer: Callable[..., Any], project: Path, line: str) -> None:
    """Options that take a file say so when its name is refused by the file system."""
    outcome = rotifer(*line.split(), cwd=project)
    assert outcome.status in (1, 2)
    assert outcome.stderr.startswith(("error[GENE]: cannot read", "error[USAGE]: cannot read"))
    assert "File name too long" in outcome.stderr


@pytest.mark.parametrize(
    ("line", "status"),
    [("list", 1), ("agent list", 1), ("init new", 1), ("-C . run hello", 1), ("doctor", 0), ("--help", 0)],
)
def test_a_current_folder_that_is_gone_is_an_error(tmp_path: Path, line: str, status: int) -> None:
    """In a deleted folder commands that need it say so; the others work."""
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f'rmdir "$PWD" && exec {shlex.quote(sys.executable)} -m rotifer_host {line}'],
        cwd=gone,
        capture_output=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert b"INTERNAL" not in done.stderr
    assert (b"the current folder is gone" in done.stdout + done.stderr) is (line != "--help")


STATE = [("audit.jsonl", "is not a file"), ("telemetry.jsonl", "is not a file")]
STATE += [("memory", "is not a folder"), ("agents", "Not a directory"), ("", "is not a folder")]


@pytest.mark.parametrize(("name", "message"), STATE, ids=[name or ".rotifer" for name, _ in STATE])
def test_doctor_finds_what_lies_in_the_place_of_the_hosts_files(
    rotifer: Callable[..., Any], project: Path, name: str, message: str
) -> None:
    """A folder where the audit log should be, or a file where memory should be, is wrong: runs would fail at it."""
    place = project / ".rotifer" / name
    assert rotifer("doctor", cwd=project).status == 0
    if name.endswith("jsonl"):
        place.mkdir()
    else:
        shutil.rmtree(place)
        place.write_bytes(b"")
    outcome = rotifer("doctor", cwd=project)
    assert outcome.status == 1
    assert str(place) in outcome.stdout
    assert message in outcome.stdout


@pytest.mark.parametrize("name", ["memory", ""], ids=["memory", ".rotifer"])
def test_a_file_in_the_place_of_a_folder_is_named(rotifer: Callable[..., Any], project: Path, name: str) -> None:
    """The error of a run names the file that is in the way."""
    place = project / ".rotifer" / name
    made = rotifer("agent", "create", "a", "--genes", "counter", cwd=project)
    shutil.rmtree(place)
    place.write_bytes(b"")
    outcome = rotifer("agent", "run" if name else "create", "a", *([] if name else ["--genes", "counter"]), cwd=project)
    assert (made.status, outcome.status) == (0, 1)
    assert outcome.stderr == f"error[PROJECT]: cannot use {place}: Not a directory\n"


def test_an_empty_project_says_where_genes_go(rotifer: Callable[..., Any], project: Path) -> None:
    """The hint of an empty list names the folder that rotifer.json names."""
    (project / "rotifer.json").write_text('{"name": "a", "genes_dir": "src/genes"}', encoding="utf-8")
    assert rotifer("list", cwd=project).stderr == f"no genes yet: put one into {project}/src/genes\n"


@pytest.mark.parametrize("take", [Project.open, Project.init])
def test_a_path_no_system_has_is_mapped(tmp_path: Path, take: Callable[[Path], Project]) -> None:
    """A NUL in the path of a project is a `ProjectError`."""
    with pytest.raises(ProjectError):
        take(tmp_path / "a\0b" / "name")


@pytest.mark.parametrize("line", ["list", "agent list", "doctor", "agent memory list a", "--json list", "run hello"])
def test_a_full_disk_under_any_output_is_one_line(rotifer: Callable[..., Any], project: Path, line: str) -> None:
    """Tables, documents and reports that cannot be written fail alike."""
    assert rotifer("agent", "create", "a", "--genes", "counter", cwd=project).status == 0
    assert rotifer("agent", "run", "a", "--input", json.dumps({}), cwd=project).status == 0
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "rotifer_host", *line.split()],
            cwd=project,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert b"error[OUTPUT]: cannot write to standard output: No space left on device\n" in done.stderr
    assert b"INTERNAL" not in done.stderr


def test_ctrl_c_while_the_command_loads_ends_it_without_a_word(tmp_path: Path) -> None:
    """An interrupt during the imports is no traceback: the process dies of the signal as any program does."""
    package = tmp_path / "path" / "click"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(10**6): pass\n", encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "rotifer_host", "list"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")
