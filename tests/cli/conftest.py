"""Running the command: in this process for speed, in one of its own for streams and signals."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.cli import main

COMMAND = (sys.executable, "-m", "rotifer_host")
PHENOTYPE = {"domain": "test", "version": "0.1.0", "inputSchema": {}, "outputSchema": {}}
COUNTER = Path(__file__).parents[2] / "guest-examples" / "counter"


@dataclass(frozen=True)
class Outcome:
    """What a command line did."""

    status: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.stdout)


Run = Callable[..., Outcome]


@pytest.fixture
def rotifer(tmp_path: Path) -> Run:
    """Run a command line in this process, as if started in the test's folder."""

    def run(*arguments: str, stdin: bytes = b"", cwd: Path = tmp_path) -> Outcome:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            status = main(["-C", str(cwd), *arguments])
        texts = []
        for stream in (out, err):
            stream.flush()
            stream.seek(0)
            texts.append(stream.read())
        return Outcome(status, *texts)

    return run


@pytest.fixture
def spawn(tmp_path: Path) -> Run:
    """Run a command line in a process of its own, started in the test's folder."""

    def run(*arguments: str, cwd: Path = tmp_path, env: dict[str, str] | None = None) -> Outcome:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=cwd,
            env=os.environ | (env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def project(tmp_path: Path, rotifer: Run) -> Path:
    """Make a project with the compiled genes `hello` and `counter`."""
    root = tmp_path / "project"
    assert rotifer("init", "project").status == 0
    shutil.copytree(COUNTER, root / "genes" / "counter")
    for gene in ("hello", "counter"):
        compiled = rotifer("compile", gene, cwd=root)
        assert compiled.status == 0, compiled.stderr
    return root


@pytest.fixture
def add_gene(project: Path, rotifer: Run) -> Callable[[str, str], Path]:
    """Add a gene of WAT text to the project, compiled; gives its folder."""

    def add(name: str, wat: str) -> Path:
        folder = project / "genes" / name
        folder.mkdir()
        (folder / "gene.wat").write_text(wat, encoding="utf-8")
        (folder / "phenotype.json").write_text(json.dumps(PHENOTYPE), encoding="utf-8")
        compiled = rotifer("compile", name, cwd=project)
        assert compiled.status == 0, compiled.stderr
        return folder

    return add
