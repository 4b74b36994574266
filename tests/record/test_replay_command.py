"""`--record` and `rotifer replay`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Project
from rotifer_host.cli import main
from rotifer_host.sandbox import available_call_paths


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    """Run a command line; returns its status and the one document it printed."""
    capsys.readouterr()
    status = main([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_an_agents_run_is_recorded_and_replayed(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """`--record` writes into the folder one works in, and each call path replays the file."""
    project.create_agent("both", ["counter", "machine"])
    here = ("-C", str(project.root))
    status, run = document(capsys, "agent", "run", "both", "--record", "run.rec", *here)
    assert (status, run["status"]) == (0, "ok")
    paths = available_call_paths()
    against = [word for path in paths for word in ("--against", path)]
    status, found = document(capsys, "replay", "run.rec", *against, *here)
    assert (status, found["same"], found["file"]) == (0, True, "run.rec")
    assert [each["callPath"] for each in found["replays"]] == paths
    for each in found["replays"]:
        assert each["difference"] is None
        assert [(part["gene"], part["hostCalls"], part["same"]) for part in each["parts"]] == [
            ("counter", 2, True),
            ("machine", 5, True),
        ]


def test_a_difference_is_shown(project: Project, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people as what was recorded beside what is now, escaped; with exit status 1."""
    project.create_agent("reads", ["reader"])
    main(["agent", "run", "reads", "--input", '{"key":"a"}', "--record", str(file), "-C", str(project.root)])
    changed = json.loads(file.read_bytes())
    changed["parts"][0]["events"][0]["request"] = '{"key":"\x1b[31m"}'
    file.write_text(json.dumps(changed), encoding="utf-8")
    capsys.readouterr()
    assert main(["replay", str(file)]) == 1
    shown = capsys.readouterr().out
    assert "reader (part 1) differs at host call 1: request, from byte 8" in shown
    assert '  | {"key":"\\u001b[31m"} (15 bytes)' in shown
    assert '  | {"key":"a"} (11 bytes)' in shown
    status, found = document(capsys, "replay", str(file))
    assert (status, found["same"]) == (1, False)
    assert found["replays"][0]["difference"]["what"] == "request"


def test_a_recording_without_its_module_needs_the_file(
    project: Project, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--without-module` and `--wasm` belong together."""
    here = ("-C", str(project.root))
    assert main(["run", "traps", "--record", str(file), "--without-module", *here]) == 1
    assert main(["replay", str(file)]) == 1
    assert "error[RECORDING_NO_MODULE]" in capsys.readouterr().err
    assert main(["replay", str(file), "--wasm", "genes/traps/gene.ir.wasm", *here]) == 0


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (("run", "hello", "--without-module"), 2, "--without-module goes with --record FILE"),
        (("run", "hello", "--record", "none/run.rec"), 2, "there is no folder"),
        (("replay", "rotifer.json"), 1, "is not a recording of a run"),
        (("replay", "none.rec"), 1, "cannot read the recording"),
    ],
)
def test_what_cannot_be_done_is_said(
    project: Project, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: int, error: str
) -> None:
    """Wrong options exit 2, bad files 1."""
    assert main([*arguments, "-C", str(project.root)]) == status
    assert error in capsys.readouterr().err


def test_unknown_call_paths_are_refused(project: Project, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error lists those there are."""
    main(["run", "traps", "--record", str(file), "-C", str(project.root)])
    assert main(["replay", str(file), "--against", "fast"]) == 2
    assert "call path must be one of auto" in capsys.readouterr().err
