"""From what was observed of a call path to its part of the report."""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

from rotifer_host import contract
from rotifer_host.bench.probe import Crossing, Sample, Shape, Way
from rotifer_host.bench.report import CallReport, PathReport, Percentiles, Split, Spread
from rotifer_host.bench.stages import HANDLER_STAGES, STAGES, Recorder

if TYPE_CHECKING:
    from rotifer_host.bench.runner import Observed
    from rotifer_host.sandbox import CallStats

__all__ = ["Sampled", "summarise"]

_MOST_SAMPLES: Final = 100_000
_NANOS: Final = 1e9
_MICRO: Final = 1000
"""Nanoseconds."""
_DIGITS: Final = 4
_TIMED: Final[tuple[Way, ...]] = ("handler", "shortcut")
"""The ways to answer a call that split runs time."""


class _Kind:
    """All that was seen of one host function."""

    def __init__(self, first: CallStats) -> None:
        served = first.count - sum(first.errors.values())
        self.shape = Shape(round(first.bytes_in / first.count), round(first.bytes_out / max(1, served)))
        self.bare: list[CallStats] = []
        self.counts: list[int] = []
        self.again: list[int] = []
        self.shortcuts: list[int] = []
        self.means: list[list[float]] = []
        """Of each split run, the nanoseconds of the average call in each of `HANDLER_STAGES`."""
        self.samples: dict[Way, list[array[float]]] = {way: [array("d") for _ in HANDLER_STAGES] for way in _TIMED}
        """Of single calls, the first 100,000 that were answered in each way."""

    def share(self, times: list[int]) -> float:
        """Return what part of a run's calls `times` of each split run are."""
        return statistics.median(some / count for some, count in zip(times, self.counts, strict=True))


class Sampled:
    """What was observed of one call path."""

    def __init__(self, call_path: str, recorder: Recorder) -> None:
        self.call_path = call_path
        self.runs: list[int] = []
        """Nanoseconds of each bare run."""
        self.fuel: list[int] = []
        self.peak_memory_bytes = 0
        self.end: list[Sequence[float]] = []
        self.kinds: dict[str, _Kind] = {}
        self.probed: dict[Shape, list[Sample]] = {}
        self._recorder = recorder

    def add_bare(self, observed: Observed) -> None:
        """Take in a run that ran what every run runs."""
        self.runs.append(observed.nanos)
        self.fuel.append(sum(gene.fuel for gene in observed.result.genes))
        peaks = [gene.peak_memory_bytes for gene in observed.result.genes]
        self.peak_memory_bytes = max(self.peak_memory_bytes, *peaks)
        for label, stats in observed.calls.items():
            self._kind(label, stats).bare.append(stats)

    def add_split(self, observed: Observed) -> None:
        """Take in a run whose seams were timed."""
        self.end.append(self._recorder.outside())
        for label, stats in observed.calls.items():
            seen = self._recorder.calls[self.call_path, label]
            kind = self._kind(label, stats)
            refused_before = sum(stats.errors.values()) - seen.refused
            kind.counts.append(stats.count)
            kind.again.append(max(0, stats.count - len(seen.handled) - len(seen.shortcuts) - refused_before))
            kind.shortcuts.append(len(seen.shortcuts))
            spent = [0.0] * len(HANDLER_STAGES)
            for way, records in zip(_TIMED, (seen.handled, seen.shortcuts), strict=True):
                timed = [record.corrected(self._recorder.overhead) for record in records]
                room = _MOST_SAMPLES - len(kind.samples[way][0])
                for at, nanos in enumerate(zip(*timed, strict=True)):
                    spent[at] += sum(nanos)
                    kind.samples[way][at].extend(nanos[:room])
            kind.means.append([nanos / stats.count for nanos in spent])

    def shapes(self) -> set[Shape]:
        """Return the shapes of calls to probe: an empty one, and that of each kind, for each way they were answered."""
        shapes = {Shape()}
        for kind in self.kinds.values():
            shapes.add(kind.shape)
            if any(kind.again):
                shapes.add(kind.shape._replace(way="again"))
            if any(kind.shortcuts):
                shapes |= {Shape(way="shortcut"), kind.shape._replace(way="shortcut")}
        return shapes

    def _kind(self, label: str, stats: CallStats) -> _Kind:
        if label not in self.kinds:
            self.kinds[label] = _Kind(stats)
        return self.kinds[label]


def summarise(sampled: Sampled) -> PathReport:
    """Return what is known of a call path."""
    end = (statistics.median(nanos) / _MICRO for nanos in zip(*sampled.end, strict=True))
    micros = [round(nanos / _MICRO, _DIGITS) for nanos in sampled.runs]
    return PathReport(
        call_path=sampled.call_path,
        run=Spread.of(micros),
        each_run=micros,
        end={stage: round(value, _DIGITS) for stage, value in zip(HANDLER_STAGES, end, strict=True) if value},
        fuel=round(statistics.median(sampled.fuel)),
        peak_memory_bytes=sampled.peak_memory_bytes,
        calls={label: _call_report(sampled, kind) for label, kind in sampled.kinds.items() if kind.bare and kind.means},
    )


def _call_report(sampled: Sampled, kind: _Kind) -> CallReport:
    crossings = {shape: Crossing.of(samples) for shape, samples in sampled.probed.items()}
    unseen = crossings[kind.shape].unseen
    again = crossings[kind.shape._replace(way="again")].whole if any(kind.again) else 0.0
    shares: dict[Way, float] = {"shortcut": kind.share(kind.shortcuts), "again": kind.share(kind.again)}
    shares["handler"] = 1 - shares["shortcut"] - shares["again"]
    means = dict(zip(HANDLER_STAGES, map(statistics.median, zip(*kind.means, strict=True)), strict=True))
    means |= {"boundary": 0.0, "copy": 0.0, "again": shares["again"] * again}
    singles = [again] * min(sum(kind.again), _MOST_SAMPLES)
    for way, samples in kind.samples.items():
        crossing = crossings.get(kind.shape._replace(way=way))
        if crossing is not None:
            boundary = crossings[Shape(way=way)].whole
            copy = max(0.0, crossing.whole - boundary)
            means["boundary"] += shares[way] * boundary
            means["copy"] += shares[way] * copy
            singles += [boundary + copy + sum(each) for each in zip(*samples, strict=True)]
    timed = dict(zip(HANDLER_STAGES, map(list, map(chain, *kind.samples.values())), strict=True))
    stages = {
        stage: Split(round(means[stage] / _MICRO, _DIGITS), _percentiles(timed.get(stage, []))) for stage in STAGES
    }
    per_run = [stats.seconds / stats.count * _NANOS + unseen for stats in kind.bare]
    each_run = [round(nanos / _MICRO, _DIGITS) for nanos in (per_run if len(per_run) > 1 else per_run * 2)]
    micros = Spread.of(each_run)
    calls = sum(stats.count for stats in kind.bare)
    bytes_in, bytes_out = (
        sum(getattr(stats, name) for stats in kind.bare) / calls for name in ("bytes_in", "bytes_out")
    )
    middle = sorted(kind.bare, key=lambda stats: stats.count)[len(kind.bare) // 2]
    return CallReport(
        count=middle.count,
        again=round(statistics.median(kind.again)),
        shortcuts=middle.shortcuts,
        errors={str(result): times for result, times in sorted(middle.errors.items(), reverse=True)},
        bytes_in=round(bytes_in, 1),
        bytes_out=round(bytes_out, 1),
        fuel=round(contract.CALL_BASE_FUEL + contract.CALL_FUEL_PER_BYTE * (bytes_in + bytes_out), 1),
        micros=micros,
        each_run=each_run,
        percentiles=_percentiles(singles),
        stages=stages,
        rest=round(micros.median - sum(split.mean for split in stages.values()), _DIGITS),
    )


def _percentiles(nanos: Sequence[float]) -> Percentiles | None:
    return Percentiles.of([each / _MICRO for each in nanos]) if nanos else None
