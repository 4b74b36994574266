"""`rotifer memory-md`, as it is typed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rotifer_host import Project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give the folder of a project."""
    return Project.init(tmp_path / "p").root


def rotifer(project: Path, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
    """Run the command; return its exit status and both streams."""
    return command(project, "memory-md", *arguments, stdin=stdin)


def command(project: Path, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
    """Run any command of `rotifer`."""
    line = [sys.executable, "-m", "rotifer_host", "-C", str(project), *arguments]
    done = subprocess.run(line, input=stdin, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_write_update_read_search(project: Path) -> None:
    """What one command wrote the next ones read, change and find."""
    status, out, _ = rotifer(project, "write", "a b", "-", "--summary", "--tag", "t", "--tag", "u", stdin="one\ntwo\n")
    assert (status, out) == (0, "wrote a b to MEMORY.md\n")
    status, out, err = rotifer(project, "read", "a b")
    assert (status, out) == (0, "one\ntwo\n\n")
    assert err.startswith("summary, MEMORY.md, ")
    assert err.endswith(", tags t, u\n")
    (project / "text.md").write_text("three")
    assert rotifer(project, "update", "a b", "@text.md", "--no-tags")[:2] == (0, "updated a b in MEMORY.md\n")
    status, out, _ = rotifer(project, "search", "THREE", "--json")
    assert status == 0
    assert out.startswith('{"v": 1, "results": [{"key": "a b", "content": "three", "tags": [], "file": "MEMORY.md"')
    assert rotifer(project, "search", "four") == (0, "", "nothing found\n")
    status, out, err = command(project, "audit", "show", "--action", "markdown.update")
    assert (status, err) == (0, "1 line\n")
    assert out.splitlines()[1].split("  ", 1)[1].split() == ["markdown.update", "a", "b", "5", "deployer"]


def test_a_change_without_a_line_in_the_audit_log_is_refused(project: Path) -> None:
    """The message says that nothing was done; reading goes on."""
    assert rotifer(project, "write", "a", "x")[0] == 0
    log = project / ".rotifer/audit.jsonl"
    assert '"actor":"deployer"' in log.read_text()
    log.unlink()
    log.mkdir()
    status, out, err = rotifer(project, "update", "a", "y")
    assert (status, out) == (1, "")
    assert err.startswith("error[MEMORY_STORAGE_ERROR]: cannot write the audit log audit.jsonl")
    assert rotifer(project, "read", "a")[1] == "x\n"


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (("read", "a"), 1, "error[MEMORY_KEY_NOT_FOUND]: there is no memory 'a'"),
        (("write", " ", "x"), 1, "error[MEMORY_INVALID_KEY]: key must be one line of text that is not empty"),
        (("write", "a", "x", "--tag", "a|b"), 1, "error[INVALID_PATH]: a tag must be"),
        (("write", "a", "@nowhere"), 2, "error[USAGE]: cannot read the content from nowhere"),
        (("search", "x", "--limit", "101"), 2, "error[USAGE]: --limit must be a whole number from 1 to 100"),
        (("update", "a", "x", "--tag", "t", "--no-tags"), 2, "error[USAGE]: give --tag or --no-tags, not both"),
    ],
)
def test_refusals_are_told(project: Path, arguments: tuple[str, ...], status: int, error: str) -> None:
    """A refusal has its code on standard error, and nothing goes to standard output."""
    found, out, err = rotifer(project, *arguments)
    assert (found, out) == (status, "")
    assert err.startswith(error)


def test_foreign_text_cannot_move_the_cursor(project: Path) -> None:
    """Control characters of contents and keys are shown as escapes."""
    assert rotifer(project, "write", "a\x1b[2J", "x\x1b[31m")[0] == 0
    _, out, err = rotifer(project, "read", "a\x1b[2J")
    assert "\x1b" not in out + err
    assert "\\u001b" in out
    assert "\x1b" not in rotifer(project, "search", "")[1]
