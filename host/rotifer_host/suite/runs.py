"""Running a gene for its test: the cases of its suite, then generated inputs, all on one memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from rotifer_host.gene.schema import SchemaValidator
from rotifer_host.limits import Limits
from rotifer_host.suite.inputs import generate_inputs
from rotifer_host.suite.judge import expectation, judge_negative, judge_positive, what_came
from rotifer_host.suite.report import PROPERTY_ID, PROPERTY_TITLE, Check, Evidence, KeptEntry
from rotifer_host.text import counted

if TYPE_CHECKING:
    from rotifer_host.agent.report import RunResult
    from rotifer_host.api import Agent
    from rotifer_host.gene import Gene, Phenotype
    from rotifer_host.memory import ListedEntry
    from rotifer_host.suite.cases import Case, Suite

__all__ = ["GeneRuns"]

_MAX_ENTRIES: Final = 20
_MAX_VALUE_BYTES: Final = 256


class GeneRuns:
    """The runs of one gene's test, by an agent whose memory they share."""

    def __init__(self, agent: Agent, gene: Gene, phenotype: Phenotype) -> None:
        self._agent = agent
        self._gene = gene
        self._input = SchemaValidator(phenotype.input_schema)
        self._output = SchemaValidator(phenotype.output_schema)
        self._phenotype = phenotype

    def check_case(self, index: int, case: Case) -> Check:
        """Run a case of the suite, the `index`-th, and judge it by its kind: what its input is by `inputSchema`."""
        positive = self._input.allows(case.input)
        limits = Limits() if case.timeout_ms is None else Limits(deadline_ms=case.timeout_ms)
        output_schema = self._phenotype.output_schema
        started = time.perf_counter()
        result = self._agent.run(case.input, limits=limits)
        reason = judge_positive(case, result, output_schema) if positive else judge_negative(case, result)
        expected = expectation(case, output_schema, positive=positive)
        return Check(
            f"t1-{'positive' if positive else 'negative'}-{index}",
            f"case {index}: an input that inputSchema {'allows' if positive else 'forbids'}",
            "fail" if reason else "pass",
            reason,
            duration_ms=_since(started),
            evidence=self._evidence(case.input, expected, result) if reason else None,
        )

    def check_generated(self, suite: Suite) -> Check:
        """Run inputs made from `inputSchema`: each must succeed, with an output that `outputSchema` allows."""
        started = time.perf_counter()
        if not suite.iterations:
            return Check(PROPERTY_ID, PROPERTY_TITLE, "fail", "config.fuzzIterations is 0: nothing was generated")
        generated = generate_inputs(self._phenotype.input_schema, suite.iterations, suite.seed)
        note = f" ({generated.note})" if generated.note else ""
        for count, value in enumerate(generated.inputs, 1):
            result = self._agent.run(value)
            reason = self._problem(result)
            if reason:
                expected = {"schema": self._phenotype.output_schema}
                evidence = self._evidence(value, expected, result)
                reason = f"input {count} of {len(generated.inputs)}, seed {suite.seed}{note}: {reason}"
                return Check(
                    PROPERTY_ID, PROPERTY_TITLE, "fail", reason, duration_ms=_since(started), evidence=evidence
                )
        if not generated.inputs:
            todo = "give inputSchema an `examples` list, or say in it what an input is"
            return Check(PROPERTY_ID, PROPERTY_TITLE, "fail", f"no input could be made{note}", todo, _since(started))
        reason = f"{counted(len(generated.inputs), 'input')}, seed {suite.seed}{note}"
        return Check(PROPERTY_ID, PROPERTY_TITLE, "pass", reason, duration_ms=_since(started))

    def _problem(self, result: RunResult) -> str:
        if result.error is not None:
            return f"the run ended {result.status}, {result.error.code}: {result.error.message}"
        return "; ".join(self._output.problems(result.output, "output"))

    def _evidence(self, value: Any, expected: dict[str, Any], result: RunResult) -> Evidence:  # noqa: ANN401
        entries = self._agent.memory().list().entries
        newest = sorted(entries, key=lambda entry: entry.updated_at, reverse=True)[:_MAX_ENTRIES]
        return Evidence(value, expected, what_came(result), tuple(self._kept(newest)), len(entries) - len(newest))

    def _kept(self, entries: Sequence[ListedEntry]) -> Iterator[KeptEntry]:
        # as the gene: every entry is its own, so it may read each
        memory = self._agent.memory(caller=self._gene)
        for entry in entries:
            found = memory.read(entry.key) if entry.size <= _MAX_VALUE_BYTES else None
            yield KeptEntry(entry.key, entry.category, entry.size, None if found is None else found.value)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
