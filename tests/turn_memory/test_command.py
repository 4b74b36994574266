"""Turn memory on the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.turn_memory.conftest import GENES, HINOS, both
from tests.turn_memory.service import Service, says, silent

from rotifer_host.cli import main
from rotifer_host.testing import temporary_project

FORGED = "\u001b[31mred\u202e"


@pytest.fixture
def rotifer(capfd: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs a command in a project, which has files of turn memory."""
    with temporary_project({name: GENES[name] for name in ("echo", "text", "loop", "diarist", "aborting")}) as project:
        (project.root / "hinos.json").write_text(json.dumps(HINOS), encoding="utf-8")
        (project.root / "local.json").write_text(json.dumps(both(min_rounds=1)), encoding="utf-8")

        def run(*arguments: str) -> tuple[int, str, str]:
            status = main(["-C", str(project.root), *arguments])
            out, err = capfd.readouterr()
            return status, out, err

        run.root = project.root  # type: ignore[attr-defined]
        yield run


def test_making_and_looking(rotifer: Any) -> None:
    """An agent is made with a file, shows what it has, gets another, and has one let go."""
    assert rotifer("agent", "create", "friend", "--genes", "echo", "--turn-memory", "local.json")[:2][0] == 0
    edit = {"op": "set", "table": "t", "row": FORGED, "cells": {"a": 1}}
    status, out, err = rotifer("agent", "run", "friend", "--input", json.dumps({"tableEdits": [edit]}), "--json")
    turn = json.loads(out)["turn"]
    assert (status, err, turn["runtime"], turn["recalled"]) == (0, "", "axon_go", {})
    assert [(event["event"], event["source"], event["uncertain"]) for event in turn["events"]] == [
        ("diary.appended", "compassMemory", False), ("table.replaced", "memoryTable", False),
    ]  # fmt: skip
    status, out, err = rotifer("agent", "turn-memory", "friend")
    assert (status, err) == (0, "")
    assert "compassMemory:\n  | they met\n" in out
    assert "\u001b" not in out
    assert "\u202e" not in out
    status, out, _ = rotifer("agent", "turn-memory", "friend", "--forget", "memoryTable", "--json")
    document = json.loads(out)
    assert (document["v"], document["texts"]) == (1, {"compassMemory": "they met", "memoryTable": ""})
    assert document["turnMemory"]["diary"]["generator"] == "diarist"
    assert rotifer("agent", "turn-memory", "friend", "--set", "hinos.json")[0] == 0
    assert "elsewhere" in rotifer("agent", "turn-memory", "friend")[1]
    assert rotifer("agent", "turn-memory", "friend", "--none")[1] == "friend has no turn memory\n"


def test_a_turn_is_shown(rotifer: Any, hinos: Service) -> None:
    """What was recalled and kept follows the output; a failed commit is a warning, and exit status 0."""
    rotifer("agent", "create", "friend", "--genes", "text", "--turn-memory", "hinos.json")
    status, out, err = rotifer("agent", "run", "friend", "--input", "{}")
    assert (status, err) == (0, "")
    assert "turn memory (hinos)" in out
    assert "memory.committed" in out
    hinos.commit = says({"committed": False})
    status, out, err = rotifer("agent", "run", "friend", "--input", "{}")
    assert (status, '"I noted it."' in out) == (0, True)
    assert err == "warning: memory.commit_failed: external-memory: commit: the service answered committed: false\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["agent", "create", "x", "--genes", "echo", "--turn-memory", "none.json"], "none.json"),
        (
            ["agent", "create", "x", "--genes", "echo", "--turn-memory", "bad.json"],
            "turn memory: memoryRuntime is missing; ",
        ),
        (["agent", "turn-memory", "friend", "--set", "bad.json"], "memorySources is missing"),
        (["agent", "turn-memory", "friend", "--set", "hinos.json", "--none"], "not given together"),
        (["agent", "turn-memory", "friend", "--forget", "x"], "has no source x; there is external-memory"),
        (["agent", "turn-memory", "friend", "--forget", "external-memory"], "lies with its service"),
        (["agent", "turn-memory", "plain", "--forget", "x"], "plain has no turn memory"),
        (["agent", "run", "friend", "--input", "[]"], "the input must be a JSON object"),
        (["agent", "run", "friend", "--input", "{}"], "needs HINOS_MEMORY_URL"),
    ],
)
def test_what_is_wrong_is_said(rotifer: Any, arguments: list[str], expected: str) -> None:
    """Each is wrong usage, with a message and no traceback."""
    (rotifer.root / "bad.json").write_text("{}", encoding="utf-8")
    rotifer("agent", "create", "friend", "--genes", "echo", "--turn-memory", "hinos.json")
    rotifer("agent", "create", "plain", "--genes", "echo")
    status, out, err = rotifer(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error[USAGE]: ")
    assert expected in err


@pytest.mark.parametrize(
    "command", [["create", "x", "--genes", "echo", "--turn-memory"], ["turn-memory", "a", "--set"]]
)
def test_a_missing_generator_is_told_with_everything_else(rotifer: Any, command: list[str]) -> None:
    """Beside what else is wrong; on its own it is an unknown gene."""
    rotifer("agent", "create", "a", "--genes", "echo")
    file = rotifer.root / "bad.json"
    file.write_text(json.dumps(both(generator="nobody", min_rounds=0)), encoding="utf-8")
    status, _, err = rotifer("agent", *command, "bad.json")
    assert (status, err.startswith("error[USAGE]: turn memory: diary.min_rounds must be")) == (2, True)
    assert "; there is no gene nobody in " in err
    file.write_text(json.dumps(both(generator="nobody")), encoding="utf-8")
    status, _, err = rotifer("agent", *command, "bad.json")
    assert (status, err.startswith("error[GENE_NOT_FOUND]: there is no gene nobody in ")) == (1, True)
    for text in ("[]", "null", '{"diary": 3}', '{"diary": {"generator": 3}}'):
        file.write_text(text, encoding="utf-8")
        status, _, err = rotifer("agent", *command, "bad.json")
        assert (status, err.startswith("error[USAGE]: "), "turn memory" in err) == (2, True, True), text


def test_what_a_generator_says_is_escaped(rotifer: Any) -> None:
    """The message of a generator that fails reaches no terminal as it is, and JSON as it is."""
    (rotifer.root / "aborting.json").write_text(json.dumps(both(generator="aborting", min_rounds=1)), encoding="utf-8")
    rotifer("agent", "create", "friend", "--genes", "text", "--turn-memory", "aborting.json")
    status, out, err = rotifer("agent", "run", "friend", "--input", "{}")
    assert (status, "\u001b" in out + err) == (0, False)
    assert "warning: diary.failed: compassMemory: aborting ended failed: " in err
    assert "\\u001b[2" in err
    warnings = json.loads(rotifer("agent", "run", "friend", "--input", "{}", "--json")[1])["warnings"]
    assert "\u001b[2" in warnings[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("gene", "waits"), [("text", "prepare"), ("loop", "gene"), ("text", "commit")])
def test_an_interrupted_turn_ends_at_once(
    rotifer: Any, hinos: Service, number: signal.Signals, gene: str, waits: str
) -> None:
    """Ctrl-C ends a turn while the service is asked, while a gene runs and while it is told; nothing more is sent."""
    rotifer("agent", "create", "friend", "--genes", gene, "--turn-memory", "hinos.json")
    if waits != "gene":
        setattr(hinos, waits, silent)
    asked = ["prepare", "commit"] if waits == "commit" else ["prepare"]
    command = [Path(sys.executable).parent / "rotifer", "-C", rotifer.root, "agent", "run", "friend", "--input", "{}"]
    with subprocess.Popen(
        [*command, "--fuel", str(10**15)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while hinos.asked != asked:
            assert hinos.arrived.wait(60)
            hinos.arrived.clear()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (128 + number, "")
    assert err.startswith("error[INTERRUPTED]: ")
    assert hinos.asked == asked
