"""The same figures in the file format of pytest-benchmark, so that its `compare` works on them."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any, Final

import msgspec

from rotifer_host.bench.report import PathReport, Report
from rotifer_host.errors import UsageError

__all__ = ["write_pytest_benchmark"]

_FORMAT_VERSION: Final = "5.1.0"
"""That of the pytest-benchmark whose format this is."""
_MICRO: Final = 1e-6
_FENCE: Final = 1.5
"""Interquartile ranges from the quartiles beyond which a value is an outlier."""


def write_pytest_benchmark(report: Report, path: Path) -> None:
    """Write one benchmark for the whole run and one for each host function, on each call path.

    A round is a run: the whole of it, or its average call. Raises `UsageError` when the
    file cannot be written.
    """
    document = {
        "machine_info": _machine(report),
        "commit_info": {"id": "unversioned", "time": None, "dirty": False, "project": report.target, "branch": None},
        "benchmarks": [each for path in report.paths for each in _benchmarks(report, path)],
        "datetime": report.started_at,
        "version": _FORMAT_VERSION,
    }
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=4) + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _benchmarks(report: Report, path: PathReport) -> list[dict[str, Any]]:
    figures = {"run": path.each_run} | {label: call.each_run for label, call in path.calls.items()}
    return [
        {
            "group": what,
            "name": f"{what}[{path.call_path}]",
            "fullname": f"{report.target}::{what}[{path.call_path}]",
            "params": {"call_path": path.call_path},
            "param": path.call_path,
            "extra_info": _details(path, what),
            "options": {
                "disable_gc": True,
                "timer": "perf_counter",
                "min_rounds": report.runs,
                "warmup": report.warmup,
            },
            "stats": _stats([micros * _MICRO for micros in each_run]),
        }
        for what, each_run in figures.items()
    ]


def _details(path: PathReport, what: str) -> dict[str, Any]:
    if what == "run":
        return {"fuel": path.fuel}
    call = path.calls[what]
    details: dict[str, Any] = msgspec.to_builtins(call)
    shown = ("count", "again", "shortcuts", "bytesIn", "bytesOut", "fuel", "stages", "rest")
    return {name: details[name] for name in shown}


def _stats(seconds: list[float]) -> dict[str, Any]:
    """Return pytest-benchmark's figures of all rounds."""
    low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
    mean, deviation = statistics.fmean(seconds), statistics.stdev(seconds)
    fence_low, fence_high = low - _FENCE * (high - low), high + _FENCE * (high - low)
    beyond_deviation = sum(abs(value - mean) > deviation for value in seconds)
    beyond_fence = sum(not fence_low <= value <= fence_high for value in seconds)
    return {
        "min": min(seconds),
        "max": max(seconds),
        "mean": mean,
        "stddev": deviation,
        "rounds": len(seconds),
        "median": median,
        "iqr": high - low,
        "q1": low,
        "q3": high,
        "iqr_outliers": beyond_fence,
        "stddev_outliers": beyond_deviation,
        "outliers": f"{beyond_deviation};{beyond_fence}",
        "ld15iqr": min(value for value in seconds if value >= fence_low),
        "hd15iqr": max(value for value in seconds if value <= fence_high),
        "ops": 1 / mean,
        "total": sum(seconds),
        "iterations": 1,
    }


def _machine(report: Report) -> dict[str, Any]:
    machine = report.machine
    implementation, _, version = machine.python.partition(" ")
    system, release, processor = (*machine.system.split(" "), "", "")[:3]
    return {
        "node": machine.node,
        "processor": processor,
        "machine": processor,
        "python_compiler": "",
        "python_implementation": implementation,
        "python_implementation_version": version,
        "python_version": version,
        "python_build": ["", ""],
        "release": release,
        "system": system,
        "cpu": {"brand_raw": machine.processor, "count": machine.cpus},
        "rotifer": msgspec.to_builtins(machine),
    }
