"""Testing a gene: each check in its order; what cannot be asked because an earlier one failed is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rotifer_host.conformance.gene_subject import check_project_gene
from rotifer_host.errors import RotiferError
from rotifer_host.gene.phenotype_check import check_phenotype
from rotifer_host.suite.cases import SUITE_FILE, Suite, read_suite
from rotifer_host.suite.inputs import require_generator
from rotifer_host.suite.private import private_agent
from rotifer_host.suite.report import PROPERTY_ID, PROPERTY_TITLE, Check, GeneTest
from rotifer_host.suite.runs import GeneRuns
from rotifer_host.text import counted

if TYPE_CHECKING:
    from rotifer_host.agent.run import LoadedGene
    from rotifer_host.conformance.report import Report
    from rotifer_host.gene import Gene, Phenotype
    from rotifer_host.suite.cases import Case

__all__ = ["check_gene"]

_TITLES: Final = {
    "phenotype": "phenotype.json has all it needs, and its schemas are JSON Schema",
    "ready": "the gene is ready to run",
    "suite": f"{SUITE_FILE} is a test suite",
    PROPERTY_ID: PROPERTY_TITLE,
    "conformance": "the module keeps the guest ABI",
}


def check_gene(gene: Gene, load: Callable[[], LoadedGene], *, random: bool = False) -> GeneTest:
    """Test a gene: its phenotype, its suite, generated inputs, and the ABI.

    `load` makes it ready to run. `random` says that another output each time is meant.
    All runs share one memory, which is empty before the first case and gone
    afterwards. What the gene does wrong is in the result. Raises `UsageError` where the
    generator of inputs is not installed, `ProjectError` where there is no place for a memory.
    """
    require_generator()
    checks: list[Check] = []
    phenotype: Phenotype | None = None
    loaded: LoadedGene | None = None
    with _asking(checks, "phenotype") as notes:
        phenotype, unknown = check_phenotype(gene.path)
        notes.extend(unknown)
    if phenotype is None:
        checks.append(_skipped("ready", "phenotype.json has to be right first"))
    else:
        with _asking(checks, "ready"):
            loaded = load()
            loaded.runner.close()
    suite = _read_suite(checks, gene)
    if phenotype is None or loaded is None:
        checks += [_skipped(name, "the gene cannot be run") for name in (PROPERTY_ID, "conformance")]
        return GeneTest(gene.name, None, tuple(checks))
    with private_agent(gene) as agent:
        runs = GeneRuns(agent, gene, phenotype)
        checks += [_case(runs, index, case) for index, case in enumerate(suite.cases)]
        checks.append(_generated(runs, suite))
    report = None
    if loaded.runner.compiled:
        report = _conformance(checks, gene, [case.input for case in suite.cases], random=random)
    else:
        checks.append(_skipped("conformance", "it runs on Node.js: there is no module"))
    return GeneTest(gene.name, loaded.gene_id, tuple(checks), None if report is None else report.to_json())


@contextmanager
def _asking(checks: list[Check], name: str) -> Iterator[list[str]]:
    """Note the answer to a question: no, when what answers it raises; else yes, and the notes taken on the way."""
    notes: list[str] = []
    try:
        yield notes
    except RotiferError as error:
        checks.append(Check(name, _TITLES[name], "fail", error.message, error.help or ""))
    else:
        checks.append(Check(name, _TITLES[name], "pass", "; ".join(notes)))


def _skipped(name: str, reason: str) -> Check:
    return Check(name, _TITLES[name], "skipped", reason)


def _read_suite(checks: list[Check], gene: Gene) -> Suite:
    """Return the gene's suite, or one without cases when it has none that can be read."""
    suite = None
    with _asking(checks, "suite") as notes:
        suite = read_suite(gene.path)
        notes.append(counted(len(suite.cases), "case") if suite else "")
    if suite is None and checks[-1].verdict == "pass":
        checks[-1] = replace(
            _skipped("suite", f"there is no {SUITE_FILE}"), todo=f"type `rotifer test {gene.name} --scaffold` for one"
        )
    return suite or Suite()


def _case(runs: GeneRuns, index: int, case: Case) -> Check:
    try:
        return runs.check_case(index, case)
    except RotiferError as error:
        return Check(f"t1-case-{index}", f"case {index} can be run", "fail", error.message, error.help or "")


def _generated(runs: GeneRuns, suite: Suite) -> Check:
    try:
        return runs.check_generated(suite)
    except RotiferError as error:
        return Check(PROPERTY_ID, _TITLES[PROPERTY_ID], "fail", error.message, error.help or "")


def _conformance(checks: list[Check], gene: Gene, inputs: Sequence[Any], *, random: bool) -> Report | None:
    report = None
    with _asking(checks, "conformance") as notes:
        report = check_project_gene(gene, inputs, random=random)
        counts = report.counts
        notes.append(f"passed {counted(counts['pass'], 'point')}, {counts['not-applicable']} not applicable")
    if report is not None and not report.passed:
        failed = [verdict for verdict in report.verdicts if verdict.verdict == "fail"]
        checks[-1] = Check(
            "conformance",
            _TITLES["conformance"],
            "fail",
            "; ".join(f"{verdict.point}: {verdict.seen}" for verdict in failed),
            "; ".join(verdict.todo for verdict in failed),
        )
    return report
