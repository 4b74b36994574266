"""Where things are printed, and signs of life on a terminal."""

from __future__ import annotations

import io
import sys
import time

import pytest

from rotifer_host.cli import output


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self) -> bool:
        """Tell that somebody watches."""
        return True


def watch(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal under standard error; no fixture: pytest puts its own there before a test starts."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return stream


def test_long_work_shows_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that lasts shows what it is, escaped, on one line that is gone when it is done."""
    terminal = watch(monkeypatch)
    monkeypatch.setattr(output, "_PATIENCE_S", 0)
    monkeypatch.setattr(output, "_FRAME_S", 0.001)
    with output.working("running \x1b"):
        while "running" not in terminal.getvalue():
            time.sleep(0.001)
    shown = terminal.getvalue()
    assert "running \\u001b 0 s" in shown
    assert "\n" not in shown
    assert shown.endswith("\r\x1b[K")


@pytest.mark.parametrize("end", [None, ValueError, KeyboardInterrupt])
def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch, end: type[BaseException] | None) -> None:
    """Work that is quickly done or fails leaves the terminal alone, and what it raises goes on."""
    terminal = watch(monkeypatch)
    caught = None
    try:
        with output.working("running"):
            if end is not None:
                raise end
    except (ValueError, KeyboardInterrupt) as error:
        caught = type(error)
    assert caught is end
    assert terminal.getvalue() == ""


def test_nobody_watching_sees_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Away from a terminal there is no sign of life, however long it takes."""
    monkeypatch.setattr(output, "_PATIENCE_S", 0)
    with output.working("running"):
        time.sleep(0.01)
    assert capsys.readouterr() == ("", "")


def test_errors_are_red_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of an error is coloured on a terminal only, and with NO_COLOR not there either."""
    terminal = watch(monkeypatch)
    output.print_error("CODE", "message \x1b", "do this")
    assert terminal.getvalue() == "\x1b[1;31merror[CODE]:\x1b[0m message \\u001b\nhelp: do this\n"
    terminal.truncate(0)
    terminal.seek(0)
    monkeypatch.setenv("NO_COLOR", "1")
    output.print_error("CODE", "message")
    assert terminal.getvalue() == "error[CODE]: message\n"


def test_documents_have_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    """A document is one line of JSON that begins with its format version."""
    output.print_document({"a": "é\x1b\x9b"})
    assert capsys.readouterr().out == '{"v": 1, "a": "é\\u001b\\u009b"}\n'


def test_foreign_lines_of_an_error_cannot_pass_for_the_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    """Every line of a message, a help or a name in a backtrace but the first is marked as theirs, or no line at all."""
    output.print_error("TRAP", "a\nerror[OK]: forged\n", "b\nhelp: forged", ("inner\nhelp: forged at 0x1",))
    assert capsys.readouterr().err == (
        "error[TRAP]: a\n  | error[OK]: forged\n    at inner\\u000ahelp: forged at 0x1\nhelp: b\n  | help: forged\n"
    )
