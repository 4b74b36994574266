"""`rotifer conformance host`, and programs that do not speak the protocol."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.cli import main
from rotifer_host.conformance.host_own import OwnHost
from rotifer_host.conformance.protocol import HostError, Program
from rotifer_host.errors import UsageError
from rotifer_host.sandbox import available_call_paths

_HELLO = '{"v": 1, "host": "fake", "capabilities": []}'


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """Give a way to write a program that answers as told, line by line."""

    def write(body: str) -> str:
        path = tmp_path / "host.py"
        path.write_text(f"import sys, time, json\n{body}\n", encoding="utf-8")
        return f"'{sys.executable}' '{path}'"

    return write


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "ended|cannot be written to"),
        ("sys.stdin.readline(); print('hello', flush=True)", "answered no JSON"),
        ("sys.stdin.readline(); print('[1]', flush=True)", "answered no JSON object"),
        ("sys.stdin.readline(); print('{}', end='', flush=True)", "ended"),
        ("sys.stdin.readline(); time.sleep(60)", "gave no answer within"),
    ],
)
def test_programs_that_are_no_hosts(program: Any, body: str, message: str) -> None:
    """Whatever a program does instead of answering is told, and nothing hangs."""
    with Program(program(body), patience_s=0.5) as host, pytest.raises(HostError, match=message):
        host.ask({"do": "hello"})


def test_standard_error_of_a_host_that_ends_is_shown(program: Any) -> None:
    """The last words of a host are the help."""
    with (
        Program(program("sys.stdin.readline(); sys.exit('cannot open my store')")) as host,
        pytest.raises(HostError) as caught,
    ):
        host.ask({"do": "hello"})
    assert "cannot open my store" in str(caught.value.help)


@pytest.mark.parametrize("command", ["", "'", "/does/not/exist"])
def test_commands_that_cannot_be_started(command: str) -> None:
    """A command that is none is wrong usage."""
    with pytest.raises(UsageError):
        Program(command)


def test_a_host_that_ends_in_the_middle_fails_once(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The vector that met the end fails; those after it were not asked, and say why."""
    command = program(f"sys.stdin.readline(); print('{_HELLO}', flush=True); sys.stdin.readline()")

    assert main(["--json", "conformance", "host", "--part", "deleting", "--cmd", command]) == 1
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    assert report["counts"]["fail"] == 1
    assert report["counts"]["skipped"] == len(report["verdicts"]) - 1
    assert "the host ended" in report["verdicts"][0]["seen"]


def test_the_end_of_standard_error_is_shown_in_lines(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What a host says as it ends stands below the table, line by line, marked and escaped."""
    ending = "sys.stdin.readline(); sys.exit('boom\\nat\\x1b[2J line 3')"
    command = program(f"sys.stdin.readline(); print('{_HELLO}', flush=True); {ending}")

    assert main(["conformance", "host", "--part", "deleting", "--cmd", command]) == 1
    shown = capsys.readouterr().out
    words = "the host ended; its standard error ends with:"
    assert f"\ndeleting-001: {words}\n  | boom\n  | at\\u001b[2J line 3\n" in shown
    assert "\\u000a" not in shown


def test_a_host_with_wrong_outputs_is_asked_on(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """An output that is not the guest's fails its vector, and those after it are asked all the same."""
    command = program(
        f"""sys.stdin.readline(); print('{_HELLO}', flush=True)
for line in sys.stdin:
    print(json.dumps({{"status": "ok", "output": "no report", "entries": []}}), flush=True)"""
    )

    assert main(["--json", "conformance", "host", "--part", "deleting", "--cmd", command]) == 1
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    seen = [verdict["seen"] for verdict in report["verdicts"] if verdict["verdict"] == "fail"]
    assert len(seen) > 10
    assert all("not what the scripted guest returns" in words for words in seen)
    assert not any("not asked" in verdict["seen"] for verdict in report["verdicts"])


def test_command_shows_what_failed(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The report for people counts by part and shows failures with what to do."""
    command = program(
        f"sys.stdin.readline(); print('{_HELLO}', flush=True)\nfor line in sys.stdin: print('{{}}', flush=True)"
    )

    assert main(["conformance", "host", "--part", "deleting", "--cmd", command]) == 1
    shown = capsys.readouterr().out
    assert "fake" in shown
    assert "deleting-001" in shown
    assert "see memory-api.en.md" in shown
    assert 'abi/README.md, "The Memory API", says under which of its headings' in shown


def test_command_tests_this_host_on_every_call_path(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --cmd there is one report for each call path, and exit status 0."""
    assert main(["--json", "conformance", "host", "--part", "deleting"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["v"] == 1
    assert document["passed"] is True
    assert [report["v"] for report in document["reports"]] == [1] * len(available_call_paths())
    for path, report in zip(available_call_paths(), document["reports"], strict=True):
        assert f"{path} calls" in report["subject"]
        assert report["counts"]["pass"] == len(report["verdicts"]) > 10


def test_unknown_part_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A part that there is not is refused with those there are."""
    assert main(["conformance", "host", "--part", "everything"]) == 2
    assert "requests, keys" in capsys.readouterr().err


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"do": "sing"},
        {"do": "load"},
        {"do": "load", "agent": {}, "now": "never", "entries": [], "faults": []},
        {"do": "run"},
        {"do": "dump"},
        {"do": "hello", "v": 1, "guest": "?"},
        {"do": "hello", "v": 2, "guest": ""},
    ],
)
def test_this_hosts_adapter_survives_any_message(message: dict[str, Any]) -> None:
    """What does not keep the protocol is answered with an error."""
    with OwnHost(store="model") as host:
        assert "error" in host.ask(message)
