"""The measurement: bare runs, split runs and probes in turns, every timed run checked against the first."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.agent.report import RunResult
from rotifer_host.api.project import Project
from rotifer_host.bench.machine import describe
from rotifer_host.bench.memory import BenchMemory, find_target, memories
from rotifer_host.bench.probe import Probe
from rotifer_host.bench.report import Report
from rotifer_host.bench.runner import Observed, Runner
from rotifer_host.bench.seams import timed_seams
from rotifer_host.bench.stages import Recorder, calibrate
from rotifer_host.bench.summary import Sampled, summarise
from rotifer_host.clock import SystemClock, rfc3339
from rotifer_host.errors import RotiferError, UsageError
from rotifer_host.gene.compile import compile_gene
from rotifer_host.limits import Limits
from rotifer_host.memory import Durability
from rotifer_host.modules.functions import module_functions
from rotifer_host.modules.registry import usable_modules
from rotifer_host.project import ProjectFolder
from rotifer_host.sandbox import (
    HostFunctions,
    Sandbox,
    available_call_paths,
    core_functions,
    encode_document,
    wasi_functions,
)
from rotifer_host.text import quoted

if TYPE_CHECKING:
    from rotifer_host.agent.record import AgentRecord
    from rotifer_host.gene import Gene

__all__ = ["BenchRunError", "Options", "measure"]

_FEWEST_RUNS: Final = 5
_MOST_BLOCKS: Final = 10
"""Bare runs, split runs and probes alternate so often: what disturbs the machine for a while disturbs all of them."""
_SETTLING: Final = 2
"""Runs after each change that are not timed: what ran before has had the caches."""
_PROBES: Final = 10
"""Samples a block."""
_CLOCK: Final = SystemClock()


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure. Raises `UsageError` for what cannot be done."""

    runs: int = 50
    """Timed bare runs on each call path, and as many split ones."""
    warmup: int = 5
    call_paths: tuple[str, ...] = ()
    """None given: all there are, fastest first."""
    limits: Limits = field(default_factory=Limits)
    durability: Durability = "call"
    allow_varying: bool = False
    """Whether outputs may differ from run to run."""
    in_place: bool = False
    """Whether the agent's own memory and audit log are used, and changed."""
    recompile: bool = False

    def __post_init__(self) -> None:
        if self.runs < _FEWEST_RUNS or self.warmup < 0:
            raise UsageError(f"a measurement has at least {_FEWEST_RUNS} runs and no fewer than 0 of warm-up")
        for name in self.call_paths:
            if name not in available_call_paths():
                raise UsageError(f"call path must be one of {', '.join(available_call_paths())}, not {name!r}")

    @property
    def total_runs(self) -> int:
        """Runs in all: what `progress` counts to."""
        return len(self.paths) * (self.warmup + 2 * (self.runs + _SETTLING * self.blocks))

    @property
    def blocks(self) -> int:
        """How often bare runs, split runs and probes alternate."""
        return min(self.runs // _FEWEST_RUNS, _MOST_BLOCKS)

    @property
    def paths(self) -> list[str]:
        """The call paths to measure."""
        return list(dict.fromkeys(self.call_paths)) or available_call_paths()


class BenchRunError(RotiferError):
    """A run did not do what it must; `result` is the run that failed, None when outputs differ."""

    code = "BENCH"

    def __init__(self, message: str, *, code: str, help: str | None = None, result: RunResult | None = None) -> None:  # noqa: A002 - as its base
        super().__init__(message, code=code, help=help)
        self.result = result


def measure(
    project: Project | str | os.PathLike[str],
    name: str,
    document: Any,  # noqa: ANN401 - any JSON value
    options: Options,
    progress: Callable[[], None] = lambda: None,
) -> Report:
    """Measure the agent or gene `name` of `project`, or of the one around that folder, on one input.

    Works on private copies of the agent's memory, gone afterwards, unless
    `options.in_place`. `progress` is called after each run. Durability `run` is `call`
    for genes of a Par, as in a run of theirs: `Report.warnings` says so. Raises
    `BenchRunError` when a run does not end `ok`, or its output is not the first one's;
    `UsageError`, `GeneError`, `AgentError`, `ModuleError`, `ProjectError`, `StoreError`.
    """
    folder = ProjectFolder.find(_folder(project))
    target = find_target(folder, name)
    if options.in_place and target.kind == "gene":
        message = f"--in-place is for an agent, and {quoted(name)} is a gene"
        raise UsageError(message, help="a gene on its own has no memory: it is measured on an empty one")
    genes = [folder.gene(gene) for gene in target.record.genome]
    if options.recompile:
        offered = module_functions(usable_modules())
        compiler = Sandbox(HostFunctions(core_functions(), wasi_functions(), memory_functions(), offered))
        for gene in dict.fromkeys(genes):
            compile_gene(gene, sandbox=compiler, wasm=gene.compiled_from())
    started = _CLOCK.now_ms()
    machine = describe(folder.root)
    overhead = calibrate()
    with memories(folder, target, options.paths, in_place=options.in_place) as (kind, made):
        recorder = Recorder(overhead)
        paths = [
            _Path(each, target.record, genes, made[each], options=options, recorder=recorder) for each in options.paths
        ]
        outputs = _rounds(paths, document, options, recorder, progress)
        text = encode_document(document)
        return Report(
            target=name,
            kind=target.kind,
            genes=paths[0].bare.gene_ids,
            memory=kind,
            input_bytes=len(text),
            input_sha256=hashlib.sha256(text).hexdigest(),
            durability=paths[0].bare.durability,
            runs=options.runs,
            warmup=options.warmup,
            started_at=rfc3339(started),
            outputs=len(outputs),
            warnings=list(paths[0].bare.warnings),
            timing_nanos=[round(overhead.inside, 1), round(overhead.around, 1)],
            machine=machine,
            paths=[summarise(path.sampled) for path in paths],
        )


def _folder(project: Project | str | os.PathLike[str]) -> Path:
    if isinstance(project, Project):
        return project.root
    if isinstance(project, str | os.PathLike):
        return Path(project)
    raise UsageError(f"project must be a Project or the path of its folder, not {type(project).__name__}")


class _Path:
    """One call path under measurement."""

    def __init__(  # noqa: PLR0913 - what is measured, and how
        self,
        name: str,
        record: AgentRecord,
        genes: Sequence[Gene],
        memory: BenchMemory,
        *,
        options: Options,
        recorder: Recorder,
    ) -> None:
        self.memory = memory
        self.bare, self.split = (
            Runner(
                record,
                genes,
                memory,
                call_path=name,
                limits=options.limits,
                durability=options.durability,
                recorder=each,
            )
            for each in (None, recorder)
        )
        self.probe = Probe(name)
        self.sampled = Sampled(name, recorder)

    def sample_crossings(self) -> None:
        """Probe the way of each kind of call seen so far."""
        for shape in self.sampled.shapes():
            self.probe.sample(shape)  # settle
            samples = self.sampled.probed.setdefault(shape, [])
            samples += [self.probe.sample(shape) for _ in range(_PROBES)]


def _check_status(path: str, observed: Observed) -> None:
    """Raise `BenchRunError` unless the run ended `ok`."""
    result = observed.result
    if result.status != "ok":
        code, message = ("?", "") if result.error is None else (result.error.code, result.error.message)
        raise BenchRunError(
            f"a run on call path {path} ended {result.status} [{code}]: {message}",
            code="BENCH_RUN",
            help="only runs that end ok are measured; `rotifer agent run` and `rotifer run` show one in full",
            result=result,
        )


def _check_outputs(outputs: set[bytes], path: str, options: Options) -> None:
    """Raise `BenchRunError` unless all outputs so far are one, or may differ."""
    if len(outputs) > 1 and not options.allow_varying:
        raise BenchRunError(
            f"the output changes from run to run (seen on call path {path})",
            code="BENCH_VARIES",
            help="runs that do different work cannot be compared; --allow-varying measures them all the same",
        )


def _rounds(
    paths: Sequence[_Path],
    document: Any,  # noqa: ANN401 - any JSON value
    options: Options,
    recorder: Recorder,
    progress: Callable[[], None],
) -> set[bytes]:
    """Run everything; return the outputs there were."""
    outputs: set[bytes] = set()

    def turns(runs: int, settling: int, split: bool) -> None:  # noqa: FBT001 - called below alone
        order = list(paths)
        for number in range(-settling, runs):
            for path in order:
                observed = (path.split if split else path.bare).run(document)
                _check_status(path.sampled.call_path, observed)
                if number >= 0:
                    outputs.add(observed.output)
                    _check_outputs(outputs, path.sampled.call_path, options)
                    (path.sampled.add_split if split else path.sampled.add_bare)(observed)
                progress()
            order.append(order.pop(0))

    with _quiet():
        turns(0, options.warmup, split=False)
    for block in range(options.blocks):
        runs = options.runs * (block + 1) // options.blocks - options.runs * block // options.blocks
        with _quiet():
            turns(runs, _SETTLING, split=False)
        with timed_seams(recorder, paths[0].memory), _quiet():
            turns(runs, _SETTLING, split=True)
        with _quiet():
            for path in paths:
                path.sample_crossings()
    return outputs


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the garbage collector out of what is timed."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
