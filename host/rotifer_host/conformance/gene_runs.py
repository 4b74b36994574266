"""What shows when a gene runs: inputs it must take, outputs, what it costs, what it leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rotifer_host import contract
from rotifer_host.conformance.gene_host import GeneHost, Trial
from rotifer_host.conformance.gene_inputs import with_text
from rotifer_host.conformance.gene_points import failed, not_applicable, passed
from rotifer_host.conformance.report import Verdict
from rotifer_host.limits import format_size
from rotifer_host.sandbox import encode_document
from rotifer_host.text import counted

__all__ = ["check_runs", "problem"]

_OWN_WORDS: Final = ("GENE_ERROR", "ABORTED", "EXIT_STATUS")
"""How a gene itself says that it failed."""
_WORKING: Final = (
    "input.small",
    "input.large",
    "input.unicode",
    "output.end",
    "output.same",
    "express.again",
    "memory.remembered",
)
"""What is asked only of a gene that works on an example input."""
_SMALL: Final[tuple[Any, ...]] = ({}, [], None, "", 0)
_LARGE: Final = "x" * contract.MIB
_UNICODE: Final = 'é ß ☃ 中 𝄞 e\u0301 \u200d "\\/ \b\f\n\r\t\u0000\u001f\u007f\u2028 end'
_GENEROUS: Final = 4
_TIMES: Final = 1000
_WARM: Final = _TIMES // 2
"""Memory that is still growing after so many calls will not stop."""
_SHOWN: Final = 200


def problem(trial: Trial) -> str | None:
    """Return how a run ended that did not end in the gene's own words; None for one that did."""
    error = trial.result.error
    if error is None or trial.result.status == "rejected" or error.code in _OWN_WORDS:
        return None
    return shorten(f"{error.code}: {error.message}")


def ending(trial: Trial) -> str:
    """Say how a run ended."""
    status, output, words = trial.outcome
    return shorten(f"{status}: {words or output.decode('utf-8', 'replace')}")


def shorten(text: str) -> str:
    """Keep a report readable."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def check_runs(host: GeneHost, samples: Sequence[Any], *, direct: bool, random: bool) -> Iterator[Verdict]:
    """Run a gene on example inputs and on what it does not expect.

    `direct` for one that exports `express`, `random` for one whose output is meant to differ.
    """
    documents = [encode_document(value) for value in samples]
    host.forget()
    trials = [host.run(document) for document in documents]
    accepted = [index for index, trial in enumerate(trials) if trial.result.status == "ok"]
    yield from _samples(documents, trials, accepted)
    yield _fuel(trials)
    yield from _requests(trials)
    chosen = accepted[0] if accepted else 0
    if problem(trials[chosen]):
        for point in _WORKING:
            yield not_applicable(point, "its example inputs do not work")
        return
    yield _each(host, "input.small", [encode_document(value) for value in _SMALL])
    yield _large(host, samples[chosen], direct=direct)
    yield _each(host, "input.unicode", [encode_document(value) for value in with_text(samples[chosen], _UNICODE)])
    yield _end(trials[chosen], direct=direct)
    yield _same(host, documents[chosen], random=random)
    yield _again(host, documents[chosen], trials[chosen], direct=direct)
    yield _remembered(host, documents, trials)


def _samples(documents: Sequence[bytes], trials: Sequence[Trial], accepted: Sequence[int]) -> Iterator[Verdict]:
    broken = [
        f"{_named(document)} {found}"
        for document, trial in zip(documents, trials, strict=True)
        if (found := problem(trial))
    ]
    counts = f"{len(accepted)} of {len(trials)} accepted"
    yield failed("input.sample", "; ".join(broken)) if broken else passed("input.sample", counts)
    if accepted:
        yield passed("input.accepted", counts)
    else:
        yield not_applicable(
            "input.accepted", f"none is: give one with --input JSON; the first ends {ending(trials[0])}"
        )


def _each(host: GeneHost, point: str, documents: Sequence[bytes], *, fuel: int = contract.DEFAULT_FUEL) -> Verdict:
    broken, endings = [], []
    for document in documents:
        host.forget()
        trial = host.run(document, fuel=fuel)
        endings.append(trial.result.status)
        if found := problem(trial):
            broken.append(f"{_named(document)} {found}")
    if broken:
        return failed(point, "; ".join(broken))
    return passed(point, ", ".join(f"{endings.count(status)} {status}" for status in dict.fromkeys(endings)))


def _large(host: GeneHost, value: Any, *, direct: bool) -> Verdict:  # noqa: ANN401 - any JSON value
    verdict = _each(
        host,
        "input.large",
        [encode_document(next(with_text(value, _LARGE)))],
        fuel=_GENEROUS * contract.DEFAULT_FUEL,
    )
    if direct and verdict.verdict == "fail" and "without alloc" in verdict.seen:
        return not_applicable("input.large", "without alloc its memory does not hold it, and the host says so")
    return verdict


def _end(trial: Trial, *, direct: bool) -> Verdict:
    if not direct:
        return not_applicable("output.end", "a WASI program writes to standard output")
    if not trial.calls:
        return not_applicable("output.end", "there was no output")
    call = trial.calls[-1]
    where = "a NUL" if call.ended else "the end of memory"
    return passed("output.end", f"ends at {where} after {counted(len(call.output), 'byte')}")


def _same(host: GeneHost, document: bytes, *, random: bool) -> Verdict:
    trials = []
    for _ in range(2):
        host.forget()
        trials.append(host.run(document))
    first, second = trials
    if first.outcome == second.outcome and first.requests == second.requests:
        return passed("output.same", f"twice {ending(first)}")
    if random:
        return not_applicable("output.same", "its output is meant to differ")
    asked = f"it asks {', '.join(sorted(second.unpredictable)) or 'nothing that differs'}"
    if first.outcome == second.outcome:
        return failed("output.same", f"the output is the same, its memory calls are not; {asked}")
    return failed("output.same", f"once {ending(first)}; then {ending(second)}; {asked}")


def _again(host: GeneHost, document: bytes, once: Trial, *, direct: bool) -> Verdict:
    if not direct:
        return not_applicable("express.again", "_start ends its instance")
    host.forget()
    fuel = contract.DEFAULT_FUEL + _TIMES * _GENEROUS * once.result.fuel
    trial = host.run(document, fuel=fuel, times=_TIMES)
    calls = trial.calls
    if len(calls) < _TIMES:
        return failed("express.again", f"call {len(calls) + 1} ended {ending(trial)}")
    sizes = [calls[index - 1].memory_bytes for index in (1, _WARM, _TIMES)]
    seen = " and ".join(
        f"{format_size(size)} after {times:,}" for size, times in zip(sizes, (1, _WARM, _TIMES), strict=True)
    )
    if sizes[-1] > sizes[1]:
        leak = (sizes[-1] - sizes[1]) // (_TIMES - _WARM)
        return failed("express.again", f"{seen} calls: about {format_size(leak)} a call are not freed")
    return passed("express.again", f"{seen} calls")


def _fuel(trials: Sequence[Trial]) -> Verdict:
    most = max(trial.result.fuel for trial in trials)
    seen = f"at most {most:,} of {contract.DEFAULT_FUEL:,}"
    short = any(trial.result.error and trial.result.error.code == "FUEL_EXHAUSTED" for trial in trials)
    return failed("fuel", seen) if short else passed("fuel", seen)


def _requests(trials: Sequence[Trial]) -> Iterator[Verdict]:
    strayed = [words for trial in trials for words in trial.strayed]
    # a gene may leave it to memory to refuse what its user gave
    refused = [words for trial in trials for words in trial.refused if trial.result.status != "rejected"]
    made = sum(len(trial.requests) for trial in trials)
    for point, broken in (("requests.pointers", strayed), ("requests.valid", refused)):
        if broken:
            yield failed(point, shorten("; ".join(dict.fromkeys(broken))))
        elif made:
            yield passed(point, f"{made} memory calls")
        else:
            yield not_applicable(point, "no memory call was made")


def _remembered(host: GeneHost, documents: Sequence[bytes], trials: Sequence[Trial]) -> Verdict:
    """Run everything once more, on what the first round has left."""
    if not any(trial.requests for trial in trials):
        return not_applicable("memory.remembered", "no memory call was made")
    host.forget()
    for document in documents:
        host.run(document)
    broken = []
    for document, trial in zip(documents, trials, strict=True):
        again = host.run(document)
        found = problem(again)
        if found or again.result.status != trial.result.status:
            broken.append(f"{_named(document)} was {trial.result.status}, and again {ending(again)}")
    if broken:
        return failed("memory.remembered", "; ".join(broken))
    return passed("memory.remembered", f"{len(documents)} example inputs, twice")


def _named(document: bytes) -> str:
    """Show an input."""
    text = document.decode()
    return f"input {text if len(text) <= 40 else f'{text[:40]}…'}:"  # noqa: PLR2004 - part of a line
