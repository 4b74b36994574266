"""Whose memory is measured on: a copy, unless asked otherwise, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rotifer_host import Project
from rotifer_host.audit import read_lines
from rotifer_host.bench import BenchRunError, Options, Report, measure
from rotifer_host.errors import GeneError

Measure = Callable[..., Report]


def state(project: Project) -> dict[str, bytes]:
    """Return every file of a project's state but for locks, which readers touch."""
    folder = project.root / ".rotifer"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "lock" not in path.name
    }


def test_an_agent_is_measured_on_a_copy(project: Project, measured: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs see what the agent remembers, and the agent's memory, audit log and telemetry stay as they are."""
    agent = project.create_agent("tidy", ["formatter"])
    agent.run({"code": "a", "indent": 7})
    before = state(project)
    seen: list[object] = []
    monkeypatch.setattr("rotifer_host.bench.measurement._check_outputs", lambda outputs, *_: seen.extend(outputs))
    report = measured("tidy", {"code": "a\n b"})
    assert report.memory == "copy"
    assert set(seen) == {b'{"formatted":"a\\n' + b" " * 7 + b'b","indent":7}'}
    assert state(project) == before


def test_a_gene_is_measured_on_an_empty_memory(project: Project, measured: Measure) -> None:
    """A gene gets an agent made for it, which nobody sees afterwards."""
    before = state(project)
    report = measured("every")
    assert (report.kind, report.memory) == ("gene", "empty")
    assert state(project) == before
    assert project.agents() == []


def test_an_agent_without_memory_is_given_none(project: Project, measured: Measure) -> None:
    """Measuring an agent that has never run does not make its memory."""
    project.create_agent("fresh", ["every"])
    before = state(project)
    assert measured("fresh").memory == "empty"
    assert state(project) == before


def test_in_place_uses_the_agents_own_memory(project: Project) -> None:
    """When asked for, runs change the agent's own memory, and each run, bare or split, makes the same changes."""
    project.create_agent("own", ["every"])
    options = Options(runs=5, warmup=1, in_place=True)
    report = measure(project.root, "own", None, options)
    assert report.memory == "own"
    actions = [line["action"] for line in read_lines(project.audit_path)]
    assert actions == ["memory.create", "memory.delete"] * options.total_runs


@pytest.mark.parametrize("name", ["traps", "counter"])
def test_a_measurement_that_fails_leaves_nothing(project: Project, measured: Measure, name: str) -> None:
    """When a run fails or outputs differ, the copies are gone all the same."""
    before = state(project)
    with pytest.raises(BenchRunError):
        measured(name)
    assert state(project) == before


def test_a_name_that_is_nobodys_is_an_error(project: Project) -> None:
    """The error says that it is neither, and where to look."""
    with pytest.raises(GeneError, match="neither an agent nor a gene named nobody") as caught:
        measure(project.root, "nobody", None, Options(runs=5))
    assert caught.value.code == "NOT_FOUND"


def test_an_agent_goes_before_a_gene_of_its_name(project: Project, measured: Measure) -> None:
    """Where both have the name, the agent is measured."""
    project.create_agent("hello", ["every"])
    report = measured("hello")
    assert (report.kind, set(report.genes)) == ("agent", {"every"})


def test_the_copies_lie_on_the_disk_of_the_project(
    project: Project, measured: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are made in the project's own state folder, whatever the folder for temporary files is."""
    seen: list[list[Path]] = []
    monkeypatch.setattr(
        "rotifer_host.bench.measurement._check_status",
        lambda *_: seen.append(list((project.root / ".rotifer").glob("bench-*"))),
    )
    measured("every")
    assert all(len(found) == 1 for found in seen)
    assert list((project.root / ".rotifer").glob("bench-*")) == []
