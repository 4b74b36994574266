"""The memory of a test: one for all its runs, nobody else's, gone afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.gene_test.conftest import COMMAND, NUMBER, SLEEPER, AddGene, failures

from rotifer_host import Project
from rotifer_host.errors import GeneError
from rotifer_host.node.program import find_node
from rotifer_host.sandbox import available_call_paths
from rotifer_host.suite import KeptEntry

COUNTER = Path(__file__).parents[2] / "guest-examples" / "counter"
_LOG = "rotifer-suite-*/project/.rotifer/audit.jsonl"  # a project is made beside its place and then put there


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that temporary files go to."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def add_counter(project: Project, *expected: int) -> None:
    """Add the gene that counts its runs, with a suite that expects these counts."""
    folder = project.genes_path / "counter"
    shutil.copytree(COUNTER, folder)
    project.compile("counter")
    cases = [{"input": {}, "expectedOutput": {"count": count}} for count in expected]
    (folder / "testsuite.json").write_text(json.dumps({"testCases": cases}), encoding="utf-8")


@pytest.mark.parametrize("path", available_call_paths())
def test_cases_share_one_memory(project: Project, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case reads what an earlier one wrote; the first one finds nothing, in every test anew, on every call path."""
    monkeypatch.setenv("ROTIFER_CALL_PATH", path)
    add_counter(project, 1, 2, 3)
    for _ in range(2):
        assert failures(project.test_gene("counter")) == {}


def test_a_failed_case_shows_what_it_left(project: Project) -> None:
    """Input, expectation, output, and the entries there were right after the case, with short values."""
    add_counter(project, 1, 7, 3)
    (check,) = failures(project.test_gene("counter")).values()
    assert check.id == "t1-positive-1"
    assert check.evidence is not None
    assert check.evidence.to_json() == {
        "input": {},
        "expected": {"output": {"count": 7}},
        "got": {"status": "ok", "output": {"count": 2}},
        "memory": [{"key": "counter/runs", "category": "CONTEXT", "size": 1, "value": "Mg=="}],
        "moreEntries": 0,
    }


def test_a_gene_on_node_shares_one_memory_too(project: Project) -> None:
    """What a script remembers reaches the next case, and is shown when that fails."""
    try:
        find_node()
    except GeneError as error:
        pytest.skip(f"{error.message}; {error.help}")
    folder = project.genes_path / "number"
    folder.mkdir()
    (folder / "phenotype.json").write_text(json.dumps(NUMBER), encoding="utf-8")
    (folder / "index.mjs").write_text(
        """export function express(input, ctx) {
          const seen = ctx.memory.readMemory("seen");
          ctx.memory.writeMemory("seen", new TextEncoder().encode(String(input.n)), "CACHE");
          return { m: seen ? Number(new TextDecoder().decode(seen.value)) : 0 };
        }""",
        encoding="utf-8",
    )
    cases = [{"input": {"n": 5}, "expectedOutput": {"m": 0}}, {"input": {"n": 6}, "expectedOutput": {"m": 6}}]
    (folder / "testsuite.json").write_text(json.dumps({"testCases": cases}), encoding="utf-8")
    test = project.test_gene("number")
    (check,) = failures(test).values()
    assert check.id == "t1-positive-1"
    assert check.evidence is not None
    assert check.evidence.got == {"status": "ok", "output": {"m": 5}}
    assert check.evidence.memory == (KeptEntry("seen", "CACHE", 1, b"6"),)
    assert test.gene_id == project.wrap("number").gene_id


def test_nothing_of_the_project_is_touched(project: Project, temporary: Path) -> None:
    """An agent's memory, audit log and telemetry stay as they are, and no temporary file is left."""
    add_counter(project, 1)
    agent = project.create_agent("tally", ["counter"])
    agent.run({})

    def state() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in (project.root / ".rotifer").rglob("*") if path.is_file()}

    before = state()
    assert failures(project.test_gene("counter")) == {}
    assert state() == before
    assert list(temporary.iterdir()) == []
    assert agent.run({}).output == {"count": 2}


def test_a_fresh_clone_stays_one(project: Project, temporary: Path) -> None:
    """Testing makes no `.rotifer/` where there is none."""
    add_counter(project, 1)
    shutil.rmtree(project.root / ".rotifer")
    assert failures(project.test_gene("counter")) == {}
    assert not (project.root / ".rotifer").exists()
    assert list(temporary.iterdir()) == []


@contextmanager
def sleeping(project: Project, temporary: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a test and wait until its gene has written an entry."""
    with subprocess.Popen(
        [*COMMAND, "test", "number"],
        cwd=project.root,
        env=os.environ | {"TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            while not any(path.stat().st_size for path in temporary.glob(_LOG)):
                assert process.poll() is None
                time.sleep(0.01)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_its_memory_is_gone_after_a_signal(
    project: Project, add_gene: AddGene, temporary: Path, number: signal.Signals, status: int
) -> None:
    """Ctrl-C and SIGTERM end a test in the middle of a run, and nothing is left of its memory."""
    add_gene(SLEEPER, cases=[{"input": {"n": 1}}])
    with sleeping(project, temporary) as process:
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == status
    assert errors.startswith(b"error[INTERRUPTED]: ")
    assert list(temporary.iterdir()) == []


def test_what_a_killed_test_left_goes_with_the_next(project: Project, add_gene: AddGene, temporary: Path) -> None:
    """After `kill -9` the next test clears up, and touches neither one that runs nor what is not of a test."""
    add_gene(SLEEPER, cases=[{"input": {"n": 1}}])
    add_counter(project, 1)
    with sleeping(project, temporary) as process:
        (used,) = temporary.iterdir()
        assert failures(project.test_gene("counter")) == {}
        assert list(temporary.iterdir()) == [used]
        process.kill()
        process.communicate(timeout=20)
    others = [temporary / "rotifer-suite-", temporary / "rotifer-suite-x"]
    for other in others:
        other.mkdir()
    assert used.exists()
    assert failures(project.test_gene("counter")) == {}
    assert sorted(temporary.iterdir()) == others


def test_no_place_for_a_memory_is_an_error(project: Project, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be written, the test says so."""
    add_counter(project, 1)
    monkeypatch.setattr("tempfile.tempdir", str(temporary / "none"))
    with pytest.raises(Exception, match="cannot make a memory for the test: No such file") as caught:
        project.test_gene("counter")
    assert type(caught.value).__name__ == "ProjectError"
