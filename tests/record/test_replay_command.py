"""`--record` and `rotifer replay`."""

from __future__ import annotations

import hashlib
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
        (("run", "hello", "--record", "genes"), 2, "genes: it is a folder"),
        (("run", "hello", "--record", ""), 2, "invalid value for '--record': a file has a name"),
        (("run", "hello", "--report", ""), 2, "invalid value for '--report': a file has a name"),
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
    """The error lists what there is, as the help does."""
    main(["run", "traps", "--record", str(file), "-C", str(project.root)])
    assert main(["replay", str(file), "--against", "fast"]) == 2
    listed = "a call path, native, raw, plain, auto, or another host as cmd:PROGRAM"
    assert f"--against takes {listed}, not 'fast'" in capsys.readouterr().err
    assert main(["replay", str(file), "--against", "auto"]) == 0
    main(["replay", "--help"])
    assert listed in " ".join(capsys.readouterr().out.split())


def test_another_module_is_told_from_none(project: Project, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not the module that ran is named by its digest, beside the one that is needed."""
    here = ("-C", str(project.root))
    main(["run", "traps", "--record", str(file), "--without-module", *here])
    capsys.readouterr()
    assert main(["replay", str(file), "--wasm", "genes/hello/gene.ir.wasm", *here]) == 1
    ran, given = (
        hashlib.sha256((project.root / "genes" / gene / "gene.ir.wasm").read_bytes()).hexdigest()
        for gene in ("traps", "hello")
    )
    assert f"the module of traps, {ran}; what is given is another one, {given}" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "said"), [("none", "there is no file"), ("genes", "cannot read")])
def test_modules_that_cannot_be_read_are_wrong_usage(
    project: Project, file: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    """A file that is not there and a folder have the same exit status."""
    here = ("-C", str(project.root))
    main(["run", "traps", "--record", str(file), *here])
    capsys.readouterr()
    assert main(["replay", str(file), "--wasm", name, *here]) == 2
    assert f"error[USAGE]: {said} {name}" in capsys.readouterr().err.replace(f"{project.root}/", "")
