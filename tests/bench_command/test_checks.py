"""What is refused: runs that fail, outputs that change, options that make no sense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rotifer_host import Limits, Project
from rotifer_host.bench import BenchRunError, Options, Report, measure
from rotifer_host.errors import GeneError, UsageError

Measure = Callable[..., Report]


def test_a_gene_whose_output_changes_is_refused(measured: Measure) -> None:
    """A counter gives another number each time: its runs are not compared unless that is allowed."""
    with pytest.raises(BenchRunError, match="the output changes from run to run") as caught:
        measured("counter", {})
    assert caught.value.code == "BENCH_VARIES"
    assert "--allow-varying" in str(caught.value.help)


def test_varying_outputs_are_counted_when_allowed(measured: Measure) -> None:
    """With leave, the report says how many outputs there were."""
    assert measured("counter", {}, allow_varying=True).outputs > 1


def test_equal_outputs_are_one(reports: dict[str, Report]) -> None:
    """All runs on all call paths, bare and split, gave the same output."""
    assert {report.outputs for report in reports.values()} == {1}


@pytest.mark.parametrize(
    ("gene", "limits", "status", "code"),
    [
        ("traps", Limits(), "failed", "TRAP"),
        ("endless", Limits(fuel=1000), "limit", "FUEL_EXHAUSTED"),
    ],
)
def test_a_run_that_does_not_end_ok_is_refused(
    measured: Measure, gene: str, limits: Limits, status: str, code: str
) -> None:
    """The error tells how the run ended, and carries its result."""
    with pytest.raises(BenchRunError, match=code) as caught:
        measured(gene, limits=limits)
    assert caught.value.code == "BENCH_RUN"
    assert caught.value.result is not None
    assert caught.value.result.status == status


@pytest.mark.parametrize("options", [{"runs": 4}, {"warmup": -1}, {"call_paths": ("fast",)}, {"call_paths": ("auto",)}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    """Too few runs, or a call path that is not there, are wrong usage."""
    with pytest.raises(UsageError):
        Options(**options)


def test_call_paths_are_measured_once_each(measured: Measure) -> None:
    """A call path that is named twice is measured once."""
    report = measured("hello", {"name": "Ada"}, call_paths=("plain", "plain"))
    assert [path.call_path for path in report.paths] == ["plain"]


def test_a_gene_without_calls_has_only_runs(measured: Measure) -> None:
    """What makes no host call has its runs measured, and no calls."""
    report = measured("echo")
    (path,) = report.paths
    assert path.calls == {}
    assert len(path.each_run) == report.runs


def test_progress_is_told_of_every_run(project: Project) -> None:
    """It is called exactly as often as the options foretell."""
    options = Options(runs=7, warmup=2, call_paths=("raw", "plain"))
    told: list[None] = []
    measure(project.root, "hello", {"name": "Ada"}, options, lambda: told.append(None))
    assert len(told) == options.total_runs


def test_a_stale_gene_is_refused_or_recompiled(project: Project, measured: Measure) -> None:
    """Changed code is never measured from its old artefact; with `recompile` it is compiled first."""
    source = project.root / "genes" / "every" / "gene.wat"
    source.write_text(source.read_text(encoding="utf-8").replace("done", "DONE"), encoding="utf-8")
    with pytest.raises(GeneError) as caught:
        measured("every")
    assert caught.value.code == "GENE_STALE"
    assert measured("every", recompile=True).outputs == 1


def test_a_project_may_be_given_as_such_or_by_its_path(project: Project) -> None:
    """A `Project`, a path and a text all name it; what is none of these is wrong usage that says so."""
    options = Options(runs=5, warmup=0, call_paths=("plain",))
    for each in (project, project.root, str(project.root)):
        assert measure(each, "echo", None, options).target == "echo"
    with pytest.raises(UsageError, match="project must be a Project or the path of its folder, not int"):
        measure(7, "echo", None, options)  # type: ignore[arg-type]
